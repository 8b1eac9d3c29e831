import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { LonghaulClient, type Thread } from '../../src/client';
import { workflowType } from '../../src/contract/thread';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { createWorker } from '../../src/worker';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const ask = defineTool({ name: 'ask', description: 'Asks.', input: z.object({}) });
const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Ask.', tools: [ask] });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true });
});

/** A thread that waits for an output, to be asked nonsense. */
async function patient(): Promise<Thread> {
  const thread = await rig.client.start(agent, scene([callTools([{ name: 'ask', args: {}, id: 'call_1' }]), say('done')]));
  await until(
    () => thread.status(),
    (status) => status.status === 'requires_action',
  );
  return thread;
}
/** Nothing was harmed: it still waits, and goes on to its end. */
async function unharmed(thread: Thread) {
  expect(await thread.pending()).toMatchObject([{ toolCallId: 'call_1' }]);
  await thread.submitToolOutputs([{ toolCallId: 'call_1', output: 'fine' }]);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  return told;
}
const handleOf = (thread: Thread) => rig.client.temporal.workflow.getHandle(thread.id);
const raw = () => rig.client.temporal.connection.workflowService;
const garbage = { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"reason": tru') }] };
const alien = { payloads: [{ metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from([1, 2, 3]) }] };

test('an unknown agent without a wait fails the run immediately, with a list of the known agents', async () => {
  const thread = await rig.client.start('clark', 'Hello', { agentWaitMs: 0 });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({
    type: 'thread.run.failed',
    data: { code: 'UnknownAgent', message: expect.stringMatching(/clark.*clerk/s) },
  });
  expect(await thrownBy(thread.result())).toMatchObject({
    code: 'run-failed',
    runCode: 'UnknownAgent',
    message: expect.stringContaining('clerk'),
  });
  // What was said is not lost with the run.
  expect(typesOf(told)).toEqual(['agent.run.created', 'thread.message.created', 'thread.run.failed']);
  expect(ofType(told, 'agent.run.created')[0]?.data.initialMessages).toMatchObject([{ content: 'Hello' }]);
});

const wrongStarts: [string, object, RegExp][] = [
  ['an empty input', { input: '  ' }, /input is empty/],
  ['no parts', { input: [] }, /input is empty/],
  ['a number', { input: 7 }, /string or a list of parts.*7/],
  ['an unknown part', { input: [{ type: 'video', url: 'x' }] }, /part 0.*"video"/],
  ['an image without an address', { input: [{ type: 'image', url: 'file:///etc/passwd' }] }, /part 0.*url/],
  ['an unknown mode', { input: 'x', mode: 'forever' }, /mode must be.*"forever"/],
  ['an impossible temperature', { input: 'x', settings: { temperature: 9 } }, /temperature.*9/],
  ['a negative limit', { input: 'x', limits: { turns: -1 } }, /limits\.turns.*-1/],
  ['an unknown limit', { input: 'x', limits: { hours: 1 } }, /limits\.hours is not a limit/],
  ['an unknown strategy', { input: 'x', strategy: 'random' }, /strategy.*"random"/],
  ['a message of more than 1.5 MB', { input: 'é'.repeat(800_000) }, /1600002 bytes.*at most 1500000/],
];

test.each(wrongStarts)('a start with %s is refused by the client, with a message', async (_, request, words) => {
  const { input, ...options } = request as { input: string };
  expect(await thrownBy(rig.client.start(agent, input, options))).toMatchObject({
    name: 'LonghaulError',
    code: 'invalid-input',
    message: expect.stringMatching(words),
  });
});

test('a start by hand with invalid input fails its workflow with the same message, not its workflow task forever', async () => {
  const { workflow } = rig.client.temporal;
  const started = await Promise.all(
    [
      ...wrongStarts.slice(0, 10).map(([, request]) => ({ agent: 'clerk', ...request })),
      { input: 'x' },
      { agent: '', input: 'x' },
      'hello',
      null,
      [],
    ].map((request) => workflow.start(workflowType, { workflowId: `bad-${randomUUID()}`, taskQueue: rig.taskQueue, args: [request] })),
  );
  for (const handle of started) {
    const failure = await thrownBy(handle.result());
    expect(failure.cause).toMatchObject({ type: 'InvalidInput', message: expect.stringMatching(/^The thread was not started: /) });
  }
});

test("a start whose payload can't be decoded fails its workflow with a reason", async () => {
  const workflowId = `bad-${randomUUID()}`;
  await raw().startWorkflowExecution({
    namespace: 'default',
    workflowId,
    requestId: randomUUID(),
    workflowType: { name: workflowType },
    taskQueue: { name: rig.taskQueue },
    input: garbage,
  });
  const failure = await thrownBy(rig.client.temporal.workflow.getHandle(workflowId).result());
  expect(failure.cause).toMatchObject({ type: 'InvalidInput' });
});

test('the same start with the same id attaches; a different one is refused and changes nothing', async () => {
  const input = scene([say('done')]);
  const id = `start-${randomUUID()}`;
  const [first, second] = await Promise.all([
    rig.client.start(agent, input, { id, limits: { turns: 3, toolCalls: 2 } }),
    rig.client.start(agent, input, { limits: { toolCalls: 2, turns: 3 }, id }),
  ]);
  expect([first.id, second.id]).toEqual([id, id]);
  const error = await thrownBy(rig.client.start(agent, `${input}, but different`, { id }));
  expect(error).toMatchObject({ code: 'thread-exists', message: expect.stringMatching(/exists already.*another request.*another id/s) });
  await story(first);
  // Also when it is over.
  expect((await rig.client.start(agent, input, { id, limits: { turns: 3, toolCalls: 2 } })).id).toBe(id);
  expect(await thrownBy(rig.client.start(agent, 'other', { id }))).toMatchObject({ code: 'thread-exists' });
});

test('updates of the wrong type are refused with a code and the expected type, and nothing is recorded', async () => {
  const thread = await patient();
  const { seq } = await thread.status();
  const nonsense: [string, unknown, RegExp][] = [
    ['cancel', 42, /cancel takes/],
    ['cancel', { reason: 5 }, /`reason` must be a string; it is 5/],
    ['sendMessage', { text: 'x' }, /input must be a string/],
    ['sendMessage', undefined, /sendMessage takes/],
    ['sendMessage', '', /input is empty/],
    ['sendMessage', { input: 'x', id: 'two words' }, /`id` must be/],
    ['submitToolOutputs', 'call_1', /takes \{ outputs/],
    ['submitToolOutputs', { outputs: { call_1: 'x' } }, /takes \{ outputs/],
    ['submitToolOutputs', { outputs: [null] }, /outputs\[0\] has no toolCallId/],
    ['approve', {}, /approve takes/],
    ['approve', { toolCallId: 'call_1', approved: 'yes' }, /`approved` must be true or false/],
    ['approve', { toolCallId: 'call_1', arguments: 'x' }, /`arguments` must be an object/],
    ['approve', { toolCallId: 'call_1' }, /waits for its output, not for an approval/],
  ];
  for (const [name, payload, words] of nonsense) {
    const failure = await thrownBy(handleOf(thread).executeUpdate(name, { args: [payload] as never }));
    expect({ name, payload, message: (failure.cause as Error)?.message }).toMatchObject({ message: expect.stringMatching(words) });
  }
  expect((await thread.status()).seq).toBe(seq);
  await unharmed(thread);
});

test('signals of the wrong type become a bounded event with the error, and the thread continues', async () => {
  const thread = await patient();
  await handleOf(thread).signal('cancel', 42);
  await handleOf(thread).signal('approve', { toolCallId: 'nobody' });
  await handleOf(thread).signal('submitToolOutputs', { outputs: [{ toolCallId: 'x'.repeat(100_000), output: 1 }] });
  await handleOf(thread).signal('sendMessage', null);
  await handleOf(thread).signal('close');
  const told = await unharmed(thread);
  const rejected = ofType(told, 'agent.request.rejected').map(({ data }) => data);
  expect(rejected.map((one) => one.request)).toEqual(['cancel', 'approve', 'submitToolOutputs', 'sendMessage', 'close']);
  expect(rejected[1]).toMatchObject({ code: 'not-waiting', reason: expect.stringMatching(/"nobody" does not wait for an approval/) });
  for (const one of rejected) expect(one.reason.length).toBeLessThanOrEqual(1_000);
});

test('concurrent signals, each with as many values as fit into a payload, are refused, and the thread is not wedged', async () => {
  const thread = await patient();
  await rig.workers[0]?.stop();
  const values = Array.from({ length: 600_000 }, () => []);
  const binary = { payloads: [{ metadata: { encoding: Buffer.from('binary/plain') }, data: Buffer.alloc(1_800_000) }] };
  const to = { namespace: 'default', workflowExecution: { workflowId: thread.id } };
  for (let i = 0; i < 4; i++) {
    await handleOf(thread).signal('approve', { toolCallId: 'x', id: `${i}`, values });
    await raw().signalWorkflowExecution({ ...to, signalName: 'cancel', input: binary });
  }
  await rig.addWorker();
  const refused = await thrownBy(handleOf(thread).executeUpdate('approve', { args: [{ toolCallId: 'x', values }] as never }));
  expect((refused.cause as Error)?.message).toMatch(/approve: the payload has more than 250000 values/);
  const told = await unharmed(thread);
  const reasons = ofType(told, 'agent.request.rejected').map(({ data }) => data.reason);
  expect(reasons.filter((reason) => /more than 250000 values/.test(reason))).toHaveLength(4);
  expect(reasons.filter((reason) => /is bytes, not JSON/.test(reason))).toHaveLength(4);
  const { events } = await handleOf(thread).fetchHistory();
  expect(events?.filter((event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes)).toEqual([]);
});

test("a signal whose payload can't be decoded becomes an event, and the thread is not wedged", async () => {
  const thread = await patient();
  for (const [signalName, input] of [
    ['cancel', garbage],
    ['submitToolOutputs', alien],
  ] as const) {
    await raw().signalWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId: thread.id }, signalName, input });
  }
  const told = await unharmed(thread);
  const rejected = ofType(told, 'agent.request.rejected').map(({ data }) => data);
  expect(rejected).toMatchObject([
    { request: 'cancel', reason: expect.stringContaining("can't be read") },
    { request: 'submitToolOutputs', reason: expect.stringContaining("can't be read") },
  ]);
});

test("an update or a query whose payload can't be decoded returns an error, and the thread is not wedged", async () => {
  const thread = await patient();
  const update = await raw().updateWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: thread.id },
    waitPolicy: { lifecycleStage: 3 },
    request: { meta: { updateId: randomUUID() }, input: { name: 'cancel', args: garbage } },
  });
  expect(update.outcome?.failure?.message).toMatch(/can't be read/);
  const query = raw().queryWorkflow({
    namespace: 'default',
    execution: { workflowId: thread.id },
    query: { queryType: 'events', queryArgs: garbage },
  });
  expect(await thrownBy(query)).toMatchObject({ message: expect.stringContaining('events takes { from, limit }') });
  await unharmed(thread);
});

