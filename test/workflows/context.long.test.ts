import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { ContextOptions } from '../../src/agents/context-options';
import type { Thread } from '../../src/client';
import { type Message, noUsage, textOf as textIn, type Usage } from '../../src/core/message';
import { defineHooks } from '../../src/hooks';
import type { ModelProvider } from '../../src/models/model';
import { createModels } from '../../src/models/registry';
import { callTools, fail, hang, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { handleOf, standsStill } from './asking';
import { expectPaired, gate, ofType, requestsOf, scenes, story, summariesOf, textOf } from './scenes';

const { script, scene } = scenes();
const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ chars: z.number(), name: z.string() }),
  effect: 'pure',
  execute: ({ chars, name }) => `${name}: ${'x'.repeat(chars)}`,
});

/** A window of 12,000 tokens, of which 10,000 are for requests: above 8,500 the transcript is shortened. */
const small: ContextOptions = { windowTokens: 12_000, reserveTokens: 2_000 };
const pruning: ContextOptions = { ...small, pruneProtectTokens: 2_500, pruneMinimumTokens: 3_000 };
const summarizing: ContextOptions = { ...small, pruneMinimumTokens: 1_000_000, keepTurns: 1, summaryTokens: 500 };
const agentWith = (name: string, context: ContextOptions | null, more: object = {}) =>
  defineAgent({ name, model: 'test-model', instructions: 'Work.', tools: [read], context, retry: { baseMs: 10, maxAttempts: 2 }, ...more });

const seen: string[] = [];
const guarded = defineHooks({
  'after:llm': ({ text }) => (/secret/.test(text) ? { block: 'It tells a secret.' } : text === '' ? {} : void seen.push(text)),
});
/** Pauses its thread once, in the hook that precedes the model call of a summary. */
const pausing = defineHooks({
  'before:llm': async (_, { threadId }) => {
    const { events } = await handleOf(rig.client.attach(threadId)).query<{ events: { type: string }[] }, [object]>('events', { from: 1 });
    const types = events.map(({ type }) => type);
    if (types.includes('thread.context.compaction.started') && !types.includes('agent.run.paused'))
      await rig.client.attach(threadId).pause();
    return {};
  },
});
const agents = [
  agentWith('pausing', summarizing, { hooks: pausing }),
  agentWith('pruning', pruning),
  agentWith('summarizing', summarizing),
  agentWith('other-model', { ...summarizing, model: 'openai/writer', prompt: 'Only the numbers.' }),
  agentWith('usual', { ...small, pruneMinimumTokens: 1_000_000, windowTokens: 40_000 }),
  agentWith('guarded', summarizing, { hooks: guarded }),
  agentWith('unaware', { pruneMinimumTokens: 1_000_000, keepTurns: 1 }),
  agentWith('manual', { ...summarizing, auto: false }),
  agentWith('never', null),
  agentWith('sliding', { ...small, windowTokens: 100_000, maxMessages: 9, keepMessages: 5 }),
  agentWith('history', { ...summarizing, keepTask: false, keepTurns: 0 }),
  agentWith('dropping', { ...summarizing, ifSummaryFails: 'drop' }),
  agentWith('tiny', { windowTokens: 4_000 }, { instructions: () => 'Be very careful. '.repeat(2_000) }),
];

const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents });
});

const outputs = (body: ScriptRequest['body']) => body.messages.filter(({ role }) => role === 'tool').map(textOf);
const reading = (turn: number, chars = 6_000) => callTools([{ name: 'read', args: { chars, name: `file-${turn}` } }]);

/** Reads one file a turn, `turns` times, and is then done. In the order of the requests: a shortened transcript does not tell the turn. */
function reader(turns: number, summary?: (request: ScriptRequest) => Reply, chars?: number): string {
  let turn = 0;
  return scene(() => (turn++ < turns ? reading(turn, chars) : say('done')), 'Read the files, every one', summary);
}

async function finished(agent: string, input: string, options: object = {}) {
  const thread = await rig.client.start(agent, input, options);
  const told = await story(thread);
  return { thread, told, end: told.at(-1), requests: requestsOf(rig, input).map(({ body }) => body) };
}

/** Waits until a conversation has had so many runs and waits for the next message. */
const idle = (thread: Thread, runs: number) =>
  until(
    async () => ({ ...(await thread.usage()), ...(await thread.status()) }),
    ({ status, runs: made, queued }) => status === 'idle' && made === runs && queued === 0,
  );

