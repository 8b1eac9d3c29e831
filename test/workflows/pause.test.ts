import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, type Reply, type ScriptedCall, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, happened, logOf, reaches, refusal, standsStill } from './asking';
import { gate, ofType, requestsOf, scenes, story, typesOf } from './scenes';

const { script, scene } = scenes();
const began: { threadId: string; n: number }[] = [];
const gates = new Map<string, { opened: Promise<void>; open(): void }>();
const step = defineTool({
  name: 'step',
  description: 'Takes a step; the first waits until it may.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  async execute({ n }, ctx) {
    began.push({ threadId: ctx.threadId, n });
    if (n === 1) await gates.get(ctx.threadId)?.opened;
    return `step ${n}`;
  },
});
const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: 'always', execute: () => 'paid' });
const model = { model: 'test-model', instructions: 'Walk.', tools: [step, pay] };
const walker = defineAgent({ name: 'walker', ...model });
const wary = defineAgent({
  name: 'wary',
  ...model,
  hooks: defineHooks({ 'pause:check': (_, ctx) => (ctx.turn === 1 ? { pause: true, reason: 'time for a look' } : undefined) }),
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [walker, wary], bus: true });
});

const beganIn = (thread: Thread) => began.filter(({ threadId }) => threadId === thread.id).map(({ n }) => n);
const steps = (...ns: number[]): ScriptedCall[] => ns.map((n) => ({ name: 'step', args: { n }, id: `call_${n}` }));

/** A run whose first step waits until `open`. */
async function walking(calls: ScriptedCall[], rest: Reply[] = [say('there')]) {
  const said = scene([callTools(calls), ...rest]);
  const id = `walk-${Math.random().toString(36).slice(2)}`;
  const held = gate();
  gates.set(id, held);
  const thread = await rig.client.start(walker, said, { id });
  await until(
    () => beganIn(thread),
    (ns) => ns.includes(1),
  );
  return { thread, open: () => held.open(), requests: () => requestsOf(rig, said) };
}
/** The pause holds: nothing of the thread is under way. */
async function holds(thread: Thread): Promise<void> {
  await reaches(thread, 'paused');
  await standsStill(thread);
  expect((await thread.status()).status).toBe('paused');
}

test('[A107][A108] a run that is paused and resumed completes; both are logged once, and the status shows the pause', async () => {
  const { thread, open } = await walking(steps(1));
  await ask(thread, 'pause', { by: 'dana' });
  expect(await thread.status()).toMatchObject({ status: 'paused', paused: { reason: 'Manual pause', by: 'dana' } });
  open();
  await happened(thread, 'agent.tool.execution.completed');
  await holds(thread);
  await ask(thread, 'resume', { by: 'eve', reason: 'go' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'there' } });
  expect(ofType(told, 'agent.run.paused').map(({ data }) => data)).toEqual([{ reason: 'Manual pause', by: 'dana' }]);
  expect(ofType(told, 'agent.run.resumed').map(({ data }) => data)).toEqual([{ by: 'eve', reason: 'go' }]);
  expect((await thread.status()).paused).toBeUndefined();
});

test('[A109] a pause holds before the next model call', async () => {
  const { thread, open, requests } = await walking(steps(1));
  await ask(thread, 'pause', 'a look at it');
  open();
  await happened(thread, 'agent.tool.execution.completed');
  await holds(thread);
  expect(requests()).toHaveLength(1);
  expect((await thread.status()).paused?.reason).toBe('a look at it');
  await ask(thread, 'resume');
  await story(thread);
  expect(requests()).toHaveLength(2);
});

test('[A109] a pause holds before the next tool of the same answer, while the running tool finishes', async () => {
  const { thread, open } = await walking(steps(1, 2, 3));
  await ask(thread, 'pause');
  open();
  await happened(thread, 'agent.tool.execution.completed');
  await holds(thread);
  expect(beganIn(thread)).toEqual([1]);
  await ask(thread, 'resume');
  await story(thread);
  expect(beganIn(thread)).toEqual([1, 2, 3]);
});

