import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { callTools, type ScriptRequest, say, withUsage } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { gate, ofType, requestsOf, roles, scenes, story, textOf, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const note = defineTool({ name: 'note', description: 'Notes.', input: z.object({}), effect: 'pure', execute: () => 'noted' });
const agent = defineAgent({ name: 'talker', model: 'test-model', instructions: 'Talk.', tools: [note] });

let rig: Rig;
beforeAll(async () => {
  const catalog = createModelCatalog({ overrides: { 'openai/test-model': { inputPerMillion: 10, outputPerMillion: 10 } } });
  rig = await startRig({ script, agents: [agent], bus: true, worker: { catalog } });
});

/** Answers with what was said last. */
const echo = ({ messages }: ScriptRequest) => say(`You said: ${textOf(messages.findLast((m) => m.role === 'user'))}`);
const statusOf = async (thread: Thread) => (await rig.client.temporal.workflow.getHandle(thread.id).describe()).status.name;
/** The story once so many runs are over. */
const runs = (thread: Thread, n: number) =>
  until(
    () => story(thread),
    (told) => ofType(told, 'thread.run.completed').length === n,
  );

test('a conversation is idle after its run and takes the next message as a new run, until it is closed', async () => {
  const thread = await rig.client.start(agent, scene(echo), { mode: 'conversation' });
  await story(thread);
  expect(await thread.status()).toMatchObject({ status: 'idle', mode: 'conversation', pending: [] });
  await thread.send('Second');
  const told = await runs(thread, 2);
  expect(ofType(told, 'agent.run.created').map((event) => event.data.initialMessages.map((m) => m.content))).toEqual([
    [expect.stringMatching(/^scene/)],
    ['Second'],
  ]);
  expect(new Set(told.flatMap((event) => event.runId ?? [])).size).toBe(2);
  expect(ofType(told, 'agent.run.step.created').map((event) => event.data.turn)).toEqual([1, 1]);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'You said: Second', thread: { runs: 2 } });
  await thread.close();
  await until(
    () => statusOf(thread),
    (status) => status === 'COMPLETED',
  );
  expect(await thrownBy(thread.send('Third'))).toMatchObject({ code: 'thread-closed' });
  expect(await rig.client.temporal.workflow.getHandle(thread.id).result()).toMatchObject({
    status: 'completed',
    output: 'You said: Second',
    thread: { runs: 2 },
  });
});

test('a result has the turns, tokens and cost of its run, and apart from them the totals of the thread', async () => {
  const usage = { promptTokens: 100, completionTokens: 10 };
  const again = withUsage(callTools([{ name: 'note', args: {} }]), usage);
  const input = scene(({ turn }) => (turn === 0 ? again : withUsage(say('done'), usage)));
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await story(thread);
  await thread.send('Second');
  const ended = ofType(await runs(thread, 2), 'thread.run.completed');
  const open = await thread.result();
  expect(open).toMatchObject({
    runId: ended[1]?.runId,
    turns: 1,
    usage: { inputTokens: 100, outputTokens: 10 },
    costUsd: expect.closeTo(0.0011, 6),
    thread: { runs: 2, turns: 3, usage: { inputTokens: 300, outputTokens: 30 }, costUsd: expect.closeTo(0.0033, 6) },
  });
  expect(await thread.usage()).toMatchObject({ runId: ended[1]?.runId, runs: 2, spent: { run: { turns: 1 }, thread: { turns: 3 } } });
  await thread.close();
  await until(
    () => statusOf(thread),
    (status) => status === 'COMPLETED',
  );
  expect(await thread.result()).toEqual(open);
});

test('[A7] a message in the middle of a run is taken in before its next model call', async () => {
  const held = gate();
  const input = scene(async ({ turn, messages }) => {
    if (turn === 0) await held.opened;
    return turn === 0 ? callTools([{ name: 'note', args: {} }]) : say(`heard ${textOf(messages.at(-1))}`);
  });
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await thread.send('and be quick');
  held.open();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'heard and be quick' } });
  expect(requestsOf(rig, input)[1]?.body.messages.map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
  expect(typesOf(told).indexOf('thread.message.queued')).toBeLessThan(typesOf(told).indexOf('thread.message.completed'));
});

test('a message that arrives during the final answer of the model is answered by the same run', async () => {
  const held = gate();
  const input = scene(async (request) => {
    if (request.turn === 0) await held.opened;
    return echo(request);
  });
  const thread = await rig.client.start(agent, input);
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await thread.send('one more thing');
  held.open();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'You said: one more thing', turns: 2 } });
  expect(roles(await thread.messages())).toEqual(['user', 'assistant', 'user', 'assistant']);
});