/** The largest request, in tokens as the server counts them. */
const largest = (bodies: readonly object[]) => Math.max(...bodies.map((body) => JSON.stringify(body).length / 4));

test('[A156][B95][B97] old outputs are cleared when the window is nearly full, in a run of one instruction, for good, and without a model call', async () => {
  const { told, end, requests, thread } = await finished('pruning', reader(14));
  expect(end).toMatchObject({ type: 'thread.run.completed' });
  const compactions = ofType(told, 'thread.context.compacted').map(({ data }) => data);
  expect(compactions.length).toBeGreaterThanOrEqual(1);
  expect(compactions.length).toBeLessThan(5);
  for (const one of compactions) expect(one).toMatchObject({ reason: 'window', droppedMessages: 0 });
  expect(ofType(told, 'thread.context.compaction.started')).toEqual([]);
  expect(largest(requests)).toBeLessThan(10_000);
  // Once cleared, an output stays so, and the newest ones are whole.
  const clearedAt = requests.map((body) => outputs(body).filter((text) => text === '[Old tool result content cleared]').length);
  expect(clearedAt).toEqual([...clearedAt].sort((a, b) => a - b));
  expect(outputs(requests.at(-1)!).at(-1)).toMatch(/^file-14: x+$/);
  expect(outputs(requests.at(-1)!)).toHaveLength(14);
  // People still read the whole outputs.
  const archived = await thread.messages({ archived: true });
  expect(archived.filter(({ role }) => role === 'tool').map((m) => textIn(m.content as string).length)).toEqual(
    Array.from({ length: 14 }, (_, i) => 6_000 + `file-${i + 1}: `.length),
  );
  expect(ofType(told, 'agent.tool.execution.completed').every(({ data }) => (data.output as string).length > 6_000)).toBe(true);
});

test('[A145][A150][A153][A155][B99][B113][B118] older turns are summarized when the window is nearly full: the task stays verbatim, each summary takes in the one before, and all of it counts', async () => {
  let made = 0;
  const input = reader(30, () => say(`<retain>\n- fact ${++made}\n- fact 1\n</retain>\n<summary>\nSummary ${made}.\n</summary>`));
  const { thread, told, end, requests } = await finished('summarizing', input);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  const summaries = summariesOf(rig, input).map(({ body }) => textOf(body.messages.at(-1)));
  expect(summaries.length).toBeGreaterThanOrEqual(3);
  // No more than one in three turns: after each there is room again.
  expect(summaries.length).toBeLessThan(10);
  expect(largest(requests)).toBeLessThan(10_000);
  for (const body of requests) expect(textOf(body.messages.find(({ role }) => role === 'user'))).toBe(input);
  for (const [i, text] of summaries.entries()) if (i > 0) expect(text).toContain(`Summary ${i}.`);
  const last = requests.at(-1)!;
  expect(textOf(last.messages[2])).toMatch(/^The conversation up to here.*<summary>\nSummary \d+\.\n<\/summary>$/s);
  expect(textOf(last.messages[2]).match(/fact 1\b/g)).toHaveLength(1);
  for (let i = 1; i <= summaries.length; i++) expect(textOf(last.messages[2])).toMatch(new RegExp(`- fact ${i}$`, 'm'));

  const compactions = ofType(told, 'thread.context.compacted').map(({ data }) => data);
  expect(compactions).toHaveLength(summaries.length);
  expect(ofType(told, 'thread.context.compaction.started')).toHaveLength(summaries.length);
  for (const { spent, summary, droppedMessages } of compactions) {
    expect(spent).toMatchObject({ model: 'test-model', usage: { inputTokens: expect.any(Number) } });
    expect(summary).toMatchObject({ role: 'user', origin: 'engine', summary: true });
    expect(droppedMessages).toBeGreaterThan(1);
  }
  const inAll = [
    ...ofType(told, 'thread.message.completed').map(({ data }) => data.usage),
    ...compactions.map(({ spent }) => spent!.usage),
  ];
  const usage = await thread.usage();
  expect(usage.thread.inputTokens).toBe(inAll.reduce((sum, { inputTokens }) => sum + inputTokens, 0));
  expect(usage.metrics.models['test-model']?.calls).toBe(requests.length + summaries.length);

  expectPaired(await thread.messages());
  const archived = await thread.messages({ archived: true });
  expect(archived).toHaveLength(1 + 30 * 2 + 1);
  expectPaired(archived);
  expect(archived.filter(({ role }) => role === 'tool').every((m) => textIn(m.content as string).length > 6_000)).toBe(true);
});

