import { setMaxListeners } from 'node:events';
import * as grpc from '@grpc/grpc-js';
import type { ConnectionOptions } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { LonghaulClient, type Thread } from '../../src/client';
import type { AgentEvent } from '../../src/core/event';
import { callTools, say, slowly } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { closeBeforeServers, startServer } from '../support/temporal';
import { gate, requestsOf, scenes } from '../workflows/scenes';

const { script, scene } = scenes();
const ask = defineTool({ name: 'ask', description: 'Needs a person.', input: z.object({}), approval: 'always', execute: () => 'asked' });
const agent = defineAgent({ name: 'waiter', model: 'test-model', instructions: 'Wait.', tools: [ask] });
/** What the server of these tests holds a poll for. Others: 20 s, or 29 s where our settings are. */
const pollMs = 2_000;

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** A client that counts its requests by name. */
async function counting(rig: Rig): Promise<{ client: LonghaulClient; counts: Map<string, number>; of(name: string): number }> {
  const counts = new Map<string, number>();
  const count: Interceptor = (options, nextCall) => {
    const name = options.method_definition.path.split('/').at(-1) ?? '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return nextCall(options) as ReturnType<Interceptor>;
  };
  const connection = { address: rig.address, interceptors: [count] };
  const client = await LonghaulClient.connect({ connection, taskQueue: rig.taskQueue });
  closeBeforeServers(() => client.close());
  return { client, counts, of: (name) => counts.get(name) ?? 0 };
}

const poll = 'GetWorkflowExecutionHistory';
const query = 'QueryWorkflow';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let rig: Rig;

beforeAll(async () => {
  const dynamicConfig = { 'history.longPollExpirationInterval': `${pollMs}ms` };
  const { address } = await startServer({ dynamicConfig });
  rig = await startRig({ script, agents: [agent], address });
});

/** A thread that waits for an approval. */
async function waiting(): Promise<Thread> {
  const thread = await rig.client.start(agent, scene([callTools([{ name: 'ask', args: {}, id: 'call_1' }]), say('done')]));
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  return thread;
}

/** Reads until the approval is requested; the returned promise has the other events. */
async function read(thread: Thread, signal?: AbortSignal): Promise<{ all: AgentEvent[]; rest: Promise<AgentEvent[]> }> {
  const all: AgentEvent[] = [];
  let asked = () => {};
  const reached = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const rest = (async () => {
    for await (const event of thread.events(signal ? { signal } : {})) {
      all.push(event);
      if (event.type === 'agent.approval.requested') asked();
    }
    return all;
  })();
  await Promise.race([reached, rest]);
  return { all, rest };
}

test('a watched idle thread costs one request per long poll of the server, and no query', async () => {
  const thread = await waiting();
  const { client, counts, of } = await counting(rig);
  const { rest } = await read(client.attach(thread.id));
  await until(
    () => of(poll),
    (n) => n >= 2,
  );
  counts.clear();
  await pause(4 * pollMs);
  expect([...counts.keys()]).toEqual([poll]);
  // Each poll is held for 2 s by the server and followed by 1.1 s of idle time; with 29 s there are two polls a minute.
  expect(of(poll)).toBeLessThanOrEqual(3);
  await thread.approve('call_1');
  expect((await rest).at(-1)?.type).toBe('thread.run.completed');
});

test('a run with one streamed model call costs a reader two queries, and the text shows that it is watched', async () => {
  const { client, of } = await counting(rig);
  const text = Array.from({ length: 30 }, (_, i) => `word${i}`).join(' ');
  const said = scene([slowly(say(text), { chunkMs: 100, chunkSize: 10 })]);
  const thread = await client.start(agent, said);
  // A worker that is slow to begin costs one more: the reader looks what it is about.
  await until(
    () => requestsOf(rig, said).length,
    (n) => n === 1,
  );
  const events = await collect(thread.events());
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: text } });
  expect(of(query)).toBeLessThanOrEqual(2);
});

