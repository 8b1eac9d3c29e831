import type { WorkflowClientInterceptor } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { callTools, type RecordedRequest, say, type WireMessage } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import type { WorkerOptions } from '../../src/worker';
import { type Rig, startRig, until } from '../support/rig';
import { gate, requestsOf, scenes, story } from './scenes';

const { script, scene } = scenes();
const read = defineTool({
  name: 'read',
  description: 'Reads 4 KB.',
  input: z.object({ n: z.number() }),
  effect: 'pure',
  execute: ({ n }) => `${n} `.padEnd(4_096, 'x'),
});
const on = defineTool({
  name: 'on',
  description: 'Says on which worker it runs.',
  input: z.object({ ms: z.number() }),
  effect: 'pure',
  async execute({ ms }, ctx) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ctx.resolve<string>('worker');
  },
});
const agent = defineAgent({ name: 'reader', model: 'test-model', instructions: 'Read.', tools: [read, on], limits: { turns: 500 } });

/** A worker whose activities ask the workflow through this: counted, and failing as long as told. */
function queryPath() {
  const path = { asked: 0, broken: false };
  const interceptor: WorkflowClientInterceptor = {
    async query(input, next) {
      path.asked += 1;
      if (path.broken) throw new Error('the querying path is broken');
      return next(input);
    },
  };
  const worker: Partial<WorkerOptions> = { temporal: { interceptors: { client: { workflow: [interceptor] } } } };
  return { path, worker };
}

/** Each request holds what the one before held, and more: nothing lost, doubled or changed places. */
function expectGrowing(requests: readonly RecordedRequest[]): void {
  let before: WireMessage[] = [];
  for (const { body } of requests) {
    expect(body.messages.slice(0, before.length)).toEqual(before);
    expect(body.messages.length).toBeGreaterThan(before.length);
    before = body.messages;
  }
}

const readEach = (turns: number, calls = 1) =>
  scene(({ turn }) =>
    turn < turns ? callTools(Array.from({ length: calls }, (_, i) => ({ name: 'read', args: { n: turn * 10 + i } }))) : say('read'),
  );

async function inputBytesOfModelCalls(rig: Rig, thread: Thread): Promise<{ bytes: number; turn: number; inline: boolean }[]> {
  const { events } = await rig.client.temporal.workflow.getHandle(thread.id).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled?.activityType?.name !== 'callModel') return [];
    const payloads = scheduled.input?.payloads ?? [];
    const request = JSON.parse(Buffer.from(payloads[0]?.data ?? []).toString());
    return [
      { bytes: payloads.reduce((sum, payload) => sum + (payload.data?.length ?? 0), 0), turn: request.turn, inline: 'inline' in request },
    ];
  });
}

test('history grows linearly with the turns: under 0.75 MB at 100 turns of 4 KB, and under 1 KB a model call at turn 200', async () => {
  const { path, worker } = queryPath();
  // All in one execution.
  const continueAsNewAfter = { events: 10_000, bytes: 4_000_000 };
  const rig = await startRig({ script, agents: [agent], worker: { ...worker, continueAsNewAfter }, bus: true });
  const reached = gate();
  const measured = gate();
  const input = scene(async ({ turn }) => {
    if (turn === 100) {
      reached.open();
      await measured.opened;
    }
    return turn < 200 ? callTools([{ name: 'read', args: { n: turn } }]) : say('read');
  });
  const thread = await rig.client.start(agent, input);
  const size = async () =>
    Number((await rig.client.temporal.workflow.getHandle(thread.id).describe()).raw.workflowExecutionInfo?.historySizeBytes);
  await reached.opened;
  const at100 = await size();
  measured.open();
  expect(await thread.result()).toMatchObject({ status: 'completed', turns: 201 });
  const at200 = await size();
  expect(at100).toBeLessThan(750_000);
  expect(at200 / at100).toBeLessThan(2.1);

  const calls = await inputBytesOfModelCalls(rig, thread);
  expect(calls).toHaveLength(201);
  expect(calls[199]).toMatchObject({ turn: 200, inline: false });
  expect(calls[199]?.bytes).toBeLessThan(1_024);
  expectGrowing(requestsOf(rig, input));
  // On one worker the cache is warm, and what the user said comes along: nothing is asked for.
  expect(path.asked).toBe(0);
});