test('a thread that is paused before a summary makes no model call until it is resumed', async () => {
  const input = reader(8);
  const thread = await rig.client.start('pausing', input);
  await until(
    () => thread.isPaused(),
    (is) => is,
  );
  await standsStill(thread);
  expect(summariesOf(rig, input)).toEqual([]);
  await thread.resume();
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
  expect(summariesOf(rig, input).length).toBeGreaterThan(0);
});

test('[B97][B116] a summary can be made by another model, is asked for in the words of the agent, and gets no tools', async () => {
  const input = reader(8);
  await finished('other-model', input);
  const [asked] = summariesOf(rig, input).map(({ body }) => body);
  expect(asked).toMatchObject({ model: 'writer', max_tokens: 500 });
  expect(asked).not.toHaveProperty('tools');
  expect(textOf(asked?.messages.at(-1))).toMatch(/Only the numbers\./);
  expect(asked?.messages).toHaveLength(2);

  const long = reader(30);
  await finished('usual', long);
  expect(summariesOf(rig, long)[0]?.body).toMatchObject({ model: 'test-model', max_tokens: 4_096 });
});

test.each<[string, Reply, RegExp]>([
  ['fails', fail(401, { message: 'no' }), /./],
  ['is empty', say('<summary></summary>'), /empty summary/],
  ['is longer than what it would replace', say(`<summary>${'word '.repeat(10_000)}</summary>`), /not shorter/],
])('[B61][B100][B115] a summary that %s changes nothing, ends nothing, and is not tried again at every turn', async (_, reply, why) => {
  // Outputs of 225 tokens: there are many turns between the threshold and the end of the window.
  const input = reader(36, () => reply, 900);
  const { thread, told, end } = await finished('summarizing', input);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  const kept = ofType(told, 'thread.context.kept').map(({ data }) => data);
  for (const one of kept) expect(one).toMatchObject({ reason: 'window', failed: expect.stringMatching(why) });
  expect(kept.length).toBeGreaterThanOrEqual(1);
  expect(kept.length).toBeLessThanOrEqual(3);
  expect(ofType(told, 'thread.context.compaction.started')).toHaveLength(kept.length);
  expect(ofType(told, 'thread.context.compacted')).toEqual([]);
  expect(await thread.messages()).toHaveLength(1 + 36 * 2 + 1);
});

test('a summary that fails once is tried again later, and its cost counts', async () => {
  let n = 0;
  const input = reader(40, () => (n++ === 0 ? say('<summary></summary>') : say('<summary>better</summary>')), 1_000);
  const { told } = await finished('summarizing', input);
  expect(ofType(told, 'thread.context.kept')[0]?.data.spent?.usage.inputTokens).toBeGreaterThan(5_000);
  expect(ofType(told, 'thread.context.compacted').length).toBeGreaterThanOrEqual(1);
});

test('[B89] a summary is retried as any model call', async () => {
  let n = 0;
  const input = reader(8, () => (n++ === 0 ? fail(500) : say('better')));
  const { told } = await finished('summarizing', input);
  expect(ofType(told, 'thread.context.compacted')[0]?.data).toMatchObject({ spent: { attempts: [{ kind: 'server' }] } });
});

test('[B115] a cancel ends a summary immediately, and the run', async () => {
  const input = reader(8, () => hang());
  const thread = await rig.client.start('summarizing', input);
  const [request] = await until(
    () => summariesOf(rig, input),
    (all) => all.length === 1,
  );
  await thread.cancel();
  expect(await request?.closed).toBe('by-client');
  const told = await story(thread);
  expect(told.at(-1)?.type).toBe('thread.run.cancelled');
  expect(ofType(told, 'thread.context.kept')[0]?.data).toMatchObject({ failed: 'The run was cancelled.' });
});

