import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { LonghaulClient, type Thread } from '../../src/client';
import { workflowType } from '../../src/contract/thread';
import { callTools, fail, hang, say, slowly } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';
import { gate, ofType, requestsOf, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const talkative = defineTool({
  name: 'talkative',
  description: 'Says how far it is.',
  input: z.object({}),
  effect: 'pure',
  async execute(_, ctx) {
    for (let percent = 0; percent <= 100; percent += 20) {
      ctx.progress(`${percent} %`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return 'ready';
  },
});
const agent = defineAgent({
  name: 'talker',
  model: 'test-model',
  instructions: 'Talk.',
  tools: [talkative],
  retry: { baseMs: 1_500, jitter: false, backoff: 'linear' },
});

let rig: Rig;
let unattended: Rig;
let reading: Promise<{ error: Error & { code?: string }; ms: number }>;
beforeAll(async () => {
  // Without a bus: as any other process sees the thread.
  rig = await startRig({ script, agents: [agent], worker: { liveTextMs: 300 } });
  unattended = await startRig({ script, agents: [agent], workers: 0, client: { requestTimeoutMs: 1_000 } });
  const thread = await unattended.client.start(agent, 'Is anybody there?');
  const began = Date.now();
  // Takes half a minute, concurrently with the other tests.
  reading = thrownBy(collect(thread.events())).then((error) => ({ error, ms: Date.now() - began }));
});

test('a reader, a result and the worker survive an outage of the server of twenty seconds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-restart-'));
  try {
    const dbFilename = join(folder, 'temporal.db');
    const server = await startServer({ dbFilename });
    const lone = await startRig({ script, agents: [agent], address: server.address });
    const held = gate();
    const input = scene(async ({ turn }) => {
      if (turn === 1) await held.opened;
      return turn === 0 ? callTools([{ name: 'talkative', args: {} }]) : say('still here');
    });
    const thread = await lone.client.start(agent, input);
    const events = collect(thread.events({ live: false }));
    const result = thread.result();
    await until(
      () => thread.status(),
      (status) => status.turn === 2,
    );
    server.kill();
    held.open();
    const later = thread.status();
    const another = lone.client.start(agent, scene([say('begun in the dark')]), { id: `dark-${lone.taskQueue}` });
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    await startServer({ dbFilename, port: Number(server.address.split(':')[1]) });
    expect(await result).toMatchObject({ status: 'completed', output: 'still here' });
    expect((await events).map((event) => event.seq)).toEqual((await events).map((_, i) => i + 1));
    expect(await later).toMatchObject({ threadId: thread.id });
    expect(await (await another).result()).toMatchObject({ output: 'begun in the dark' });
    await Promise.all(lone.workers.map((worker) => worker.stop()));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a start needs no worker; a request that needs one reports within its deadline that none is up, and the thread continues when one is', async () => {
  const input = scene([say('late but here')]);
  const thread = await unattended.client.start(agent, input);
  for (const request of [() => thread.status(), () => thread.send('hello?'), () => thread.messages(), () => thread.pause()]) {
    const began = Date.now();
    expect(await thrownBy(request())).toMatchObject({
      name: 'LonghaulError',
      code: 'no-worker',
      message: expect.stringMatching(/no worker answers.*longhaul worker/),
    });
    expect(Date.now() - began).toBeLessThan(20_000);
  }
  const { error, ms } = await reading;
  expect(error).toMatchObject({ code: 'no-worker', message: expect.stringContaining('no worker answers') });
  expect(ms).toBeLessThan(60_000);
});

test('a request that a worker must answer says of a thread that has ended that it does not continue', async () => {
  const lone = await startRig({ script, agents: [agent], client: { requestTimeoutMs: 2_000 } });
  const thread = await lone.client.start(agent, scene([say('the end')]));
  await thread.result();
  await lone.workers[0]?.stop();
  const error = await thrownBy(thread.status());
  expect(error).toMatchObject({ code: 'no-worker', message: expect.stringMatching(/has ended, and no worker answers.*longhaul events/) });
  expect((error as Error).message).not.toContain('continues');
});

test('a thread is found by its id from anywhere, and a reader continues by its seq', async () => {
  const thread = await rig.client.start(agent, scene([say('found')]));
  const told = await story(thread);
  const elsewhere = await LonghaulClient.connect({ connection: { address: rig.address } });
  try {
    const same = elsewhere.attach(thread.id);
    expect(await same.result()).toMatchObject({ output: 'found' });
    expect(await collect(same.events({ from: 5, live: false }))).toEqual(told.slice(4));
    expect(await collect(same.events({ from: told.length + 10, live: false }))).toEqual([]);
  } finally {
    await elsewhere.close();
  }
});

test('a terminated thread ends its readers with a terminal event, and its result says so', async () => {
  const input = scene([hang()]);
  const thread = await rig.client.start(agent, input);
  const events = collect(thread.events());
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await rig.client.temporal.workflow.getHandle(thread.id).terminate('enough');
  const told = await events;
  expect(told.at(-1)).toMatchObject({
    type: 'thread.run.expired',
    seq: told.length,
    data: { reason: 'terminated', message: expect.stringContaining(thread.id) },
  });
  expect(told.at(-1)?.runId).toBe(told[0]?.runId);
  expect((await collect(thread.events({ live: false }))).at(-1)?.type).toBe('thread.run.expired');
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'thread-terminated' });
});