test('a thousand readers of one thread share one poll, and one query for what they read at the same time', async () => {
  const thread = await waiting();
  const { client, counts, of } = await counting(rig);
  const same = client.attach(thread.id);
  const readers = await Promise.all(Array.from({ length: 1_000 }, () => read(same)));
  expect(of(query)).toBeLessThanOrEqual(3);
  counts.clear();
  await thread.approve('call_1');
  const all = await Promise.all(readers.map(({ rest }) => rest));
  for (const events of all) expect(events.map(({ type }) => type)).toEqual(all[0]?.map(({ type }) => type));
  expect(all[0]?.at(-1)?.type).toBe('thread.run.completed');
  expect(of(query)).toBeLessThanOrEqual(6);
  expect(of(poll)).toBeLessThanOrEqual(20);
});

test('a thousand readers of different threads wait in one process, and each gets its own events', async () => {
  const { address } = await startServer();
  const client = await LonghaulClient.connect({ connection: { address } });
  closeBeforeServers(() => client.close());
  const ids = Array.from({ length: 1_000 }, (_, i) => `crowd-${i}`);
  // They begin in an hour, so no worker is needed.
  const begun = { taskQueue: 'nobody', args: [{ agent: 'waiter', input: 'wait' }], startDelay: '1 hour' as const };
  await inGroups(ids, (workflowId) => client.temporal.workflow.start('agentThread', { workflowId, ...begun }));
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const readers = ids.map((id) => collect(client.attach(id).events({ signal: stop.signal })));
  const all = Promise.all(readers);
  const some = ids.filter((_, i) => i % 50 === 7);
  await inGroups(some, (id) => client.temporal.workflow.getHandle(id).terminate('enough'));
  for (const id of some) {
    expect(await readers[ids.indexOf(id)]).toMatchObject([{ type: 'thread.run.expired', threadId: id, data: { reason: 'terminated' } }]);
  }
  stop.abort();
  expect((await all).flat()).toHaveLength(some.length);
});

async function inGroups<T>(all: T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < all.length; at += 50) await Promise.all(all.slice(at, at + 50).map(work));
}

test('a reader that stops leaves no request to the server behind', async () => {
  const thread = await waiting();
  const { client, counts } = await counting(rig);
  const stop = new AbortController();
  const { rest } = await read(client.attach(thread.id), stop.signal);
  stop.abort();
  await rest;
  counts.clear();
  await pause(2 * pollMs);
  expect(counts.size).toBe(0);
});

test('a caller that is asked to stop waiting for a result stops, with the reason', async () => {
  const thread = await waiting();
  const stop = new AbortController();
  const result = thread.result({ signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(result).rejects.toThrow('enough');
});

test('a decision that is refused because its call starts to wait a moment later is sent again, and one on a call that never waits is not', async () => {
  const answers = gate();
  const { opened: refusalMayPass, open: letRefusalPass } = gate();
  let updates = 0;
  const holdFirstAnswer: Interceptor = (options, nextCall) =>
    new grpc.InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        const isFirst = options.method_definition.path.endsWith('UpdateWorkflowExecution') && ++updates === 1;
        const held: grpc.Listener = { onReceiveMessage: (message, pass) => void refusalMayPass.then(() => pass(message)) };
        next(metadata, isFirst ? held : listener);
      },
    }) as ReturnType<Interceptor>;
  const connection = { address: rig.address, interceptors: [holdFirstAnswer] };
  const client = await LonghaulClient.connect({ connection, taskQueue: rig.taskQueue });
  closeBeforeServers(() => client.close());
  const asks = callTools([{ name: 'ask', args: {}, id: 'call_1' }]);
  const thread = await rig.client.start(
    agent,
    scene(async ({ turn }) => {
      await answers.opened;
      return turn === 0 ? asks : say('done');
    }),
  );
  const decided = client.attach(thread.id).approve('call_1', { by: 'ann' });
  await expect(thread.approve('call_1')).rejects.toThrow('does not wait for an approval');
  answers.open();
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  letRefusalPass();
  await expect(decided).resolves.toMatchObject({ accepted: true });
  expect(updates).toBe(2);
  await expect(client.attach(thread.id).approve('call_9')).rejects.toThrow('does not wait for an approval');
  expect(updates).toBe(3);
  await expect(thread.result()).resolves.toMatchObject({ output: 'done' });
});
