import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, hang, say, slowly, stall } from '../../src/testing/model-server';
import { defineTool, type ToolContext } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { expectPaired, gate, ofType, requestsOf, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const began: ToolContext[] = [];
const waits = defineTool({
  name: 'waits',
  description: 'Waits until it is told to stop.',
  input: z.object({ n: z.number() }),
  async execute({ n }, ctx) {
    began.push(ctx);
    if (n === 0) return 'quick';
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    return `stopped at step 3`;
  },
});
const ask = defineTool({ name: 'ask', description: 'Asks.', input: z.object({}) });
const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: 'always', execute: () => 'paid' });
const agent = defineAgent({
  name: 'worker',
  model: 'test-model',
  instructions: 'Work.',
  tools: [waits, ask, pay],
  // Longer than any test: only a cancel ends such a wait.
  retry: { baseMs: 600_000, maxMs: 600_000 },
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true });
});
const beganIn = (threadId: string) => began.filter((ctx) => ctx.threadId === threadId);

async function expectCancelled(thread: Awaited<ReturnType<Rig['client']['start']>>, words: object = {}) {
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: words });
  expect(typesOf(told)).not.toContain('thread.run.completed');
  expectPaired(await thread.messages());
  return told;
}
const descriptionOf = async (id: string) => (await rig.client.temporal.workflow.getHandle(id).describe()).status.name;

test('[A15][A97][A98][B41][B47] a cancel in the middle of an answer closes the connection and ends the run with its own event', async () => {
  const input = scene([stall('The answer begins')]);
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await thread.cancel({ reason: 'changed my mind', by: 'dana' });
  const told = await expectCancelled(thread, { reason: 'changed my mind', by: 'dana' });
  const [request] = requestsOf(rig, input);
  expect(await request?.closed).toBe('by-client');
  expect(ofType(told, 'agent.run.status.changed').at(-1)?.data).toMatchObject({ status: 'cancelling', previousStatus: 'in_progress' });
  expect(typesOf(told)).not.toContain('thread.message.completed');
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-cancelled', message: expect.stringContaining('changed my mind') });
  await until(
    () => descriptionOf(thread.id),
    (status) => status === 'CANCELLED',
  );
});

test('[A98] a cancel before the provider has answered closes the connection, too', async () => {
  const input = scene([hang()]);
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await thread.cancel();
  await expectCancelled(thread);
  expect(await requestsOf(rig, input)[0]?.closed).toBe('by-client');
});

test('[A99][B40] a cancel before the first call prevents any request to the model', async () => {
  const lone = await startRig({ script: () => say('never'), agents: [agent], workers: 0 });
  const thread = await lone.client.start(agent, 'Do something');
  await lone.client.temporal.workflow.getHandle(thread.id).signal('cancel', { reason: 'too late' });
  await lone.addWorker();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'too late' } });
  expect(lone.model.requests).toHaveLength(0);
});

test('[A100][B42][B43][B46][B47] a cancel during a tool aborts it, starts none of the others and leaves no call unanswered', async () => {
  const input = scene([callTools([0, 1, 2].map((n) => ({ name: 'waits', args: { n }, id: `call_${n}` })))]);
  const thread = await rig.client.start(agent, input);
  await until(
    () => beganIn(thread.id).length,
    (n) => n === 2,
  );
  await thread.cancel();
  const told = await expectCancelled(thread);
  expect(beganIn(thread.id)).toHaveLength(2);
  expect(beganIn(thread.id)[1]?.signal.aborted).toBe(true);
  expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status])).toEqual([
    ['call_0', 'success'],
    ['call_1', 'cancelled'],
    ['call_2', 'skipped'],
  ]);
  // What the tool said when it was stopped is kept.
  expect((await thread.messages()).find((m) => m.role === 'tool' && m.toolCallId === 'call_1')?.content).toMatch(/step 3/);
  expect(requestsOf(rig, input)).toHaveLength(1);
});

test('[B46] a cancel while the run waits for a person ends it, and the pending calls are answered as not executed', async () => {
  for (const name of ['ask', 'pay']) {
    const thread = await rig.client.start(agent, scene([callTools([{ name, args: {} }])]));
    await until(
      () => thread.pending(),
      (pending) => pending.length === 1,
    );
    await thread.cancel({ reason: 'nobody is there' });
    const told = await expectCancelled(thread, { reason: 'nobody is there' });
    expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'skipped' });
  }
});

test('[B84] a cancel during the wait before another attempt takes effect immediately', async () => {
  const input = scene(() => ({ kind: 'body', status: 500, headers: {}, body: '{}' }));
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  // The first attempt is over, and the server waits before it hands out the second.
  await until(
    async () => (await rig.client.temporal.workflow.getHandle(thread.id).describe()).raw.pendingActivities?.[0]?.attempt,
    (attempt) => attempt === 2,
  );
  await thread.cancel();
  await expectCancelled(thread);
  expect(requestsOf(rig, input)).toHaveLength(1);
});

test('[B44][B46] after a cancel the next run of a conversation works, on a transcript in which every call has a result', async () => {
  const input = scene(({ messages }) =>
    messages.at(-1)?.content === 'And now?' ? say('Fine.') : callTools([{ name: 'waits', args: { n: 1 }, id: 'call_w' }]),
  );
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await until(
    () => beganIn(thread.id).length,
    (n) => n === 1,
  );
  await thread.cancel();
  const first = await expectCancelled(thread);
  await thread.send('And now?');
  const told = await until(
    () => story(thread),
    (events) => events.at(-1)?.type === 'thread.run.completed',
  );
  expect(told.at(-1)).toMatchObject({ data: { output: 'Fine.' } });
  // Nothing of the cancelled run came after its end.
  expect(told.slice(first.length).every((event) => event.runId !== first[0]?.runId)).toBe(true);
  expect(
    requestsOf(rig, input)
      .at(-1)
      ?.body.messages.map((m) => m.role),
  ).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
  await thread.close();
});

