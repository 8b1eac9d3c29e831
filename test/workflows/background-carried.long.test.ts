import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { callTools, type Reply, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { executionsOf, handleOf, pester } from './asking';
import { gate, ofType, requestsOf, scenes, story, textOf, thrownBy } from './scenes';

// A background call goes on while its thread continues as new.
const { script, scene } = scenes();
const held = new Map<string, ReturnType<typeof gate>>();
const ran: { threadId: string; idempotencyKey: string }[] = [];
const stopped: string[] = [];

const report = defineTool({
  name: 'report',
  description: 'Takes its time.',
  input: z.object({}),
  background: true,
  timeoutMs: 120_000,
  async execute(_, { threadId, idempotencyKey, signal }) {
    ran.push({ threadId, idempotencyKey });
    signal.addEventListener('abort', () => stopped.push(threadId));
    const aborted = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    await Promise.race([held.get(threadId)?.opened, aborted]);
    return 'the report';
  },
});
const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Report.', tools: [report] });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true, worker: { continueAsNewAfter: { events: 200, bytes: 4_000_000 } } });
});

/** A thread whose report runs and whose model is done. */
async function waitingForReport(replies: Reply[]) {
  const input = scene([callTools([{ name: 'report', args: {}, id: 'call_1' }]), say('I wait.'), ...replies]);
  const id = `carried_${input.replace(' ', '_')}_${process.pid}`;
  const { open, opened } = gate();
  held.set(id, { open, opened });
  const thread = await rig.client.start(agent, input, { id });
  await until(
    () => thread.messages(),
    (messages) => messages.length === 4,
  );
  return { input, open, thread };
}

/** The same, after the thread has continued as new. */
async function carried(replies: Reply[]) {
  const waiting = await waitingForReport(replies);
  await pester(waiting.thread);
  return waiting;
}

/** The workflow in which the thread's background call runs. */
async function workflowOf(thread: Thread): Promise<string> {
  const oldest = (await executionsOf(thread)).at(-1);
  const { events } = await rig.client.temporal.workflow.getHandle(thread.id, oldest).fetchHistory();
  const started = events?.find((event) => event.childWorkflowExecutionStartedEventAttributes);
  return started?.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId ?? '';
}

test('a background call goes on while its thread continues as new, twice, and its result arrives once', async () => {
  const { input, open, thread } = await carried([say('All there.')]);
  await pester(thread);
  // Nothing was said to the model meanwhile.
  expect(requestsOf(rig, input)).toHaveLength(2);
  expect((await thread.status()).status).toBe('in_progress');
  open();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'All there.', turns: 3 } });
  expect(ofType(told, 'agent.tool.background.completed').map(({ data }) => data)).toMatchObject([
    { toolCallId: 'call_1', name: 'report', status: 'success' },
  ]);
  expect(requestsOf(rig, input)[2]?.body.messages.map(textOf).slice(-2)).toEqual([
    'I wait.',
    '[Result of report, call call_1]\nthe report',
  ]);
  const { runId } = ofType(told, 'agent.run.created')[0] ?? {};
  expect(ran.filter(({ threadId }) => threadId === thread.id)).toEqual([
    { threadId: thread.id, idempotencyKey: `${thread.id}/${runId}/call_1` },
  ]);
  expect((await executionsOf(thread)).length).toBeGreaterThan(2);
});

test('a message that arrives during the call, in a new execution, is answered before its result', async () => {
  const { input, open, thread } = await carried([say('Soon.'), say('All there.')]);
  await thread.send('How long?');
  await until(
    () => thread.messages(),
    (messages) => messages.length === 6,
  );
  open();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'All there.' } });
  expect(requestsOf(rig, input)[2]?.body.messages.map(textOf).slice(-2)).toEqual(['I wait.', 'How long?']);
});

test('a cancel stops a background call of an earlier execution', async () => {
  const { thread } = await carried([]);
  await thread.cancel({ reason: 'enough' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
  expect(ofType(told, 'agent.tool.background.completed').map(({ data }) => data)).toMatchObject([{ status: 'cancelled' }]);
  expect(stopped).toContain(thread.id);
});

test.each([
  ['the execution that started it', waitingForReport],
  ['a later execution', carried],
])('a background call whose workflow an operator terminates has an unknown outcome, in %s', async (_, begin) => {
  const { input, thread } = await begin([say('A pity.')]);
  await rig.client.temporal.workflow.getHandle(await workflowOf(thread)).terminate('by hand');
  const told = await story(thread);
  expect(ofType(told, 'agent.tool.background.completed').map(({ data }) => data)).toMatchObject([{ status: 'unknown' }]);
  expect(requestsOf(rig, input)[2]?.body.messages.map(textOf).at(-1)).toMatch(
    /^\[Result of report, call call_1, unknown\]\nError: the workflow in which report ran has ended without an outcome \(.*\)\. It may/,
  );
});

test('at most a hundred calls run in the background at the same time; the model is told to wait', async () => {
  const calls = Array.from({ length: 101 }, (_, n) => ({ name: 'report', args: {}, id: `call_${n}` }));
  const input = scene([callTools(calls), say('I wait.')]);
  const id = `carried_${input.replace(' ', '_')}_${process.pid}`;
  held.set(id, gate());
  const thread = await rig.client.start(agent, input, { id });
  await until(
    () => requestsOf(rig, input).length,
    (requests) => requests === 2,
  );
  const results = requestsOf(rig, input)[1]?.body.messages.map(textOf).slice(3) ?? [];
  expect(results.filter((text) => text.includes('goes on in the background'))).toHaveLength(100);
  expect(results.at(-1)).toMatch(/^Error: not started, because 100 calls run in the background already/);
  await thread.cancel();
  const told = await story(thread);
  expect(ofType(told, 'agent.tool.background.completed').map(({ data }) => data.status)).toEqual(Array(100).fill('cancelled'));
});

test('only a thread can start the workflow of a background call: nobody runs a tool without its approval that way', async () => {
  const call = { id: 'call_1', name: 'report', arguments: '{}' };
  const handle = await rig.client.temporal.workflow.start('backgroundCall', {
    workflowId: `forged-${process.pid}`,
    taskQueue: rig.taskQueue,
    args: [
      {
        threadId: `forged-${process.pid}`,
        request: { agent: 'clerk', runId: 'run_1', call },
        verdict: { kind: 'run', effect: 'pure', timeoutMs: 1_000 },
      },
    ],
  });
  expect(await thrownBy(handle.result())).toMatchObject({
    cause: { type: 'InvalidInput', message: expect.stringContaining('only a thread') },
  });
  expect(ran.map(({ threadId }) => threadId)).not.toContain(handle.workflowId);
});

test('a thread that has continued as new waits for the call with one activity, which ends with it', async () => {
  const { open, thread } = await carried([say('All there.')]);
  const { raw } = await handleOf(thread).describe();
  expect(raw.pendingActivities?.map(({ activityType }) => activityType?.name)).toEqual(['awaitCall']);
  open();
  await story(thread);
  expect((await handleOf(thread).describe()).raw.pendingActivities ?? []).toEqual([]);
});

test('a worker that waits for a call of an earlier execution stops in time', async () => {
  const { thread } = await carried([say('So be it.')]);
  for (const worker of rig.workers.splice(0)) await worker.stop();
  await rig.addWorker();
  const told = await story(thread);
  expect(ofType(told, 'agent.tool.background.completed')[0]?.data).toMatchObject({ status: 'unknown' });
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'So be it.' } });
});