test('[A220][B186] messages sent concurrently to a busy thread are queued, each taken in once, in the order of their acceptance', async () => {
  const held = gate();
  const input = scene(async (request) => {
    if (request.n >= 0 && request.turn === 0) await held.opened;
    return echo(request);
  });
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await Promise.all([1, 2, 3, 4, 5].map((n) => thread.send(`message ${n}`)));
  expect(await thread.status()).toMatchObject({ queued: 5, status: 'in_progress' });
  held.open();
  const told = await until(
    () => story(thread),
    (events) => events.at(-1)?.type === 'thread.run.completed',
  );
  const queued = ofType(told, 'thread.message.queued').map((event) => event.data.message.content);
  const said = (await thread.messages()).filter((m) => m.role === 'user').map((m) => m.content);
  expect(said).toEqual([input, ...queued]);
  expect([...queued].sort()).toEqual([1, 2, 3, 4, 5].map((n) => `message ${n}`));
  await thread.close();
});

test('[A220] threads of one agent run concurrently and share nothing', async () => {
  const inputs = Array.from({ length: 8 }, () =>
    scene(({ turn, input }) => (turn === 0 ? callTools([{ name: 'note', args: {} }]) : say(`for ${input}`))),
  );
  const threads = await Promise.all(inputs.map((input) => rig.client.start(agent, input)));
  const results = await Promise.all(threads.map((thread) => thread.result()));
  expect(results.map((result) => result.output)).toEqual(inputs.map((input) => `for ${input}`));
  for (const thread of threads) await story(thread);
});

test('a message with an id is taken in exactly once, however often it is sent', async () => {
  const thread = await rig.client.start(agent, scene(echo), { mode: 'conversation' });
  await story(thread);
  await Promise.all([thread.send('Only once', { id: 'msg-7' }), thread.send('Only once', { id: 'msg-7' })]);
  await runs(thread, 2);
  await thread.send('Only once', { id: 'msg-7' });
  await rig.client.temporal.workflow.getHandle(thread.id).signal('sendMessage', { input: 'Only once', id: 'msg-7' });
  const told = await runs(thread, 2);
  expect(ofType(told, 'thread.message.queued')).toHaveLength(1);
  expect((await thread.messages()).filter((m) => m.id === 'msg-7')).toHaveLength(1);
  await thread.close();
});

test('a close in the middle of a run lets it finish', async () => {
  const held = gate();
  const input = scene(() => held.opened.then(() => say('the end')));
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await thread.close();
  expect(await thrownBy(thread.close())).toMatchObject({ code: 'request-refused', message: expect.stringContaining('closed already') });
  expect(await thrownBy(thread.send('more'))).toMatchObject({ code: 'thread-closed' });
  held.open();
  await until(
    () => statusOf(thread),
    (status) => status === 'COMPLETED',
  );
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'the end' } });
});

test('a conversation closes when no message arrives within its idle timeout, and not before', async () => {
  const thread = await rig.client.start(agent, scene(echo), { mode: 'conversation', idleTimeoutMs: 5_000 });
  await story(thread);
  await thread.send('still here');
  const told = await runs(thread, 2);
  await until(
    () => statusOf(thread),
    (status) => status === 'COMPLETED',
  );
  const { events } = (await rig.client.temporal.workflow.getHandle(thread.id).query('events', {})) as {
    events: { type: string; data: object }[];
  };
  expect(events.length).toBe(told.length + 1);
  expect(events.at(-1)).toMatchObject({ type: 'thread.closed', data: { reason: 'idle' } });
});

test('a one-shot thread can not be closed, only cancelled, and the refusal says so', async () => {
  const held = gate();
  const thread = await rig.client.start(
    agent,
    scene(() => held.opened.then(() => say('ok'))),
  );
  expect(await thrownBy(thread.close())).toMatchObject({ code: 'request-refused', message: expect.stringContaining('use cancel') });
  held.open();
  await story(thread);
});

test('a run that failed does not end its conversation', async () => {
  const input = scene(({ messages }) =>
    textOf(messages.at(-1)) === 'again' ? say('fine') : { kind: 'body', status: 400, headers: {}, body: '{}' },
  );
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.failed' });
  await thread.send('again');
  await runs(thread, 1);
  expect(roles(await thread.messages())).toEqual(['user', 'user', 'assistant']);
  await thread.close();
});
