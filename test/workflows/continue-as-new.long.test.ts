import { WorkflowNotFoundError } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { expectInvariants, gate, ofType, requestsOf, scenes, story } from './scenes';

const { script, scene } = scenes();
const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ n: z.number() }),
  effect: 'pure',
  execute: ({ n }) => `content ${n}`,
});
const ask = defineTool({ name: 'ask', description: 'Asks.', input: z.object({}) });
/** The inputs of `on:compaction`, by thread. */
const compactions = new Map<string, unknown[]>();
const hooks = defineHooks({
  'on:compaction': (input, { threadId }) => void compactions.set(threadId, [...(compactions.get(threadId) ?? []), input]),
});
const agent = defineAgent({ name: 'reader', model: 'test-model', instructions: 'Read.', tools: [read, ask], hooks });

let rig: Rig;
beforeAll(async () => {
  // A turn with a tool counts as about twenty events, so a thread goes on in a new execution after every few turns.
  rig = await startRig({ script, agents: [agent], bus: true, worker: { continueAsNewAfter: { events: 90, bytes: 4_000_000 } } });
});

/** The executions of a thread, newest first. */
async function executionsOf(thread: Thread): Promise<string[]> {
  const ids: string[] = [];
  let runId: string | undefined = (await rig.client.temporal.workflow.getHandle(thread.id).describe()).runId;
  while (runId) {
    ids.push(runId);
    const { events } = await rig.client.temporal.workflow.getHandle(thread.id, runId).fetchHistory();
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
  return ids;
}

const readEach = (turns: number) =>
  scene(({ turn }) => (turn < turns ? callTools([{ name: 'read', args: { n: turn } }]) : say('all read')));

test('a run over several executions has one log without gaps, one transcript and one result', async () => {
  const input = readEach(30);
  const thread = await rig.client.start(agent, input);
  const live = collect(thread.events({ live: false }));
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'all read', turns: 31, thread: { runs: 1, turns: 31 } });
  const told = await story(thread);
  expect(await live).toEqual(told);
  expect(ofType(told, 'agent.run.created')).toHaveLength(1);
  expect(ofType(told, 'agent.run.step.created').map((event) => event.data.turn)).toEqual(Array.from({ length: 31 }, (_, i) => i + 1));
  expect((await executionsOf(thread)).length).toBeGreaterThan(3);
  expect(await collect(thread.events({ from: 17, live: false }))).toEqual(told.slice(16));
  // The model noticed nothing.
  expect(requestsOf(rig, input)).toHaveLength(31);
  expect(requestsOf(rig, input).at(-1)?.body.messages).toHaveLength(2 + 60);
  expect(await thread.messages()).toHaveLength(62);
});

test('the message of the start is passed to the next execution in the state, and not again in the input', async () => {
  const thread = await rig.client.start(agent, readEach(8));
  await thread.result();
  const [newest] = await executionsOf(thread);
  const { events } = await rig.client.temporal.workflow.getHandle(thread.id, newest).fetchHistory();
  const [request] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  expect(JSON.parse(Buffer.from(request?.data ?? []).toString())).toEqual({ agent: 'reader', input: '(carried over)' });
});

test('a conversation continues over many executions, including those that begin while it is idle', async () => {
  const thread = await rig.client.start(
    agent,
    scene(({ messages }) => say(`heard ${messages.length}`)),
    { mode: 'conversation' },
  );
  for (let n = 1; n <= 14; n++) {
    await until(
      () => thread.status(),
      (status) => status.status === 'idle' && status.messages === 2 * n,
    );
    await thread.send(`message ${n}`, { id: `m-${n}` });
  }
  const told = await until(
    () => story(thread),
    (events) => ofType(events, 'thread.run.completed').length === 15,
  );
  expectInvariants(told, await thread.messages(), thread.id);
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);
  expect(await thread.usage()).toMatchObject({ runs: 15 });
  await thread.close();
});