test('[B100] a limit of tokens that a summary reaches ends the run as any model call does', async () => {
  const tokens = ({ inputTokens, outputTokens }: Usage) => inputTokens + outputTokens;
  const { told: free } = await finished('summarizing', reader(8));
  const until = free.findIndex(({ type }) => type === 'thread.context.compacted');
  const before = ofType(free.slice(0, until), 'thread.message.completed').reduce((sum, { data }) => sum + tokens(data.usage), 0);

  const { told, end } = await finished('summarizing', reader(8), { limits: { tokens: before + 1_000 } });
  expect(end).toMatchObject({ type: 'thread.run.incomplete', data: { limit: 'tokens' } });
  const last = told.findIndex(({ type }) => type === 'thread.context.compacted');
  expect(last).toBeGreaterThan(0);
  expect(told.slice(last).some(({ type }) => type === 'agent.run.step.created')).toBe(false);
});

test('hooks see the text of a summary, and may block it, as that of any answer', async () => {
  await finished(
    'guarded',
    reader(8, () => say('<summary>all is well</summary>')),
  );
  expect(seen).toContain('<summary>all is well</summary>');
  const { told, end } = await finished(
    'guarded',
    reader(8, () => say('<summary>the secret is 42</summary>')),
  );
  expect(ofType(told, 'thread.context.kept')[0]?.data).toMatchObject({ failed: 'It tells a secret.' });
  expect(end).toMatchObject({ type: 'thread.run.completed' });
});

describe('when the provider rejects the transcript as too long', () => {
  const tooLong = fail(400, { code: 'context_length_exceeded', message: 'too long' });
  const within = (chars: number, reply: () => Reply) => (request: ScriptRequest) =>
    JSON.stringify(request.body).length > chars ? tooLong : reply();

  test('older turns are summarized and the call is repeated, although nothing is known about the window', async () => {
    let turn = 0;
    const next = within(30_000, () => (turn++ < 12 ? reading(turn) : say('done')));
    const input = scene(
      next,
      'Read on',
      within(30_000, () => say('<summary>Read some.</summary>')),
    );
    const { told, end, requests } = await finished('unaware', input);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    const reasons = ofType(told, 'thread.context.compacted').map(({ data }) => data.reason);
    expect(reasons.length).toBeGreaterThanOrEqual(2);
    expect(new Set(reasons)).toEqual(new Set(['context-length']));
    expect(ofType(told, 'thread.context.kept')).toEqual([]);
    expect(textOf(requests.at(-1)?.messages[1])).toBe(input);
  });

  test('a count of tokens that is wrong by half is corrected: what the model summarizes is halved too', async () => {
    let turn = 0;
    // 12,000 tokens are said to fit, and only 5,000 do.
    const next = within(20_000, () => (turn++ < 12 ? reading(turn) : say('done')));
    const input = scene(
      next,
      'Read half',
      within(13_000, () => say('<summary>Read some.</summary>')),
    );
    const { told, end } = await finished('summarizing', input);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(ofType(told, 'thread.context.compacted')[0]?.data).toMatchObject({ reason: 'context-length', summary: expect.anything() });
  });

  test('[A152] the oldest messages are dropped if the summary fails', async () => {
    let turn = 0;
    const next = within(30_000, () => (turn++ < 8 ? reading(turn) : say('done')));
    const { told, end } = await finished(
      'unaware',
      scene(next, 'Read or drop', () => fail(401)),
    );
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(ofType(told, 'thread.context.kept')[0]?.data).toMatchObject({ reason: 'context-length' });
    expect(ofType(told, 'thread.context.compacted')[0]?.data).not.toHaveProperty('summary');
  });

  test('a message that arrives during the rejected call waits for the next turn, however long it is', async () => {
    const held = gate();
    let asked = 0;
    const input = scene(async (request) => {
      asked += 1;
      if (asked === 2) await held.opened;
      return within(30_000, () => say('done'))(request);
    });
    const thread = await rig.client.start('unaware', input, { mode: 'conversation' });
    await idle(thread, 1);
    await thread.send(`long ${'x'.repeat(50_000)}`);
    await until(
      () => asked,
      (count) => count === 2,
    );
    await thread.send(`late ${'y'.repeat(60_000)}`);
    held.open();
    await until(
      async () => ({ ...(await thread.usage()), ...(await thread.status()) }),
      ({ status, queued }) => status === 'idle' && queued === 0,
    );
    await thread.close();
    const told = await story(thread);
    expect(ofType(told, 'thread.run.completed')).toHaveLength(2);
    const order = told.flatMap((event) => {
      if (event.type === 'thread.message.completed') return ['answer'];
      const isUser = event.type === 'thread.message.created' && event.data.message.role === 'user';
      return isUser ? [textIn(event.data.message.content).slice(0, 4)] : [];
    });
    expect(order).toEqual(['scen', 'answer', 'long', 'answer', 'late', 'answer']);
  });

  test('a message that does not fit by itself fails the run', async () => {
    const { end } = await finished('unaware', scene([tooLong]));
    expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'context-length' } });
  });

  test('[B108] nothing is shortened for an agent whose context is null, and the run fails', async () => {
    const next = ({ turn }: ScriptRequest) => (turn < 3 ? reading(turn) : tooLong);
    const { told, end } = await finished('never', scene(next));
    expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'context-length' } });
    expect(ofType(told, 'thread.context.compacted')).toEqual([]);
    const thread = await rig.client.start('never', reader(2), { mode: 'conversation' });
    await idle(thread, 1);
    await thread.compact();
    await idle(thread, 2);
    await thread.close();
    const events = await story(thread);
    expect(ofType(events, 'thread.context.kept')).toHaveLength(1);
    expect(ofType(events, 'thread.context.compaction.started')).toEqual([]);
  });
});

