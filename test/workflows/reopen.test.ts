import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { workflowType } from '../../src/contract/thread';
import { isDurable } from '../../src/core/event';
import { callTools, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { ask, handleOf, reaches } from './asking';
import { expectInvariants, ofType, requestsOf, scenes, story, textOf, thrownBy } from './scenes';

const { script, scene } = scenes();
const ran: string[] = [];
const act = defineTool({
  name: 'act',
  description: 'Acts.',
  input: z.object({}),
  effect: 'keyed',
  approval: 'always',
  execute(_, { threadId }) {
    ran.push(threadId);
    return 'done';
  },
});
const agent = defineAgent({ name: 'talker', model: 'test-model', instructions: 'Talk.', tools: [act], threadLimits: { turns: 3 } });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true });
});

const echo = ({ messages }: ScriptRequest) => say(`You said: ${textOf(messages.findLast((m) => m.role === 'user'))}`);
const ended = (thread: Thread) =>
  until(
    () => handleOf(thread).describe(),
    ({ status }) => status.name !== 'RUNNING',
  );
/** A conversation that has had one run and is closed. */
async function closed(replies: Reply[] | ((request: ScriptRequest) => Reply) = echo, idleTimeoutMs?: number) {
  const input = scene(replies);
  const thread = await rig.client.start(agent, input, { mode: 'conversation', ...(idleTimeoutMs && { idleTimeoutMs }) });
  await story(thread);
  if (!idleTimeoutMs) await thread.close({ id: 'close-1' });
  const { runId } = await ended(thread);
  return { input, thread, execution: runId };
}
const readAll = async (thread: Thread, from = 1) => (await collect(thread.events({ from, live: false }))).filter(isDurable);

test.each([
  ['was closed on request', undefined],
  ['closed after its idle timeout', 2_000],
])('a conversation that %s is reopened under its id, with its context, and its events continue without a gap', async (_, idleMs) => {
  const { input, thread } = await closed(echo, idleMs);
  const before = await readAll(thread);
  expect(before.at(-1)?.type).toBe('thread.closed');

  const reopened = await rig.client.reopen(thread.id, { by: 'dana', reason: 'one more question' });
  expect(reopened.id).toBe(thread.id);
  expect(await thread.status()).toMatchObject({ status: 'idle', closed: false, mode: 'conversation' });
  const { seq } = await thread.send('Again');
  const told = await until(
    () => readAll(thread),
    (events) => ofType(events, 'thread.run.completed').length === 2,
  );
  expect(told.slice(0, before.length)).toEqual(before);
  expect(told[before.length]).toMatchObject({ type: 'thread.reopened', data: { by: 'dana', reason: 'one more question' } });
  expectInvariants(told, await thread.messages(), thread.id);
  expect(await readAll(thread, seq)).toEqual(told.slice(seq - 1));
  // The model sees the conversation from its beginning.
  expect(requestsOf(rig, input)[1]?.body.messages.map(textOf).slice(1)).toEqual([input, `You said: ${input}`, 'Again']);
  expect(await thread.result()).toMatchObject({ output: 'You said: Again', thread: { runs: 2 } });
  expect(ofType(told, 'agent.run.created')).toHaveLength(2);

  await thread.close();
  await ended(thread);
  expect((await readAll(thread)).slice(0, told.length)).toEqual(told);
  expect(await thread.result()).toMatchObject({ output: 'You said: Again', thread: { runs: 2 } });
});

test('a reopened conversation keeps what it has spent, and the requests that it has carried out', async () => {
  const { thread } = await closed();
  const usage = await thread.usage();
  await rig.client.reopen(thread.id);
  expect(await thread.usage()).toEqual(usage);
  // The same request again is answered as before, and closes nothing.
  await thread.close({ id: 'close-1' });
  expect((await thread.status()).closed).toBe(false);
  await thread.send('Two');
  await reaches(thread, 'idle');
  await thread.send('Three');
  await until(
    async () => ({ ...(await thread.status()), runs: (await thread.usage()).runs }),
    ({ status, runs }) => status === 'idle' && runs === 3,
  );
  await thread.send('Four');
  const told = await until(
    () => readAll(thread),
    (events) => ofType(events, 'thread.run.incomplete').length === 1,
  );
  expect(ofType(told, 'thread.run.incomplete')[0]?.data).toMatchObject({ limit: 'turns', max: 3, scope: 'thread' });
  await thread.close();
});

test('it can be reopened again and again, also by several clients at the same time, and after a cancellation in Temporal', async () => {
  const { thread } = await closed();
  await Promise.all([1, 2, 3].map(() => rig.client.reopen(thread.id)));
  expect(ofType(await readAll(thread), 'thread.reopened')).toHaveLength(1);
  // Of an open conversation nothing changes.
  await rig.client.reopen(thread.id);
  await thread.close();
  await rig.client.reopen(thread.id);
  // Temporal's own cancellation closes it, too.
  await handleOf(thread).cancel();
  expect((await ended(thread)).status.name).toBe('CANCELLED');
  await rig.client.reopen(thread.id);
  await thread.send('Still there?');
  const told = await until(
    () => readAll(thread),
    (events) => ofType(events, 'thread.run.completed').length === 2,
  );
  expect(ofType(told, 'thread.reopened')).toHaveLength(3);
  expect(ofType(told, 'thread.closed')).toHaveLength(3);
  expectInvariants(told, await thread.messages(), thread.id);
  await thread.close();
});