test('a thread that exceeded its execution timeout ends its readers with a terminal event', async () => {
  const input = scene([hang()]);
  const workflowId = `timed-${rig.taskQueue}`;
  await rig.client.temporal.workflow.start(workflowType, {
    workflowId,
    taskQueue: rig.taskQueue,
    args: [{ agent: 'talker', input }],
    workflowExecutionTimeout: '2s',
  });
  const told = await collect(rig.client.attach(workflowId).events());
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.expired', data: { reason: 'timed-out' } });
});

test('a reader without a bus gets the text about twice a second while it grows, and then the complete text', async () => {
  const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
  const thread = await rig.client.start(agent, scene([slowly(say(text), { chunkMs: 100, chunkSize: 10 })]));
  const events = await collect(thread.events());
  const texts = events.flatMap((event) => (event.type === 'thread.message.delta' ? [event.data] : []));
  expect(texts.length).toBeGreaterThanOrEqual(4);
  for (const [i, { contentChunk = '', snapshot, messageId }] of texts.entries()) {
    expect(snapshot).toBe(true);
    expect(text.startsWith(contentChunk)).toBe(true);
    expect(contentChunk.length).toBeGreaterThan(texts[i - 1]?.contentChunk?.length ?? 0);
    expect(messageId).toBe(ofType(events, 'thread.message.completed')[0]?.data.message.id);
  }
  expect(typesOf(events).lastIndexOf('thread.message.delta')).toBeLessThan(typesOf(events).indexOf('thread.message.completed'));
});

test('a reader without a bus gets the progress of a tool', async () => {
  const thread = await rig.client.start(agent, scene([callTools([{ name: 'talkative', args: {}, id: 'call_t' }]), say('done')]));
  const progress = (await collect(thread.events())).flatMap((event) => (event.type === 'agent.tool.progress' ? [event.data] : []));
  expect(progress.length).toBeGreaterThanOrEqual(1);
  for (const one of progress)
    expect(one).toMatchObject({ toolCallId: 'call_t', name: 'talkative', message: expect.stringMatching(/^\d+ %$/) });
});

test('a reader without a bus gets each failed attempt once, with its run', async () => {
  const text = Array.from({ length: 30 }, (_, i) => `word${i}`).join(' ');
  const slow = slowly(say(text), { chunkMs: 60, chunkSize: 10 });
  let asked = 0;
  const thread = await rig.client.start(
    agent,
    scene(() => (++asked <= 2 ? fail(503, { message: 'busy' }) : slow)),
  );
  const events = await collect(thread.events());
  const retries = events.filter((event) => event.type === 'agent.llm.retry');
  const about = { turn: 1, maxAttempts: 5, delaySource: 'backoff', message: expect.stringContaining('busy') };
  expect(retries.map(({ data }) => data)).toEqual([
    { ...about, nextAttempt: 2, delayMs: 1_500, failureKind: expect.any(String) },
    { ...about, nextAttempt: 3, delayMs: 3_000, failureKind: expect.any(String) },
  ]);
  const [created] = ofType(events, 'agent.run.created');
  const live = events.filter((event) => !('seq' in event));
  expect(typesOf(live)).toContain('thread.message.delta');
  expect(new Set(live.map(({ runId }) => runId))).toEqual(new Set([created?.runId]));
});