describe('a request that would exceed the window is never sent, although no summary can be made', () => {
  const failing = () => fail(401, { message: 'no' });

  test('outputs that arrive together are cut, even if settings forbid clearing', async () => {
    const both = ['left', 'right'].map((name) => ({ name: 'read', args: { chars: 45_000, name } }));
    const { end, told, requests } = await finished('summarizing', scene([callTools(both), say('done')], 'Read both', failing));
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(requests).toHaveLength(2);
    expect(largest(requests)).toBeLessThan(10_000);
    expect(outputs(requests[1]!)).toEqual([
      expect.stringMatching(/^left: x+…\n\[\.\.\. \d+ characters left out/),
      expect.stringMatching(/^right: x+…\n\[\.\.\. \d+ characters left out/),
    ]);
    expect(ofType(told, 'thread.context.compacted').map(({ data }) => data)).toEqual([
      expect.objectContaining({ reason: 'window', prunedOutputs: 2, droppedMessages: 0 }),
    ]);
  });

  test('the oldest turns are dropped if there are no outputs to cut, and the task stays', async () => {
    let turn = 0;
    const talks = () =>
      turn++ < 14 ? callTools([{ name: 'read', args: { chars: 1, name: 'a' } }], `${turn} ${'y'.repeat(6_000)}`) : say('done');
    const input = scene(talks, 'Talk at length', failing);
    const { end, told, requests } = await finished('summarizing', input);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(largest(requests)).toBeLessThan(12_000);
    for (const body of requests) expect(textOf(body.messages[1])).toBe(input);
    expect(ofType(told, 'thread.context.compacted').map(({ data }) => [data.reason, data.droppedMessages > 1])).toContainEqual([
      'window',
      true,
    ]);
  });
});

test('[B108] without `auto` nothing is shortened until someone requests it', async () => {
  const input = reader(8);
  const thread = await rig.client.start('manual', input, { mode: 'conversation' });
  await idle(thread, 1);
  expect(summariesOf(rig, input)).toEqual([]);
  expect(await thread.messages()).toHaveLength(18);
  await thread.compact({ by: 'dana' });
  await idle(thread, 2);
  expect(summariesOf(rig, input)).toHaveLength(1);
  expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'user', 'assistant']);
  await thread.close();
  expect(ofType(await story(thread), 'thread.context.compacted')[0]?.data).toMatchObject({ reason: 'requested', requestedBy: 'dana' });
});

test('instructions and tools that do not fit into the window by themselves fail the run before anything is sent', async () => {
  const input = scene([say('never')]);
  const { end } = await finished('tiny', input);
  expect(end).toMatchObject({
    type: 'thread.run.failed',
    data: { code: 'window-too-small', message: expect.stringMatching(/instructions \(about \d+ tokens\).*'tiny'.*4000/) },
  });
  expect(requestsOf(rig, input)).toEqual([]);
});

