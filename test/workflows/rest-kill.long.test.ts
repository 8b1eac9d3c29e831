import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Thread } from '../../src/client';
import { callTools, type Reply, say } from '../../src/testing/model-server';
import { inPackage } from '../support/in-package';
import { type Rig, startRig, startWorkerProcess, until } from '../support/rig';
import { ask, reaches, refusal } from './asking';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const workspace = mkdtempSync(join(tmpdir(), 'longhaul-resting-'));
afterAll(() => rmSync(workspace, { recursive: true, force: true }));

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [], workers: 0 });
});

const startWorker = () =>
  startWorkerProcess({
    address: rig.address,
    taskQueue: rig.taskQueue,
    agentsFile: inPackage('agents/resting.js'),
    modelUrl: rig.model.url,
    env: { LONGHAUL_WORKSPACE: workspace },
  });
const calls = (...names: string[]): Reply => callTools(names.map((name) => ({ name, args: {}, id: `call_${name}` })));
const question = callTools([{ name: 'ask_human', args: { question: 'Which?' }, id: 'call_q' }]);
const begin = (reply: Reply): Promise<Thread> =>
  rig.client.start(
    'resting',
    scene(({ body, turn }) => (turn === 0 ? reply : say(body.tools ? 'done' : 'I wait.'))),
  );
const didIn = (thread: Thread) =>
  readFileSync(join(workspace, 'did'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${thread.id} `))
    .map((line) => line.split(' ')[1]);

test('[A117][B180] a run that waits for a person, a reply or a resume survives the death of its worker, and another worker takes the answer', async () => {
  const first = await startWorker();
  const [votes, dropped, asked, escalates, paused, suspended] = await Promise.all([
    begin(calls('step', 'pay')),
    begin(calls('pay')),
    begin(question),
    begin(calls('late')),
    begin(calls('pay', 'step')),
    begin(calls('mail')),
  ]);
  await Promise.all([votes, dropped, asked, escalates, paused].map((thread) => reaches(thread, 'requires_action', 1)));
  await reaches(suspended, 'suspended');
  await ask(votes, 'approve', { toolCallId: 'call_pay', by: 'dana' });
  await ask(paused, 'pause', { reason: 'lunch' });
  for (const by of ['dana', 'eve']) await ask(paused, 'approve', { toolCallId: 'call_pay', by });
  await reaches(paused, 'paused');
  await first.kill();

  const second = await startWorker();
  // A cancel and a decision are followed at once, by a worker that has never seen the thread.
  await dropped.cancel({ reason: 'never mind' });
  expect((await story(dropped)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'never mind' } });

  expect(await refusal(ask(votes, 'approve', { toolCallId: 'call_pay', by: 'dana' }))).toMatch(
    /"dana" has agreed to "call_pay" \(pay\) already/,
  );
  await ask(votes, 'approve', { toolCallId: 'call_pay', by: 'eve' });
  expect((await story(votes)).at(-1)?.type).toBe('thread.run.completed');
  expect(didIn(votes)).toEqual(['step', 'pay']);

  await ask(asked, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_q', output: 'this' }] });
  await ask(paused, 'resume');
  await ask(suspended, 'sendMessage', { input: 'Yes.', correlationId: 'mail-1' });
  await until(
    () => escalates.pending(),
    ([call]) => call?.groups?.[0] === 'managers',
  );
  await ask(escalates, 'approve', { toolCallId: 'call_late', by: 'max', groups: ['managers'] });
  for (const thread of [asked, paused, suspended, escalates]) {
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  }
  expect(didIn(paused)).toEqual(['pay', 'step']);
  expect(didIn(escalates)).toEqual(['late']);
  expect(ofType(await story(paused), 'agent.run.paused')).toHaveLength(1);
  const input = textOf(
    requestsOf(rig, String((await suspended.messages())[0]?.content))
      .at(-1)
      ?.body.messages.at(-1),
  );
  expect(input).toBe('Yes.');

  second.signal('SIGTERM');
  expect(await second.exited).toBe(0);
});
