import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, happened, reaches, refusal } from './asking';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
const input = z.object({ n: z.number() });
let hooksAsked = 0;

const work = defineTool({ name: 'work', description: 'Works.', input, execute: ({ n }) => `worked ${n}` });
const outside = defineTool({
  name: 'outside',
  description: 'Is done elsewhere.',
  input,
  approval: 'always',
  ask: { deadlineMs: 1_500, onDeadline: 'deny' },
});
/** Says nothing of most calls, refuses some, and has leads asked about others. */
const hooks = defineHooks({
  'approve:tool': ({ call }) => {
    hooksAsked += 1;
    const { n } = JSON.parse(call.arguments) as { n: number };
    if (n > 100) return { approved: false, reason: 'above the limit of the house' };
    return n > 10 ? { ask: { groups: ['leads'] } } : undefined;
  },
});
const worker = defineAgent({ name: 'worker', model: 'test-model', instructions: 'Work.', tools: [work, outside], hooks });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [worker] });
});
beforeEach(() => {
  hooksAsked = 0;
});

const call = (n: number, id = 'call_1', name = 'work'): ScriptedCall => ({ name, args: { n }, id });
const handedOut = (...calls: ScriptedCall[]): Promise<Thread> =>
  rig.client.start(worker, scene([callTools(calls), say('done')]), { limits: { toolCalls: 0 }, atLimit: 'hand-out' });

test.each([1, 2])(
  '%i calls without a decision of a hook are handed out immediately, and the hook is called once for each',
  async (many) => {
    const calls = Array.from({ length: many }, (_, i) => call(i, `call_${i}`));
    const thread = await handedOut(...calls);
    const { pending } = await reaches(thread, 'requires_action', many);
    expect(pending.map(({ kind }) => kind)).toEqual(calls.map(() => 'output'));
    expect(hooksAsked).toBe(many);
    await thread.submitToolOutputs(calls.map(({ id = '' }) => ({ toolCallId: id, output: 'done elsewhere' })));
    const told = ofType(await story(thread), 'agent.tool.execution.completed').map(({ data }) => data.output);
    expect(told).toEqual(calls.map(() => 'done elsewhere'));
  },
);

test('the people whom a hook names approve a call that is handed out, and submit its output', async () => {
  const thread = await handedOut(call(50));
  expect((await reaches(thread, 'requires_action', 1)).pending).toMatchObject([{ kind: 'approval', groups: ['leads'] }]);
  expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1', by: 'mallory' }))).toMatch(/"mallory" is none of them/);
  await thread.approve('call_1', { by: 'lea', groups: ['leads'] });
  const [waits] = await until(
    () => thread.pending(),
    (pending) => pending[0]?.kind === 'output',
  );
  expect(waits).toMatchObject({ toolCallId: 'call_1', groups: ['leads'] });
  const outputs = [{ toolCallId: 'call_1', output: 'x' }];
  expect(await refusal(ask(thread, 'submitToolOutputs', { outputs, by: 'mallory' }))).toMatch(/"mallory" is none of them/);
  await thread.submitToolOutputs(outputs, { by: 'lea', groups: ['leads'] });
  expect(await thread.result()).toMatchObject({ output: 'done' });
});

test('a call that a hook refuses is not handed out', async () => {
  const thread = await handedOut(call(500), call(1, 'call_2'));
  expect((await reaches(thread, 'requires_action', 1)).pending).toMatchObject([{ toolCallId: 'call_2', kind: 'output' }]);
  await thread.submitToolOutputs([{ toolCallId: 'call_2', output: 'x' }]);
  const log = await story(thread);
  expect(ofType(log, 'agent.limit.handed_out').flatMap(({ data }) => data.toolCallIds)).toEqual(['call_2']);
  expect(ofType(log, 'agent.tool.execution.completed').find(({ data }) => data.toolCallId === 'call_1')?.data.status).toBe('denied');
});

test('the deadline of an output also applies after an approval, if nothing else waits', async () => {
  const thread = await rig.client.start(worker, scene([callTools([call(1, 'call_1', 'outside')]), say('done')]));
  await reaches(thread, 'requires_action', 1);
  await thread.approve('call_1', { by: 'dana' });
  await happened(thread, 'agent.input.expired');
  expect(await thread.result()).toMatchObject({ output: 'done' });
});