test('what was replaced can be read across continue-as-new, and is not carried over', async () => {
  const away = await startRig({ script, agents, worker: { continueAsNewAfter: { events: 120, bytes: 1_000_000 } } });
  const input = reader(24);
  const thread: Thread = await away.client.start('summarizing', input);
  const told = await story(thread);
  expect(told.at(-1)?.type).toBe('thread.run.completed');
  const { history } = await away.client.temporal.workflow
    .getHandle(thread.id)
    .fetchHistory()
    .then((fetched) => ({ history: fetched }));
  const begun = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  expect(begun?.continuedExecutionRunId).toBeTruthy();
  const archived: Message[] = await thread.messages({ archived: true });
  expect(archived).toHaveLength(1 + 24 * 2 + 1);
  expect(archived.filter(({ role }) => role === 'tool').map((m) => textIn(m.content as string).slice(0, 8))).toEqual(
    Array.from({ length: 24 }, (_, i) => `file-${i + 1}: x`.slice(0, 8)),
  );
  const carried = Buffer.from(begun?.input?.payloads?.[1]?.data ?? []);
  expect(carried.length).toBeLessThan(100_000);
  expect(JSON.parse(carried.toString())).not.toHaveProperty('archived');
});

test.each<[string, (thread: Thread) => Promise<unknown>]>([
  ['awaited', (thread) => thread.result()],
  ['streamed', (thread) => collect(thread.events())],
])(
  '[A142][A143][A145] a sliding window has at most so many messages, begins with the instructions and the task, in a run that is %s',
  async (_, follow) => {
    const input = reader(12, undefined, 10);
    const thread = await rig.client.start('sliding', input);
    await follow(thread);
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    const sent = requestsOf(rig, input).map(({ body }) => body.messages);
    expect(sent.map(({ length }) => length - 1)).toEqual([1, 3, 5, 7, 9, 5, 7, 9, 5, 7, 9, 5, 7]);
    for (const messages of sent) {
      expect(messages.slice(0, 2).map(textOf)).toEqual(['Work.', input]);
      const calls = messages.flatMap(({ tool_calls: made = [] }) => made.map(({ id }) => id));
      expect(messages.filter(({ role }) => role === 'tool').map((message) => message.tool_call_id)).toEqual(calls);
    }
    expect(summariesOf(rig, input)).toEqual([]);
    const slid = ofType(told, 'thread.context.compacted').map(({ data }) => data);
    expect(slid).toHaveLength(3);
    for (const one of slid) expect(one).toMatchObject({ reason: 'messages', droppedMessages: expect.any(Number), prunedOutputs: 0 });
    expect(await thread.messages({ archived: true })).toHaveLength(1 + 12 * 2 + 1);
  },
);

test('[A151] a single message above the threshold is cut, not summarized', async () => {
  const input = scene([say('short enough'), say('again')]);
  const thread = await rig.client.start('summarizing', input, { mode: 'conversation' });
  await idle(thread, 1);
  await thread.send(`begin ${'x'.repeat(50_000)} end`);
  await idle(thread, 2);
  await thread.close();
  const told = await story(thread);
  expect(ofType(told, 'thread.run.completed')).toHaveLength(2);
  expect(summariesOf(rig, input)).toEqual([]);
  expect(ofType(told, 'thread.context.compacted').map(({ data }) => data)).toEqual([
    expect.objectContaining({ reason: 'window', cutMessages: 1, droppedMessages: 0 }),
  ]);
  expect(textOf(requestsOf(rig, input).at(-1)?.body.messages.at(-1))).toMatch(
    /^begin x+…\n\[\.\.\. \d+ characters left out \.\.\.\]\nx+ end$/,
  );
});

test('a message that is large by its images, and an answer by its calls, are not cut for ever', async () => {
  const image = { type: 'image' as const, url: `data:image/png;base64,${onePixel}` };
  const seeing = scene([say('ok'), say('seen')]);
  const thread = await rig.client.start('summarizing', seeing, { mode: 'conversation' });
  await idle(thread, 1);
  await thread.send([{ type: 'text', text: 'x'.repeat(2_100) }, ...Array.from({ length: 9 }, () => image)]);
  await idle(thread, 2);
  await thread.close();
  expect((await story(thread)).filter(({ type }) => type === 'thread.context.compacted').length).toBeLessThan(5);

  const long = callTools([{ name: 'read', args: { chars: 1, name: 'y'.repeat(45_000) } }], 'x'.repeat(2_100));
  const calling = scene([long, say('done')], 'Call', () => fail(401));
  const { told } = await finished('summarizing', calling);
  expect(told.at(-1)?.type).toMatch(/^thread\.run\.(completed|failed)$/);
  expect(ofType(told, 'thread.context.compacted').length).toBeLessThan(5);
});

