import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { type ClientOptions, LonghaulClient, type Thread } from '../../src/client';
import type { AgentEvent } from '../../src/core/event';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type NetworkProxy, startProxy } from '../support/proxy';
import { collect, type Rig, startRig, until } from '../support/rig';
import { closeBeforeServers, startServer } from '../support/temporal';
import { scenes, thrownBy } from '../workflows/scenes';

const { script, scene } = scenes();
const ask = defineTool({ name: 'ask', description: 'Needs a person.', input: z.object({}), approval: 'always', execute: () => 'asked' });
const agent = defineAgent({ name: 'patient', model: 'test-model', instructions: 'Wait.', tools: [ask] });
/** Longer than a second, and longer than outages that the network itself recovers from. */
const outageMs = 12_000;
/** Within this everything goes on once the server is back. */
const soonMs = 3_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let rig: Rig;
let proxy: NetworkProxy;

beforeAll(async () => {
  const { address } = await startServer();
  rig = await startRig({ script, agents: [agent], address });
  proxy = await startProxy(address);
  closeBeforeServers(() => proxy.close());
});

afterEach(() => proxy.heal());

/** A client behind the proxy; workers reach the server without it. */
async function behind(options: ClientOptions = {}): Promise<LonghaulClient> {
  const client = await LonghaulClient.connect({ connection: { address: proxy.address }, taskQueue: rig.taskQueue, ...options });
  closeBeforeServers(() => client.close());
  return client;
}

/** A thread that waits for an approval. */
async function waiting(): Promise<Thread> {
  const thread = await rig.client.start(agent, scene([callTools([{ name: 'ask', args: {}, id: 'call_1' }]), say('done')]));
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  return thread;
}

/** When it was settled, in milliseconds since 1970; rejects as it does. */
async function timed<T>(work: Promise<T>): Promise<{ value: T; at: number }> {
  const value = await work;
  return { value, at: Date.now() };
}

test('after an outage a reader, a result and a request continue within three seconds', async () => {
  const [read, awaited, asked] = await Promise.all([waiting(), waiting(), waiting()]);
  const client = await behind({ requestTimeoutMs: 1_000 });
  const events = timed(collect(client.attach(read.id).events()));
  const result = timed(client.attach(awaited.id).result());
  await pause(1_000);
  await proxy.refuse();
  const request = timed(client.attach(asked.id).approve('call_1'));
  const started = timed(client.start(agent, scene([say('begun')])));
  await Promise.all([read.approve('call_1'), awaited.approve('call_1'), pause(outageMs)]);
  await proxy.heal();
  const back = Date.now();
  const all = await Promise.all([events, result, request, started]);
  expect(all[0].value.at(-1)?.type).toBe('thread.run.completed');
  expect(all[1].value).toMatchObject({ status: 'completed', output: 'done' });
  for (const { at } of all) expect(at - back).toBeLessThan(soonMs);
});

test('a connection that died silently is detected, and everything continues over another', async () => {
  const thread = await waiting();
  const client = await behind();
  const events = timed(collect(client.attach(thread.id).events()));
  await pause(1_000);
  proxy.orphan();
  const cut = Date.now();
  const listed = timed(client.list({ limit: 1 }));
  await thread.approve('call_1');
  expect((await events).value.at(-1)?.type).toBe('thread.run.completed');
  await listed;
  // 10.5 s without a word, 3 s for an answer to the question whether anybody is there, and a moment to connect again.
  expect(Math.max((await events).at, (await listed).at) - cut).toBeLessThan(20_000);
});

test('a new connection whose bytes are dropped is replaced by another, which works', async () => {
  const thread = await waiting();
  const client = await behind();
  // Every connection is reset, and the next one is taken and never answered. It stays so when the network is whole again.
  proxy.swallow();
  proxy.cut();
  const begun = proxy.connections;
  const approved = client.attach(thread.id).approve('call_1');
  await until(
    () => proxy.connections,
    (connections) => connections > begun,
  );
  await proxy.heal();
  expect(await approved).toMatchObject({ accepted: true });
});