test('a call of a reopened conversation waits for its own approval', async () => {
  const call = callTools([{ name: 'act', args: {}, id: 'call_1' }]);
  const { thread } = await closed(({ messages }) => (textOf(messages.at(-1)) === 'Do it' ? call : say('Hello.')));
  await rig.client.reopen(thread.id);
  expect(await thrownBy(thread.approve('call_1'))).toMatchObject({ refusal: 'not-waiting' });
  await thread.send('Do it');
  await reaches(thread, 'requires_action', 1);
  expect(ran).not.toContain(thread.id);
  await thread.approve('call_1');
  await reaches(thread, 'idle');
  expect(ran).toContain(thread.id);
  await thread.close();
});

test('send to a closed conversation says how it is reopened', async () => {
  const { thread } = await closed();
  expect(await thrownBy(thread.send('Hello?'))).toMatchObject({
    code: 'thread-closed',
    message: expect.stringContaining(`longhaul reopen ${thread.id}`),
  });
});

test('what can not be reopened is refused with the reason, and stays as it was', async () => {
  const once = await rig.client.start(agent, scene([say('done')]));
  await once.result();
  expect(await thrownBy(rig.client.reopen(once.id))).toMatchObject({
    code: 'not-reopenable',
    message: expect.stringContaining('not a conversation'),
  });
  const killed = await rig.client.start(agent, scene(echo), { mode: 'conversation' });
  await story(killed);
  await handleOf(killed).terminate();
  expect(await thrownBy(rig.client.reopen(killed.id))).toMatchObject({
    code: 'not-reopenable',
    message: expect.stringContaining('TERMINATED'),
  });
  expect(await thrownBy(rig.client.reopen('no such thread'))).toMatchObject({ code: 'thread-not-found' });
  expect((await once.result()).output).toBe('done');
});

const startReopening = (thread: Thread, execution: string) =>
  rig.client.temporal.workflow.start(workflowType, {
    workflowId: thread.id,
    taskQueue: rig.taskQueue,
    args: [{ agent: 'talker', input: '(reopened)', mode: 'conversation', reopens: { execution } }],
    memo: { reopens: execution },
  });

test('a client that is slow to reopen an execution reopens what another one has reopened and closed since', async () => {
  const { thread, execution } = await closed();
  await rig.client.reopen(thread.id);
  await thread.send('In between');
  await until(
    () => thread.messages(),
    (messages) => messages.length === 4,
  );
  await thread.close();
  await ended(thread);
  await startReopening(thread, execution);
  await reaches(thread, 'idle');
  expect((await thread.messages()).map(({ content }) => textOf({ role: 'user', content: content as string }))).toContain('In between');
  const events = await readAll(thread);
  expect(ofType(events, 'thread.reopened')).toHaveLength(2);
  expectInvariants(events, await thread.messages(), thread.id);
  await thread.close();
});

test('a conversation whose reopening was cancelled or terminated can be reopened', async () => {
  const { thread, execution } = await closed();
  const [worker] = rig.workers;
  await worker?.stop();
  const reopening = await startReopening(thread, execution);
  await reopening.cancel();
  await rig.addWorker();
  expect((await ended(thread)).status.name).toBe('CANCELLED');
  await rig.client.reopen(thread.id);
  await thread.close();
  const last = await ended(thread);
  await rig.workers.at(-1)?.stop();
  const gone = await startReopening(thread, last.runId);
  await gone.terminate();
  await rig.addWorker();
  await rig.client.reopen(thread.id);
  await thread.send('Still there?');
  await until(
    () => thread.messages(),
    (messages) => messages.length === 4,
  );
  await thread.close();
});

test('a workflow that is started with the id of an execution takes in only a closed conversation of its own thread', async () => {
  const { thread, execution } = await closed();
  const forge = (workflowId: string, reopens: unknown) =>
    rig.client.temporal.workflow.start(workflowType, {
      workflowId,
      taskQueue: rig.taskQueue,
      args: [{ agent: 'talker', input: 'x', mode: 'conversation', reopens }],
    });
  const other = await forge(`forged-${process.pid}-1`, { execution });
  await expect(other.result()).rejects.toMatchObject({ cause: { cause: { type: 'NotReopenable' } } });
  const malformed = await forge(`forged-${process.pid}-2`, { execution: '', state: {} });
  await expect(malformed.result()).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
  // A one-shot thread is over, whoever starts a workflow with its id.
  const once = await rig.client.start(agent, scene([say('done')]));
  await once.result();
  const { runId } = await handleOf(once).describe();
  const again = await forge(once.id, { execution: runId });
  await expect(again.result()).rejects.toMatchObject({ cause: { cause: { type: 'NotReopenable' } } });
  await rig.client.reopen(thread.id);
  await ask(thread, 'close');
});