test('[A152] with `ifSummaryFails`, a summary that fails drops the oldest messages until the rest is below the threshold', async () => {
  const input = reader(9, () => fail(401));
  const { end, told, requests } = await finished('dropping', input);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  const kept = told.findIndex(({ type }) => type === 'thread.context.kept');
  expect(told[kept + 1]).toMatchObject({ type: 'thread.context.compacted', data: { reason: 'window' } });
  expect(largest(requests)).toBeLessThan(8_500 + 1_700);
});

test('[A150][A153] with `keepTask: false`, only the summary and what came after it are sent', async () => {
  const input = reader(3);
  const thread = await rig.client.start('history', input, { mode: 'conversation' });
  await idle(thread, 1);
  await thread.compact();
  await idle(thread, 2);
  await thread.send('What is new');
  await idle(thread, 3);
  await thread.close();
  await story(thread);
  const last = rig.model.requests.filter(({ body }) => textOf(body.messages.at(-1)) === 'What is new').at(-1)?.body.messages;
  expect(last?.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
  expect(textOf(last?.[1])).toMatch(/^The conversation up to here/);
});

test('[A149] below the threshold the transcript is sent as it is, and no summary is requested', async () => {
  const input = reader(4);
  const { requests, thread } = await finished('summarizing', input);
  expect(summariesOf(rig, input)).toEqual([]);
  expect(requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual(
    [0, 1, 2, 3, 4].map((turns) => ['system', 'user', ...Array.from({ length: turns }, () => ['assistant', 'tool']).flat()]),
  );
  for (const [i, { messages }] of requests.entries())
    if (i > 0) expect(messages.slice(0, requests[i - 1]?.messages.length)).toEqual(requests[i - 1]?.messages);
  expect(await thread.messages()).toEqual(await thread.messages({ archived: true }));
});

test('[B131] the context that is left is in the status, and its parts and what would go next can be asked for', async () => {
  const { thread } = await finished('summarizing', reader(4));
  const { contextLeftPercent } = await thread.status();
  const context = await thread.context();
  expect(context).toEqual({
    usedTokens: expect.any(Number),
    windowTokens: 12_000,
    reserveTokens: 2_000,
    leftPercent: contextLeftPercent,
    compactAtTokens: 8_500,
    parts: expect.objectContaining({ summary: 0, instructions: expect.any(Number), tools: expect.any(Number) }),
    next: { kind: 'messages', count: 8, tokens: expect.any(Number) },
  });
  expect(contextLeftPercent).toBe(Math.round((1 - context.usedTokens / 12_000) * 100));
  const { parts, usedTokens } = context;
  expect(parts.outputs).toBeGreaterThan(5_500);
  // The parts are estimates, and together about what the provider counted.
  const sum = Object.values(parts).reduce((all, tokens) => all + tokens, 0);
  expect(Math.abs(sum - usedTokens)).toBeLessThan(usedTokens * 0.1);

  const unknown = await finished('unaware', reader(1));
  expect((await unknown.thread.status()).contextLeftPercent).toBeNull();
  expect(await unknown.thread.context()).toMatchObject({ windowTokens: null, leftPercent: null, compactAtTokens: null });
});

test('[B132] every call of a thread has the same key for the prompt cache, which is its id', async () => {
  const keys: (string | undefined)[] = [];
  const answer = {
    parts: [{ type: 'text' as const, text: 'Hello.' }],
    finishReason: 'stop' as const,
    usage: { ...noUsage, inputTokens: 1 },
  };
  const listening: ModelProvider = {
    async call({ cacheKey }) {
      keys.push(cacheKey);
      return answer;
    },
  };
  const keyed = await startRig({ script, agents, worker: { models: createModels({ openai: listening }) } });
  const thread = await keyed.client.start('unaware', 'Hi', { mode: 'conversation' });
  await idle(thread, 1);
  await thread.send('Again.');
  await idle(thread, 2);
  const long = await keyed.client.start('unaware', 'Hi', { id: 'x'.repeat(200) });
  await long.result();
  expect(keys).toEqual([thread.id, thread.id, expect.stringMatching(/^[0-9a-f]{64}$/)]);
});