test('[A110] a hook that pauses holds the model call of that very turn', async () => {
  const said = scene([callTools(steps(2)), say('there')]);
  const thread = await rig.client.start(wary, said);
  await holds(thread);
  expect(requestsOf(rig, said)).toHaveLength(1);
  expect((await thread.status()).paused).toEqual({ reason: 'time for a look' });
  expect(typesOf(await logOf(thread)).filter((type) => type === 'agent.run.step.created')).toHaveLength(1);
  await ask(thread, 'resume');
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
  expect(requestsOf(rig, said)).toHaveLength(2);
});

test('[A114] a cancel ends a run that is paused, before a model call and between tools', async () => {
  for (const calls of [steps(1), steps(1, 2)]) {
    const { thread, open, requests } = await walking(calls);
    await ask(thread, 'pause');
    open();
    await happened(thread, 'agent.tool.execution.completed');
    await holds(thread);
    await thread.cancel({ reason: 'enough' });
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
    expect(requests()).toHaveLength(1);
  }
});

test('[A114] a cancel of a paused run releases the pause: the next run is not held', async () => {
  const lone = await startRig({ script: () => say('there'), agents: [walker], workers: 0 });
  const thread = await lone.client.start(walker, 'Walk.', { mode: 'conversation' });
  const handle = lone.client.temporal.workflow.getHandle(thread.id);
  await handle.signal('pause', { reason: 'not yet' });
  await handle.signal('cancel', { reason: 'not at all' });
  await lone.addWorker();
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.cancelled');
  expect(await thread.isPaused()).toBe(false);
  await thread.send('Walk after all.');
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'there' } });
});

test('a thread that is paused before its run begins calls no model until it is resumed', async () => {
  const lone = await startRig({ script: () => say('there'), agents: [walker], workers: 0 });
  const thread = await lone.client.start(walker, 'Walk.');
  await lone.client.temporal.workflow.getHandle(thread.id).signal('pause', { reason: 'not yet' });
  await lone.addWorker();
  await holds(thread);
  expect(lone.model.requests).toHaveLength(0);
  await ask(thread, 'resume');
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});

test('a conversation that is paused while idle accepts messages, and answers them once it is resumed', async () => {
  const said = scene([say('one'), say('two')]);
  const thread = await rig.client.start(walker, said, { mode: 'conversation' });
  await reaches(thread, 'idle');
  await ask(thread, 'pause');
  await thread.send('And now?', { id: 'm-1' });
  await holds(thread);
  expect(requestsOf(rig, said)).toHaveLength(1);
  await ask(thread, 'resume');
  await until(
    () => thread.status(),
    ({ status, messages }) => status === 'idle' && messages === 4,
  );
  await thread.close();
});

test('a pending call may be decided during a pause, and runs after it', async () => {
  const thread = await rig.client.start(walker, scene([callTools([{ name: 'pay', args: {}, id: 'call_p' }]), say('done')]));
  await reaches(thread, 'requires_action', 1);
  await ask(thread, 'pause');
  await thread.approve('call_p');
  await holds(thread);
  expect(typesOf(await logOf(thread))).not.toContain('agent.tool.execution.started');
  await ask(thread, 'resume');
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});

test('a second pause, and a resume of what is not paused, are refused with the reason', async () => {
  const { thread, open } = await walking(steps(1));
  expect(await refusal(ask(thread, 'resume'))).toBe(`resume: thread "${thread.id}" is not paused`);
  await ask(thread, 'pause', { reason: 'lunch' });
  expect(await refusal(ask(thread, 'pause'))).toBe(`pause: thread "${thread.id}" is paused already: lunch`);
  await ask(thread, 'resume');
  expect(await refusal(ask(thread, 'resume'))).toMatch(/is not paused/);
  expect(await refusal(ask(thread, 'pause', { why: 'x' }))).toMatch(/why is not known; known are reason, by/);
  open();
  const told = await story(thread);
  expect([ofType(told, 'agent.run.paused'), ofType(told, 'agent.run.resumed')].map(({ length }) => length)).toEqual([1, 1]);
});