test('a request to a thread whose workflow task fails is sent again until a worker carries the task out', async () => {
  const own = await startRig({ script, agents: [agent], address: rig.address, client: { requestTimeoutMs: 20_000 } });
  const thread = await own.client.start(agent, scene([callTools([{ name: 'ask', args: {}, id: 'call_1' }]), say('done')]));
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  await own.workers[0]?.stop();
  const { temporal } = own.client;
  await temporal.workflow.getHandle(thread.id).signal('pause', {});
  await failTasks(own, 4);
  const resumed = thread.resume();
  await pause(2_000);
  await own.addWorker();
  expect(await resumed).toMatchObject({ accepted: true });
  await thread.cancel();
});

/** Fails workflow tasks, as a worker with other code does. */
async function failTasks({ client, taskQueue }: Rig, tasks: number): Promise<void> {
  const { connection, workflowService } = client.temporal;
  const { namespace } = client.temporal.options;
  for (let failed = 0; failed < tasks; failed++) {
    const { taskToken } = await connection.withDeadline(Date.now() + 30_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: taskQueue }, identity: 'other code' }),
    );
    await workflowService.respondWorkflowTaskFailed({ namespace, taskToken, identity: 'other code', cause: failureCause });
  }
}

/** WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR */
const failureCause = 24;

test('during an outage every request reports the server, and none reports missing workers', async () => {
  const thread = await waiting();
  const client = await behind({ serverAwayMs: 3_000, requestTimeoutMs: 1_000 });
  await proxy.refuse();
  const same = client.attach(thread.id);
  const requests = {
    start: client.start(agent, 'hello'),
    list: client.list(),
    pending: client.pending(),
    findThread: client.findThread(thread.id),
    status: same.status(),
    isRunning: same.isRunning(),
    approve: same.approve('call_1'),
    cancel: same.cancel(),
    audit: same.audit(),
  };
  const errors = await Promise.all(Object.values(requests).map((request) => thrownBy(request)));
  for (const error of errors) {
    expect(error).toMatchObject({
      name: 'LonghaulError',
      code: 'unreachable',
      message: expect.stringMatching(/was unavailable for 3 s .*ECONNREFUSED/),
    });
  }
  await thread.cancel();
});

test('a server that accepts requests and never answers counts as unreachable, too', async () => {
  const thread = await waiting();
  const client = await behind({ serverAwayMs: 2_000, requestTimeoutMs: 1_000 });
  proxy.swallow();
  const same = client.attach(thread.id);
  for (const error of await Promise.all([same.status(), same.approve('call_1'), client.list()].map((request) => thrownBy(request)))) {
    expect(error).toMatchObject({ name: 'LonghaulError', code: 'unreachable' });
  }
  await thread.cancel();
});

test('if no worker is up the error says so, and requests that need none are carried out', async () => {
  const lonely = await startRig({ script, agents: [agent], address: rig.address, workers: 0, client: { requestTimeoutMs: 1_500 } });
  const thread = await lonely.client.start(agent, scene([say('late')]));
  expect(await thrownBy(thread.status())).toMatchObject({ code: 'no-worker' });
  expect(await thrownBy(thread.send('hello'))).toMatchObject({ code: 'no-worker' });
  expect(await thread.cancel()).toEqual({ accepted: true, seq: 0 });
  const { execution } = (await lonely.client.list()).find(({ id }) => id === thread.id) ?? {};
  expect(execution ?? 'RUNNING').toBe('RUNNING');
});

test('after a restart of a killed server, readers and results continue where they were', async () => {
  const dbFilename = join(mkdtempSync(join(tmpdir(), 'longhaul-outage-')), 'temporal.db');
  const server = await startServer({ dbFilename });
  const own = await startRig({ script, agents: [agent], address: server.address });
  const thread = await own.client.start(agent, scene([callTools([{ name: 'ask', args: {}, id: 'call_1' }]), say('done')]));
  const seen: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of thread.events()) seen.push(event);
  })();
  const result = thread.result();
  await until(
    () => seen.some(({ type }) => type === 'agent.approval.requested'),
    (asked) => asked,
  );
  await server.stop();
  await pause(5_000);
  await startServer({ dbFilename, port: Number(server.address.split(':')[1]) });
  // A worker looks for the server every ten seconds at most, and then runs the tool and calls the model.
  await thread.approve('call_1');
  expect(await result).toMatchObject({ status: 'completed', output: 'done' });
  await reading;
  const seqs = seen.flatMap((event) => ('seq' in event ? [event.seq] : []));
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  expect(seen.at(-1)?.type).toBe('thread.run.completed');
});