test('[A101][B45] a cancel of a thread that does not exist, and of one that has ended, fail with different errors', async () => {
  expect(await thrownBy(rig.client.attach('no-such-thread').cancel())).toMatchObject({
    code: 'thread-not-found',
    message: expect.stringContaining('no-such-thread'),
  });
  const thread = await rig.client.start(agent, scene([say('done')]));
  await thread.result();
  await until(
    () => descriptionOf(thread.id),
    (status) => status === 'COMPLETED',
  );
  expect(await thrownBy(thread.cancel())).toMatchObject({ code: 'thread-closed', message: expect.stringContaining(thread.id) });
});

test('a cancel of an idle conversation is refused, because there is no run', async () => {
  const thread = await rig.client.start(agent, scene([say('done')]), { mode: 'conversation' });
  await story(thread);
  expect(await thrownBy(thread.cancel())).toMatchObject({ code: 'request-refused', message: expect.stringContaining('no run to cancel') });
  await thread.close();
});

test('two cancels count as one', async () => {
  const input = scene([hang()]);
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await Promise.all([thread.cancel({ by: 'dana' }), thread.cancel({ by: 'eve' }).catch(() => undefined)]);
  const told = await expectCancelled(thread);
  expect(ofType(told, 'agent.run.status.changed').filter(({ data }) => data.status === 'cancelling')).toHaveLength(1);
});

test("Temporal's own cancel closes the thread, with the run's terminal event", async () => {
  const input = scene([slowly(say('x'.repeat(2_000)), { chunkMs: 100 })]);
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await rig.client.temporal.workflow.getHandle(thread.id).cancel();
  await until(
    () => descriptionOf(thread.id),
    (status) => status === 'CANCELLED',
  );
  const told = await story(thread);
  expect(typesOf(told)).toContain('thread.run.cancelled');
  expect(await requestsOf(rig, input)[0]?.closed).toBe('by-client');
});

test("Temporal's own cancel closes an idle conversation", async () => {
  const thread = await rig.client.start(agent, scene([say('done')]), { mode: 'conversation' });
  await story(thread);
  await rig.client.temporal.workflow.getHandle(thread.id).cancel();
  await until(
    () => descriptionOf(thread.id),
    (status) => status === 'CANCELLED',
  );
});

test('a cancel that arrives during the closing words may succeed or not, but the run ends once', async () => {
  const held = gate();
  const input = scene(() => held.opened.then(() => say('done')));
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  held.open();
  await thread.cancel().catch(() => undefined);
  expect(['thread.run.completed', 'thread.run.cancelled']).toContain((await story(thread)).at(-1)?.type);
});

test('[A98] at any moment a cancel closes the connection of a step in its own process, without waiting for its next heartbeat', async () => {
  // That would be sent after 40 s.
  const rig = await startRig({ script, agents: [agent], worker: { takeoverMs: 60_000 } });
  const asked = Date.now();
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      // Minutes of an answer. How quickly the connection is closed is for the bench to say, on a machine that does nothing else.
      const input = scene([slowly(say('x'.repeat(20_000)), { chunkMs: 100, chunkSize: 5 })]);
      const thread = await rig.client.start(agent, input);
      await until(
        () => requestsOf(rig, input).length,
        (n) => n === 1,
      );
      await new Promise((resolve) => setTimeout(resolve, 130 * i));
      await thread.cancel();
      expect(await requestsOf(rig, input)[0]?.closed).toBe('by-client');
    }),
  );
  expect(Date.now() - asked).toBeLessThan(30_000);
});

test('[A99] a cancel that arrives while no worker is up is kept, and the run begins cancelled when one starts', async () => {
  const alone = await startRig({
    script: () => say('never'),
    agents: [defineAgent({ name: 'late', model: 'test-model', instructions: 'Help.' })],
    workers: 0,
    client: { requestTimeoutMs: 2_000 },
  });
  const thread = await alone.client.start('late', 'Begin.');
  expect(await thread.cancel({ by: 'dana' })).toEqual({ accepted: true, seq: 0 });
  await alone.addWorker();
  const events = await collect(thread.events());
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { by: 'dana' } });
  expect(alone.model.requests).toEqual([]);
});

test('a cancel reaches a step of the same process long before its next heartbeat, and a once tool as soon as the server has it', async () => {
  // The next heartbeat would be sent after 40 s.
  const lone = await startRig({ script, agents: [agent], worker: { takeoverMs: 60_000 } });
  const input = scene([stall('The answer begins')]);
  const answering = await lone.client.start(agent, input);
  const calling = await lone.client.start(agent, scene([callTools([{ name: 'waits', args: { n: 1 } }])]));
  await until(
    () => requestsOf(lone, input).length + beganIn(calling.id).length,
    (n) => n === 2,
  );
  await Promise.all([answering.cancel(), calling.cancel()]);
  await Promise.all([expectCancelled(answering), expectCancelled(calling)]);
  expect(await requestsOf(lone, input)[0]?.closed).toBe('by-client');
});
