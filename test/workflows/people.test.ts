import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { PendingCall } from '../../src/core/event';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, roles, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const ran: { threadId: string; orderId: string; cents: number }[] = [];

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  effect: 'keyed',
  approval: ({ cents }) => (cents > 5_000 ? `${cents} cents are above the limit` : false),
  execute({ orderId, cents }, ctx) {
    ran.push({ threadId: ctx.threadId, orderId, cents });
    return `refunded ${cents}`;
  },
});
const note = defineTool({ name: 'note', description: 'Notes.', input: z.object({}), effect: 'pure', execute: () => 'noted' });
const unsure = defineTool({
  name: 'unsure',
  description: 'Its rule is broken.',
  input: z.object({}),
  approval: () => {
    throw new Error('rule broke');
  },
  execute: () => 'done',
});
const ask = defineTool({ name: 'ask', description: 'Asks a person.', input: z.object({ question: z.string() }) });
const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Refund.', tools: [refund, note, unsure, ask] });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true });
});

const big = (id: string, cents = 9_000): ScriptedCall => ({ name: 'refund', args: { orderId: 'A1', cents }, id });
const question = (id: string): ScriptedCall => ({ name: 'ask', args: { question: 'Which?' }, id });

async function waiting(calls: ScriptedCall[], count = calls.length): Promise<{ thread: Thread; input: string; pending: PendingCall[] }> {
  const input = scene([callTools(calls), say('done')]);
  const thread = await rig.client.start(agent, input);
  await until(
    () => thread.status(),
    (status) => status.status === 'requires_action' && status.pending.length === count,
  );
  return { thread, input, pending: await thread.pending() };
}
const ranIn = (thread: Thread) => ran.filter((one) => one.threadId === thread.id);
const resultsOf = (input: string) =>
  requestsOf(rig, input)[1]
    ?.body.messages.filter((m) => m.role === 'tool')
    .map((m) => m.content) ?? [];

test('[A4] a call that needs an approval waits until it is given, and the event has the question and the reason', async () => {
  const { thread, pending } = await waiting([big('call_r')]);
  expect(pending).toEqual([
    {
      kind: 'approval',
      toolCallId: 'call_r',
      name: 'refund',
      agent: 'clerk',
      arguments: '{"orderId":"A1","cents":9000}',
      digest: expect.stringMatching(/^[0-9a-f]{16}$/),
      reason: '9000 cents are above the limit',
      since: expect.stringMatching(/Z$/),
    },
  ]);
  expect(ranIn(thread)).toEqual([]);
  expect(await thread.approve('call_r', { by: 'dana', reason: 'fine' })).toMatchObject({ accepted: true, seq: expect.any(Number) });
  const told = await story(thread);
  expect(typesOf(told).slice(8, 15)).toEqual([
    'agent.approval.requested',
    'agent.run.status.changed',
    'thread.run.requires_action',
    'agent.approval.decided',
    'agent.run.status.changed',
    'agent.tool.execution.started',
    'agent.tool.execution.completed',
  ]);
  expect(ofType(told, 'thread.run.requires_action')[0]?.data.pending).toEqual(pending.map(({ agent: _, ...call }) => call));
  expect(ofType(told, 'agent.approval.decided')[0]?.data).toEqual({ toolCallId: 'call_r', approved: true, by: 'dana', reason: 'fine' });
  expect(ofType(told, 'agent.run.status.changed').map(({ data }) => data.details)).toContain('Continuing run.');
  expect(ranIn(thread)).toHaveLength(1);
});

test('a small refund needs no approval', async () => {
  const thread = await rig.client.start(agent, scene([callTools([big('call_small', 100)]), say('done')]));
  expect(typesOf(await story(thread))).not.toContain('thread.run.requires_action');
});

test('an approval rule that throws means that approval is needed, with the reason', async () => {
  const { thread, pending } = await waiting([{ name: 'unsure', args: {}, id: 'call_u' }]);
  expect(pending[0]).toMatchObject({ kind: 'approval', reason: expect.stringContaining('rule broke') });
  await thread.approve('call_u');
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
});