test('[A140] without a cache every model call queries the workflow, and the model gets the same: each call with its result, in order, more at each turn', async () => {
  const { path, worker } = queryPath();
  const rig = await startRig({ script, agents: [agent], worker: { ...worker, transcriptCacheSize: 0 }, bus: true });
  const input = readEach(8, 3);
  await story(await rig.client.start(agent, input));
  expectGrowing(requestsOf(rig, input));
  const [, , third] = requestsOf(rig, input).map(({ body }) => body.messages.map(({ role }) => role));
  const turn = ['assistant', 'tool', 'tool', 'tool'];
  expect(third).toEqual(['system', 'user', ...turn, ...turn]);
  const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
  expect(last).toHaveLength(2 + 8 * 4);
  for (const [i, { tool_calls = [] }] of last.entries()) {
    expect(last.slice(i + 1, i + 1 + tool_calls.length).map(({ tool_call_id }) => tool_call_id)).toEqual(tool_calls.map(({ id }) => id));
  }
  expect(path.asked).toBe(9);
});

test('with several workers, results that another one made are queried, and the model gets all of them in call order', async () => {
  const { path, worker } = queryPath();
  const rig = await startRig({ script, agents: [agent], worker, bus: true, workers: 0 });
  await rig.addWorker({ dependencies: { worker: () => 'first' }, maxConcurrentSteps: 3 });
  await rig.addWorker({ dependencies: { worker: () => 'second' }, maxConcurrentSteps: 3 });
  const input = scene(({ turn }) =>
    turn < 6 ? callTools([300, 150, 250, 20, 100, 200].map((ms) => ({ name: 'on', args: { ms } }))) : say('done'),
  );
  const thread = await rig.client.start(agent, input);
  await story(thread);
  expectGrowing(requestsOf(rig, input));
  const results = requestsOf(rig, input)
    .at(-1)
    ?.body.messages.filter((m) => m.role === 'tool')
    .map((m) => m.content);
  expect(results).toHaveLength(36);
  expect(new Set(results)).toEqual(new Set(['first', 'second']));
  expect(path.asked).toBeGreaterThan(0);
});

test('if queries fail the workflow passes the missing messages, and the model gets the same', async () => {
  const { path, worker } = queryPath();
  path.broken = true;
  const rig = await startRig({ script, agents: [agent], worker: { ...worker, transcriptCacheSize: 0 }, bus: true });
  const input = readEach(3, 2);
  const thread = await rig.client.start(agent, input);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'read' } });
  expectGrowing(requestsOf(rig, input));
  expect(requestsOf(rig, input)).toHaveLength(4);
  const calls = await inputBytesOfModelCalls(rig, thread);
  // Each turn asks first, and is then handed what it lacks: once, where no worker was too busy for its heartbeat.
  for (let turn = 1; turn <= 4; turn++) {
    const inline = calls.filter((call) => call.turn === turn).map((call) => call.inline);
    expect({ turn, inline: [...new Set(inline)] }).toEqual({ turn, inline: [false, true] });
  }
  expect(path.asked).toBeGreaterThan(0);
});

test('messages that are too large to be passed wait until they can be queried, in pages', async () => {
  const { path, worker } = queryPath();
  const rig = await startRig({ script, agents: [agent], worker: { ...worker, transcriptCacheSize: 0 }, bus: true });
  const input = scene([say('one'), say('two'), say('three')], 'y'.repeat(900_000));
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await story(thread);
  path.broken = true;
  const before = path.asked;
  await thread.send('z'.repeat(900_000));
  await until(
    () => path.asked - before,
    (asked) => asked >= 3,
  );
  path.broken = false;
  const told = await until(
    () => story(thread),
    (events) => events.filter((event) => event.type === 'thread.run.completed').length === 2,
  );
  expect(told.at(-1)).toMatchObject({ data: { output: 'two' } });
  expectGrowing(requestsOf(rig, input));
  expect(path.asked - before).toBeGreaterThan(3);
  await thread.close();
});

test('another worker continues a thread whose first worker has died, and queries the missing messages once', async () => {
  const { path, worker } = queryPath();
  const rig = await startRig({ script, agents: [agent], worker, bus: true });
  const input = scene(({ turn }) => (turn === 0 || turn === 2 ? callTools([{ name: 'read', args: { n: turn } }]) : say('so far')));
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await story(thread);
  await rig.workers[0]?.stop();
  await rig.addWorker();
  const before = path.asked;
  await thread.send('go on');
  await until(
    () => story(thread),
    (events) => events.filter((event) => event.type === 'thread.run.completed').length === 2,
  );
  expectGrowing(requestsOf(rig, input));
  expect(path.asked - before).toBe(1);
  await thread.close();
});