test('with a bus the deltas of a message arrive between its beginning and its end, without a request to the server for each', async () => {
  const near = await startRig({ script, agents: [agent], bus: true });
  const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
  const thread = await near.client.start(agent, scene([slowly(say(text), { chunkMs: 20, chunkSize: 5 })]));
  const looks = jest.spyOn(near.client.temporal.workflow, 'getHandle');
  const events = await collect(thread.events());
  const asked = looks.mock.calls.length;
  looks.mockRestore();
  const types = typesOf(events);
  const deltas = events.flatMap((event) => (event.type === 'thread.message.delta' ? [event.data.contentChunk] : []));
  expect(deltas.join('')).toBe(text);
  expect(deltas.length).toBeGreaterThan(60);
  expect(asked).toBeLessThan(50);
  expect(types.indexOf('thread.message.delta')).toBeGreaterThan(types.lastIndexOf('thread.message.created'));
  expect(types.lastIndexOf('thread.message.delta')).toBeLessThan(types.indexOf('thread.message.completed'));
});

async function idle(thread: Thread): Promise<Thread> {
  await until(
    () => thread.status(),
    ({ status }) => status === 'idle',
  );
  return thread;
}

test('a signal that an idle conversation can not carry out keeps neither a reader nor a result waiting', async () => {
  const thread = await idle(await rig.client.start(agent, scene([say('at rest')]), { mode: 'conversation' }));
  const before = (await thread.status()).seq;
  await rig.client.temporal.workflow.getHandle(thread.id).signal('cancel', {});
  await until(
    () => thread.status(),
    ({ seq }) => seq > before,
  );
  expect((await collect(thread.events({ live: false }))).at(-1)?.type).toBe('agent.request.rejected');
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'at rest' });
  await thread.close();
});

test.each(['close', 'terminate', 'cancel'] as const)(
  'a conversation that is over by %s tells its last run, and how it ended',
  async (how) => {
    const input = scene([callTools([{ name: 'talkative', args: {} }])]);
    const thread = await idle(await rig.client.start(agent, input, { mode: 'conversation', limits: { turns: 1 } }));
    const open = await thread.result();
    expect(open).toMatchObject({
      status: 'incomplete',
      thread: { runs: 1, turns: 1 },
      turns: 1,
      reason: expect.stringContaining('1 turns'),
    });
    const handle = rig.client.temporal.workflow.getHandle(thread.id);
    await (how === 'close' ? thread.close() : how === 'terminate' ? handle.terminate('enough') : handle.cancel());
    await until(
      () => handle.describe(),
      ({ status }) => status.name !== 'RUNNING',
    );
    expect(await thread.result()).toEqual(open);
    expect(typesOf(await collect(thread.events({ live: false })))).not.toContain('thread.run.expired');
  },
);

test('a reader that is asked to stop stops, without an error and without side effects', async () => {
  const input = scene([hang()]);
  const thread = await rig.client.start(agent, input);
  const stop = new AbortController();
  const events = collect(thread.events({ signal: stop.signal }));
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  stop.abort();
  expect(typesOf(await events)).not.toContain('thread.run.cancelled');
  expect(await thread.status()).toMatchObject({ status: 'in_progress' });
  await thread.cancel();
  await story(thread);
});

test('threads are listed with their agent and their status', async () => {
  const thread = await rig.client.start(agent, scene([say('listed')]));
  await thread.result();
  const query = `TaskQueue = '${rig.taskQueue}'`;
  const listed = await until(
    () => rig.client.list({ query }),
    (list) => list.some((one) => one.id === thread.id && one.status === 'completed'),
  );
  expect(listed.find((one) => one.id === thread.id)).toMatchObject({
    agent: 'talker',
    execution: 'COMPLETED',
    status: 'completed',
    startedAt: expect.any(Date),
    closedAt: expect.any(Date),
  });
  expect(await rig.client.list({ query, limit: 2 })).toHaveLength(2);
});
