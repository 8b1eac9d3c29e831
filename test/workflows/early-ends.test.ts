import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { byTurn, callTools, hang, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';

// Runs that end before or between their turns: queued messages must neither start them again nor get lost, nor be reported wrongly.

let release: (() => void) | undefined;
const slow = defineTool({
  name: 'slow',
  description: 'Takes its time and does not listen.',
  input: z.object({}),
  execute: () =>
    new Promise<string>((resolve) => {
      release = () => resolve('really done');
    }),
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ note: z.string().optional() }),
  approval: 'always',
  execute: () => 'paid',
});
const patient = defineTool({
  name: 'patient',
  description: 'Ends when it is told to.',
  input: z.object({}),
  effect: 'pure',
  execute: (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve('stopped'))),
});
const agent = defineAgent({ name: 'worker', model: 'test-model', instructions: 'Work.', tools: [slow, pay, patient] });

const scripts: Record<string, (request: ScriptRequest) => ReturnType<ReturnType<typeof byTurn>>> = {
  hang: () => hang(),
  beside: byTurn([
    callTools([
      { name: 'slow', args: {} },
      { name: 'pay', args: {} },
    ]),
    say('Done.'),
  ]),
  patient: byTurn([callTools([{ name: 'patient', args: {} }]), say('Done.')]),
  pay: byTurn([callTools([{ name: 'pay', args: {} }]), say('Paid.')]),
  talk: () => say('Yes?'),
};
let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ agents: [agent], script: (request) => (scripts[request.input] ?? scripts.talk)?.(request) ?? say('?') });
});

const typesOf = async (thread: { events(): AsyncIterable<{ type: string }> }) =>
  (await collect(thread.events() as never)).map((e) => e.type);

test.each([
  ['an unknown agent', 'nobody', { agentWaitMs: 0 }],
  ['no turns at all', 'worker', { limits: { turns: 0 } }],
])(
  'a conversation whose run ends before its first turn, because of %s, becomes idle and does not start it again',
  async (_, name, options) => {
    const thread = await rig.client.start(name, 'talk', { mode: 'conversation', ...options });
    const types = await typesOf(thread);
    expect(types.filter((type) => type === 'agent.run.created')).toHaveLength(1);
    expect(await thread.status()).toMatchObject({ status: 'idle', queued: 0, messages: 1 });
  },
);

test("Temporal's cancel of a conversation with a queued message closes it, and records that the message was not read", async () => {
  const thread = await rig.client.start(agent, 'hang', { mode: 'conversation' });
  await until(
    () => thread.status(),
    ({ turn }) => turn === 1,
  );
  await thread.send('another', { id: 'another-1' });
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  const events = await collect(thread.events());
  const ends = events.slice(-3).map(({ type }) => type);
  expect(ends).toEqual(['thread.run.cancelled', 'thread.message.superseded', 'thread.closed']);
});

test('[A99] a cancel before the first turn of a conversation cancels its run, and the message does not start another', async () => {
  const { temporal } = rig.client;
  const workflowId = `early-${Date.now()}`;
  await temporal.workflow.signalWithStart('agentThread', {
    workflowId,
    taskQueue: rig.taskQueue,
    args: [{ agent: 'worker', input: 'talk', mode: 'conversation' }],
    signal: 'cancel',
    signalArgs: [{ reason: 'never mind' }],
  });
  const thread = rig.client.attach(workflowId);
  const types = await typesOf(thread);
  expect(types.filter((type) => type === 'agent.run.created')).toHaveLength(1);
  expect(types).toContain('thread.run.cancelled');
  expect(await thread.status()).toMatchObject({ status: 'idle', queued: 0 });
  await thread.send('Are you there?');
  expect(await thread.result()).toMatchObject({ output: 'Yes?' });
});

test('a tool that continues while an approval is cancelled has its own outcome, and is not reported as never executed', async () => {
  const thread = await rig.client.start(agent, 'beside', { strategy: 'parallel' });
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  await until(
    () => release,
    (begun) => begun !== undefined,
  );
  await thread.cancel();
  release?.();
  const events = await collect(thread.events());
  const outcomes = Object.fromEntries(
    events.flatMap((e) => (e.type === 'agent.tool.execution.completed' ? [[e.data.name, e.data.status]] : [])),
  );
  expect(outcomes).toEqual({ pay: 'skipped', slow: 'success' });
  expect(events.at(-1)?.type).toBe('thread.run.cancelled');
});

test('a cancel that a tool honours ends the run as cancelled, even at a limit, and starts no further turn', async () => {
  const thread = await rig.client.start(agent, 'patient', { limits: { turns: 1 } });
  await until(
    () => thread.status(),
    ({ turn, messages }) => turn === 1 && messages === 2,
  );
  await thread.cancel({ reason: 'enough' });
  const events = await collect(thread.events());
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
  expect(events.filter((e) => e.type === 'agent.run.step.created')).toHaveLength(1);
});

test('edited arguments that are too large are refused with a message, and the thread is not affected', async () => {
  const thread = await rig.client.start(agent, 'pay');
  const [call] = await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  const id = call?.toolCallId ?? '';
  await expect(thread.approve(id, { arguments: { note: '"'.repeat(640_000) } })).rejects.toMatchObject({
    code: 'request-refused',
    message: expect.stringContaining('500000 bytes'),
  });
  await thread.approve(id, { arguments: { note: 'small' } });
  expect(await thread.result()).toMatchObject({ output: 'Paid.' });
});

test("Temporal's cancel of a thread that waits for a person clears the pending call in the search attributes", async () => {
  const thread = await rig.client.start(agent, 'pay');
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  await handle.cancel();
  await handle.result().catch(() => undefined);
  const { searchAttributes } = await handle.describe();
  expect(searchAttributes.AgentStatus).toEqual(['cancelled']);
  expect(searchAttributes.AgentPendingTool?.[0] ?? null).toBeNull();
});

test('queries of a wrong shape return an error with the expected shape', async () => {
  const thread = await rig.client.start(agent, 'talk');
  await thread.result();
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  await expect(handle.query('events', 'abc')).rejects.toThrow(/events takes \{ from, limit \}: it was given "abc"/);
  await expect(handle.query('events', { form: 5 })).rejects.toThrow(/form is not known/);
  await expect(handle.query('messages', [3])).rejects.toThrow(/messages takes \{ from \}/);
});