test('a thread whose first executions the server has deleted shows the rest of its log, and its result', async () => {
  const thread = await rig.client.start(agent, readEach(20));
  const { output } = await thread.result();
  const told = await collect(thread.events({ live: false }));
  const executions = await executionsOf(thread);
  expect(executions.length).toBeGreaterThan(2);
  // A server takes a minute to delete an execution, so the test returns the server's answer itself.
  const gone = executions.slice(-2);
  const { workflow } = rig.client.temporal;
  const getHandle = workflow.getHandle.bind(workflow);
  const asked = jest.spyOn(workflow, 'getHandle').mockImplementation((id, runId, options) => {
    const handle = getHandle(id, runId, options);
    const refuse = () => Promise.reject(new WorkflowNotFoundError('workflow execution not found', id, runId));
    return runId && gone.includes(runId) ? Object.assign(handle, { query: refuse }) : handle;
  });
  const left = await collect(thread.events({ live: false }));
  expect(left).toEqual(told.slice(-left.length));
  expect(left.length).toBeGreaterThan(0);
  expect(left.length).toBeLessThan(told.length);
  expect((await thread.result()).output).toBe(output);
  asked.mockRestore();
});

test('messages that arrive during continue-as-new are taken in once each', async () => {
  const sent = gate();
  const input = scene(async ({ turn }) => {
    // Not over before the last message is there, nor before enough was done for a change of execution.
    if (turn === 20) await sent.opened;
    return turn < 21 ? callTools([{ name: 'read', args: { n: turn } }]) : say('all read');
  });
  const thread = await rig.client.start(agent, input);
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  for (let n = 0; n < 40; n++) {
    const id = `m-${n % 20}`;
    if (n % 2 === 0) await thread.send(`message ${n % 20}`, { id });
    else await handle.signal('sendMessage', { input: `message ${n % 20}`, id });
  }
  sent.open();
  await story(thread);
  const ids = (await thread.messages()).map((message) => message.id).filter((id) => id.startsWith('m-'));
  expect(ids.sort()).toEqual(Array.from({ length: 20 }, (_, n) => `m-${n}`).sort());
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);
});

test('a wait for a person and a cancel work normally after a change of execution', async () => {
  const input = scene(({ turn }) =>
    turn < 10 ? callTools([{ name: 'read', args: { n: turn } }]) : callTools([{ name: 'ask', args: {} }]),
  );
  const thread = await rig.client.start(agent, input);
  const [pending] = await until(
    () => thread.pending(),
    (calls) => calls.length === 1,
  );
  await thread.submitToolOutputs([{ toolCallId: pending?.toolCallId ?? '', output: 'x' }]);
  await until(
    () => thread.pending(),
    (calls) => calls.length === 1 && calls[0]?.toolCallId !== pending?.toolCallId,
  );
  await thread.cancel({ reason: 'enough' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);
});

test('a transcript that is too large for one payload is shortened, and the thread records what was removed', async () => {
  let turn = -1;
  const input = scene(() => {
    turn += 1;
    return turn < 20 ? callTools([{ name: 'read', args: { n: turn } }], `turn ${turn}: ${'é'.repeat(75_000)}`) : say('all read');
  });
  const thread = await rig.client.start(agent, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'all read', turns: 21 });
  const told = await story(thread);
  const [fitted] = ofType(told, 'thread.context.compacted');
  expect(fitted?.data).toMatchObject({ reason: 'carry-over', droppedMessages: expect.any(Number) });
  expect(fitted?.data.bytes).toBeLessThan(1_700_000);
  expect(compactions.get(thread.id)).toEqual(ofType(told, 'thread.context.compacted').map(({ data }) => data));
  const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
  expect(last[1]?.content).toBe(input);
  expect(last.length).toBeLessThan(62);
  // What made way is still in the log, where the executions before keep it.
  expect(ofType(told, 'thread.message.completed')[0]?.data.message.content).toMatchObject([
    { text: expect.stringMatching(/^turn 0: é+$/) },
    {},
  ]);
});