test('the model gets a refusal with its reason, and the tool never runs', async () => {
  const { thread, input } = await waiting([big('call_r')]);
  await thread.reject('call_r', { by: 'dana', reason: 'order A1 was refunded before' });
  const told = await story(thread);
  expect(ranIn(thread)).toEqual([]);
  expect(resultsOf(input)[0]).toMatch(/refused by dana: order A1 was refunded before/);
  expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'denied', isError: true });
  expect(typesOf(told)).not.toContain('agent.tool.execution.started');
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed' });
});

test('edited arguments replace those of the model, and the model is told which ran', async () => {
  const { thread, input } = await waiting([big('call_r')]);
  await thread.approve('call_r', { by: 'dana', arguments: { orderId: 'A2', cents: 100 } });
  const told = await story(thread);
  expect(ranIn(thread)).toEqual([{ threadId: thread.id, orderId: 'A2', cents: 100 }]);
  expect(ofType(told, 'agent.approval.decided')[0]?.data.editedArguments).toBe('{"orderId":"A2","cents":100}');
  expect(resultsOf(input)[0]).toMatch(/edited the arguments.*"A2"[\s\S]*refunded 100/);
  // What the model wrote stays what it wrote.
  expect((await thread.messages())[1]).toMatchObject({ content: [{ type: 'tool-call', arguments: '{"orderId":"A1","cents":9000}' }] });
});

test('edited arguments that do not match the schema are refused, and the call still waits', async () => {
  const { thread } = await waiting([big('call_r')]);
  const error = await thrownBy(thread.approve('call_r', { arguments: { orderId: 'A2', cents: -1 } }));
  expect(error).toMatchObject({ code: 'request-refused', message: expect.stringMatching(/do not fit refund.*cents/s) });
  expect(await thread.pending()).toHaveLength(1);
  await thread.approve('call_r');
  await story(thread);
  expect(ranIn(thread)).toEqual([{ threadId: thread.id, orderId: 'A1', cents: 9_000 }]);
});

test('[A104] a decision on a call that is unknown, decided or not waiting for one is refused with a code, and changes nothing', async () => {
  const { thread } = await waiting([big('call_r'), question('call_q')]);
  expect(await thrownBy(thread.approve('call_zzz'))).toMatchObject({
    code: 'request-refused',
    message: expect.stringMatching(/"call_zzz" does not wait.*"call_r"/),
  });
  expect(await thrownBy(thread.approve('call_q'))).toMatchObject({
    code: 'request-refused',
    message: expect.stringContaining('waits for its output'),
  });
  const seq = (await thread.status()).seq;
  await thread.approve('call_r');
  expect(await thrownBy(thread.reject('call_r'))).toMatchObject({
    code: 'request-refused',
    message: expect.stringMatching(/decided already|has its outcome/),
  });
  await thread.submitToolOutputs([{ toolCallId: 'call_q', output: 'this' }]);
  const told = await story(thread);
  expect(told[seq]?.type).toBe('agent.approval.decided');
  expect(ranIn(thread)).toHaveLength(1);
  expect(await thrownBy(thread.approve('call_r'))).toMatchObject({ code: 'thread-closed' });
});