test('queries of the wrong type are refused, and the thread continues', async () => {
  const thread = await patient();
  const refused: [string, unknown[], RegExp][] = [
    ['events', [{ from: 'x' }], /from must be a whole number.*"x"/],
    ['events', [{ from: -1 }], /from must be/],
    ['events', [{ limit: 1.5 }], /limit must be/],
    ['messages', [{ from: {} }], /from must be/],
    ['transcript', [], /epoch must be a whole number/],
    ['no-such-query', [], /no-such-query/],
  ];
  for (const [name, args, words] of refused) {
    expect(await thrownBy(handleOf(thread).query(name, ...args))).toMatchObject({ message: expect.stringMatching(words) });
  }
  expect(await handleOf(thread).query('events', null)).toMatchObject({ next: expect.any(Number) });
  expect(await handleOf(thread).query('events', { from: 10_000 })).toMatchObject({ events: [], more: false });
  await unharmed(thread);
});

test('a message that is too large is refused on every path, and the thread continues', async () => {
  const thread = await patient();
  expect(await thrownBy(thread.send('x'.repeat(1_500_000)))).toMatchObject({
    code: 'request-refused',
    message: expect.stringMatching(/1500002 bytes.*at most 1500000/),
  });
  const beyondServer = await thrownBy(thread.send('x'.repeat(3_000_000)));
  expect(beyondServer).toMatchObject({ code: 'request-refused', message: expect.stringMatching(/3000012 bytes.*2 MiB.*reference/) });
  await handleOf(thread).signal('sendMessage', { input: 'x'.repeat(1_600_000) });
  const outputs = [{ toolCallId: 'call_1', output: 'x'.repeat(1_600_000) }];
  expect(await thrownBy(thread.submitToolOutputs(outputs))).toMatchObject({ message: expect.stringMatching(/larger than 1500000 bytes/) });
  const told = await unharmed(thread);
  expect(ofType(told, 'agent.request.rejected')[0]?.data.reason).toMatch(/at most 1500000/);
});

test('a message just below the limit is taken in completely, answered, and read back', async () => {
  const input = scene([say('long indeed')], 'y'.repeat(1_400_000));
  const thread = await rig.client.start(agent, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'long indeed' });
  expect((await thread.messages())[0]?.content).toBe(input);
});

test('every request to a thread that does not exist fails with its id', async () => {
  const nobody = rig.client.attach('nobody-there');
  const attempts = [
    () => nobody.status(),
    () => nobody.send('x'),
    () => nobody.messages(),
    () => nobody.approve('x'),
    () => nobody.result(),
    () => nobody.events().next(),
  ];
  for (const attempt of attempts) {
    expect(await thrownBy(attempt())).toMatchObject({ code: 'thread-not-found', message: expect.stringContaining('nobody-there') });
  }
});

test('an unreachable Temporal server is reported immediately, with the address and what to do', async () => {
  const address = '127.0.0.1:1';
  const error = await thrownBy(LonghaulClient.connect({ connection: { address, connectTimeout: 500 } }));
  expect(error).toMatchObject({
    name: 'LonghaulError',
    code: 'unreachable',
    message: expect.stringMatching(/127\.0\.0\.1:1.*TEMPORAL_ADDRESS/),
  });
  const before = process.env.TEMPORAL_ADDRESS;
  process.env.TEMPORAL_ADDRESS = address;
  try {
    expect(await thrownBy(createWorker({ agents: [agent] }))).toMatchObject({
      message: expect.stringMatching(/127\.0\.0\.1:1.*TEMPORAL_ADDRESS/s),
    });
  } finally {
    if (before === undefined) delete process.env.TEMPORAL_ADDRESS;
    else process.env.TEMPORAL_ADDRESS = before;
  }
});