test('of two concurrent decisions, one is accepted and the other is refused with the reason', async () => {
  const { thread } = await waiting([big('call_r')]);
  const settled = await Promise.allSettled([thread.approve('call_r', { by: 'dana' }), thread.reject('call_r', { by: 'eve' })]);
  expect(settled.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected']);
  const told = await story(thread);
  expect(ofType(told, 'agent.approval.decided')).toHaveLength(1);
});

test('[A103][A105] outputs from outside answer every pending call exactly once, in several requests, and calls that can run have run', async () => {
  const { thread, input } = await waiting([question('call_1'), { name: 'note', args: {}, id: 'call_n' }, question('call_2')], 2);
  await thread.submitToolOutputs([{ toolCallId: 'call_2', output: { answer: 2 } }]);
  expect(await thrownBy(thread.submitToolOutputs([{ toolCallId: 'call_2', output: 'again' }]))).toMatchObject({
    code: 'request-refused',
    message: expect.stringContaining('has its outcome already'),
  });
  await until(
    () => thread.status(),
    (status) => status.status === 'requires_action' && status.pending.length === 1,
  );
  await thread.submitToolOutputs([{ toolCallId: 'call_1', output: 'no such thing', isError: true }]);
  const told = await story(thread);
  expect(resultsOf(input)).toEqual(['no such thing', 'noted', '{"answer":2}']);
  expect(ofType(told, 'thread.run.requires_action').map(({ data }) => data.pending.map((call) => call.toolCallId))).toEqual([
    ['call_1', 'call_2'],
    ['call_1'],
  ]);
  expect(roles(await thread.messages())).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant']);
});

test('[A104] outputs for a thread that is unknown, for a call of another thread and for a run that waits for no output are refused', async () => {
  const outputs = [{ toolCallId: 'call_1', output: 'a' }];
  expect(await thrownBy(rig.client.attach('no-such-thread').submitToolOutputs(outputs))).toMatchObject({ code: 'thread-not-found' });
  const [{ thread: first }, { thread: second }] = [await waiting([question('call_1')]), await waiting([question('call_2')])];
  expect(await thrownBy(second.submitToolOutputs(outputs))).toMatchObject({
    code: 'request-refused',
    message: expect.stringMatching(/"call_1" does not wait for an answer or an output.*"call_2" \(ask\)/),
  });
  const { thread: approving } = await waiting([big('call_1')]);
  expect(await thrownBy(approving.submitToolOutputs(outputs))).toMatchObject({ code: 'request-refused' });
  await first.submitToolOutputs(outputs);
  await story(first);
  expect(await thrownBy(first.submitToolOutputs(outputs))).toMatchObject({ code: 'thread-closed' });
  // None of the refusals did anything.
  expect(await second.pending()).toHaveLength(1);
  expect(await approving.pending()).toHaveLength(1);
  await Promise.all([second.cancel(), approving.cancel()]);
});

test('[A104][A105] outputs that are unknown, duplicate, missing or of the wrong shape are refused as a whole, with the reason', async () => {
  const { thread } = await waiting([question('call_1'), big('call_r')]);
  const refused = async (outputs: unknown) => (await thrownBy(thread.submitToolOutputs(outputs as never))).message;
  expect(
    await refused([
      { toolCallId: 'call_1', output: 'a' },
      { toolCallId: 'call_9', output: 'b' },
    ]),
  ).toMatch(/"call_9" does not wait for an answer or an output.*"call_1" \(ask\)/);
  expect(
    await refused([
      { toolCallId: 'call_1', output: 'a' },
      { toolCallId: 'call_1', output: 'b' },
    ]),
  ).toMatch(/"call_1" is answered twice/);
  expect(await refused([{ toolCallId: 'call_r', output: 'a' }])).toMatch(/waits for an approval, not for an answer or an output/);
  expect(await refused([{ toolCallId: 'call_1' }])).toMatch(/outputs\[0\].*no output/);
  expect(await refused([{ output: 1 }])).toMatch(/outputs\[0\] has no toolCallId/);
  expect(await refused([])).toMatch(/takes \{ outputs/);
  expect(await thread.pending()).toHaveLength(2);
  await thread.submitToolOutputs([{ toolCallId: 'call_1', output: 'a' }]);
  await thread.reject('call_r');
  await story(thread);
});

test('a signal with plain JSON has the same effect as an update', async () => {
  const { thread } = await waiting([big('call_r'), question('call_q')]);
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  await handle.signal('approve', { toolCallId: 'call_r', by: 'cli' });
  await handle.signal('submitToolOutputs', { outputs: [{ tool_call_id: 'call_q', output: 'this one' }] });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed' });
  expect(ofType(told, 'agent.request.rejected')).toEqual([]);
  expect(ranIn(thread)).toHaveLength(1);
});

test('a pending call delays the calls after it in its chain and nothing else', async () => {
  const { thread, input } = await waiting([big('call_1'), big('call_2', 50), { name: 'note', args: {} }], 1);
  expect(ranIn(thread)).toEqual([]);
  expect(ofType(await eventsNow(thread), 'agent.tool.execution.completed').map(({ data }) => data.name)).toEqual(['note']);
  await thread.approve('call_1');
  await story(thread);
  expect(ranIn(thread).map((one) => one.cents)).toEqual([9_000, 50]);
  expect(resultsOf(input)).toEqual(['refunded 9000', 'refunded 50', 'noted']);
});

async function eventsNow(thread: Thread): Promise<{ type: string }[]> {
  const { events } = (await rig.client.temporal.workflow.getHandle(thread.id).query('events', {})) as { events: { type: string }[] };
  return events;
}
