import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { DurableEvent } from '../../src/core/event';
import { defineHooks, type HookDefinitions, type HooksOptions } from '../../src/hooks';
import { callTools, fail, type Reply, type ScriptedCall, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { logOf } from './asking';
import { gate, ofType, requestsOf, scenes, story, textOf, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const ran: { threadId: string; args: unknown }[] = [];
const note = defineTool({
  name: 'note',
  description: 'Notes.',
  input: z.object({ text: z.string() }),
  effect: 'pure',
  execute({ text }, ctx) {
    ran.push({ threadId: ctx.threadId, args: { text } });
    return `noted ${text} (${ran.filter(({ threadId }) => threadId === ctx.threadId).length})`;
  },
});
const order = defineTool({
  name: 'order',
  description: 'Orders, once.',
  input: z.object({ text: z.string() }),
  effect: 'once',
  timeoutMs: 300,
  execute({ text }, ctx) {
    ran.push({ threadId: ctx.threadId, args: { text } });
    return text === 'hangs' ? new Promise(() => undefined) : `ordered ${text}`;
  },
});
const bill = defineTool({
  name: 'bill',
  description: 'Bills, by key.',
  input: z.object({ text: z.string() }),
  effect: 'keyed',
  execute(_, ctx) {
    ran.push({ threadId: ctx.threadId, args: ctx.idempotencyKey });
    return 'billed';
  },
});
const wait = defineTool({ name: 'wait', description: 'Waits for a person.', input: z.object({}), approval: 'always', execute: () => 'ok' });

/** What hooks were called with, by thread. */
const seen: { threadId: string; hook: string; [key: string]: unknown }[] = [];
const seenIn = (thread: Thread, hook: string) => seen.filter((one) => one.threadId === thread.id && one.hook === hook);
const delivered = new Map<string, DurableEvent[]>();
const held = gate();
const heldForCancel = gate();

function hooked(name: string, definitions: HookDefinitions, options: object = {}, hooksOptions: HooksOptions = {}) {
  const hooks = defineHooks(definitions, hooksOptions);
  return defineAgent({ name, model: 'test-model', instructions: 'Help.', tools: [note, wait, order, bill], hooks, ...options });
}

const agents = [
  hooked('watched', {
    'before:execution': (input, ctx) => void seen.push({ threadId: ctx.threadId, hook: ctx.hook, input, runId: ctx.runId, turn: ctx.turn }),
    'after:execution': (input, ctx) => void seen.push({ threadId: ctx.threadId, hook: ctx.hook, input }),
    'before:llm': async (_, ctx) => {
      seen.push({ threadId: ctx.threadId, hook: ctx.hook, turn: ctx.turn, messages: await ctx.messages() });
      return undefined;
    },
    'after:llm': (input, ctx) => void seen.push({ threadId: ctx.threadId, hook: ctx.hook, input }),
    'before:tool': () => null,
    'after:tool': () => undefined,
    'approve:tool': () => undefined,
    'check:completion': () => undefined,
  }),
  hooked('opener', { 'before:execution': { run: ({ messages }) => ({ messages: [`There were ${messages.length}.`] }) } }),
  hooked('ordered', {
    'before:llm': [
      (_, ctx) => ({ instructions: 'One.', settings: { temperature: 0.1, maxTokens: 10 }, ...(ctx.turn < 0 && { skip: true }) }),
      (_, ctx) => ({ settings: { ...ctx.answer.settings, temperature: 0.2 }, model: 'other-model' }),
    ],
  }),
  hooked('skipping', { 'before:llm': (_, ctx) => (ctx.turn > 1 ? { skip: true } : undefined) }),
  hooked('mocking', {
    'before:tool': ({ call }) => {
      const { text } = JSON.parse(call.arguments);
      if (text === 'zero') return { skip: true, mockResult: 0 };
      if (text === 'false') return { skip: true, mockResult: false };
      if (text === 'nothing') return { skip: true };
      if (text === 'words') return { skip: true, mockResult: 'MOCK' };
      if (text === 'other') return { args: { text: 'another' } };
      if (text === 'bad') return { args: { text: 7 } };
      return undefined;
    },
  }),
  hooked('editing', { 'after:tool': ({ content }) => ({ content: { was: content, seen: false } }) }),
  hooked('retrying', { 'after:tool': ({ content }) => (String(content).endsWith('(2)') ? undefined : { retry: true }) }),
  hooked('insisting', { 'after:tool': () => ({ retry: true }) }),
  hooked('rewording', { 'after:llm': ({ text }) => ({ text: text.replace(/secret/g, '***') }) }),
  hooked('keeping', { 'after:llm': ({ text }) => (text.includes('secret') ? { block: 'it is a secret' } : undefined) }),
  ...(['before:execution', 'before:llm', 'after:llm', 'before:tool', 'after:tool'] as const).map((name) =>
    hooked(`blocks-${name.replace(':', '-')}`, { [name]: () => ({ block: `no ${name}` }) }),
  ),
  hooked('withholds', {
    'after:tool': { failure: 'fail', run: ({ content }) => (/leak/.test(String(content)) ? { block: 'a leak' } : undefined) },
  }),
  ...(['fail', 'warn', 'ignore'] as const).map((failure) =>
    hooked(`mode-${failure}`, {
      'before:llm': {
        id: 'broken',
        failure,
        run() {
          throw new Error('the hook broke');
        },
      },
    }),
  ),
  hooked(
    'failing-often',
    {
      'before:llm': [
        {
          id: 'broken',
          run(_, ctx) {
            seen.push({ threadId: ctx.threadId, hook: 'broken' });
            throw new Error('the hook broke');
          },
        },
        { id: 'whole', run: (_, ctx) => void seen.push({ threadId: ctx.threadId, hook: 'whole' }) },
      ],
    },
    { hookErrors: 2 },
  ),
  hooked('listening', {
    'on:event': async (_, ctx) => {
      delivered.set(ctx.threadId, [...(delivered.get(ctx.threadId) ?? []), ...(await ctx.events())]);
    },
  }),
  ...(['fail', 'warn'] as const).map((failure) =>
    hooked(`listening-${failure}`, {
      'on:event': {
        failure,
        run(_, ctx) {
          seen.push({ threadId: ctx.threadId, hook: ctx.hook });
          throw new Error('the store is away');
        },
      },
    }),
  ),
  hooked('slow-listener', {
    'on:event': async (_, ctx) => {
      const events = await ctx.events();
      if (events.some(({ type }) => type === 'thread.message.completed') && !seen.some((one) => one.threadId === ctx.threadId)) {
        seen.push({ threadId: ctx.threadId, hook: ctx.hook });
        await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('aborted'))));
      }
      delivered.set(ctx.threadId, [...(delivered.get(ctx.threadId) ?? []), ...events]);
    },
  }),
  hooked('unsure', { 'check:completion': ({ output }) => (output === 'done' ? { prompt: 'Really?' } : undefined) }),
  hooked('compacting', { 'on:compaction': (input, ctx) => void seen.push({ threadId: ctx.threadId, hook: ctx.hook, input }) }),
  hooked('late', { 'after:execution': () => held.opened.then(() => ({})) }),
  hooked('too-late', { 'after:execution': () => heldForCancel.opened.then(() => ({})) }),
];

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents, bus: true });
});

const noting = (text: string, id = `call_${text}`): ScriptedCall => ({ name: 'note', args: { text }, id });
async function begin(agent: string, replies: Reply[], options: { mode?: 'conversation' } = {}) {
  const said = scene(replies);
  const thread = await rig.client.start(agent, said, options);
  return { thread, said, requests: () => requestsOf(rig, said), ran: () => ran.filter((one) => one.threadId === thread.id) };
}
/** A run of one tool call and an answer, to its end. */
async function withNote(agent: string, text: string) {
  const begun = await begin(agent, [callTools([noting(text)]), say('done')]);
  const told = await story(begun.thread);
  return { ...begun, told, result: begun.requests()[1]?.body.messages.at(-1)?.content };
}

test('[A127][A128] hooks run in every run of a conversation; those without an answer change nothing', async () => {
  const { thread, requests } = await begin('watched', [callTools([noting('a')]), say('first'), say('second')], { mode: 'conversation' });
  await story(thread);
  await thread.send('And now?');
  const told = await until(
    () => story(thread),
    (events) => ofType(events, 'thread.run.completed').length === 2,
  );
  const runs = ofType(told, 'agent.run.created').map(({ runId }) => runId);
  expect(seenIn(thread, 'before:execution').map(({ runId }) => runId)).toEqual(runs);
  expect(seenIn(thread, 'before:llm').map(({ turn }) => turn)).toEqual([1, 2, 1]);
  expect(seenIn(thread, 'after:execution').map(({ input }) => input)).toMatchObject([
    { status: 'completed', output: 'first' },
    { status: 'completed', output: 'second' },
  ]);
  expect(requests().map(({ body }) => body.messages.length)).toEqual([2, 4, 6]);
  expect(ofType(told, 'agent.hook.completed').flatMap(({ data }) => [...(data.answered ?? []), ...(data.errors ?? [])])).toEqual([]);
  await thread.close();
});

test.each([['book'], ['hangs']])(
  'a call of a `once` tool is not run again, whatever a hook wants and whatever came of it: %s',
  async (text) => {
    const {
      thread,
      requests,
      ran: did,
    } = await begin('insisting', [callTools([{ name: 'order', args: { text }, id: 'call_o' }]), say('done')]);
    const told = await story(thread);
    expect(did()).toHaveLength(1);
    expect(textOf(requests()[1]?.body.messages.at(-1))).toMatch(text === 'hangs' ? /300 ms/ : /^ordered book$/);
    expect(ofType(told, 'agent.hook.completed').map(({ data }) => data)).toMatchObject([
      { hook: 'after:tool', toolCallId: 'call_o', answered: ['retry'], ignored: 'retry: order is a `once` tool, which is never run twice' },
    ]);
    expect((await thread.audit()).entries.filter(({ kind }) => kind === 'hook')).toMatchObject([{ ignored: /never run twice/ }]);
  },
);

test('a call of a `keyed` tool that a hook repeats keeps its idempotency key', async () => {
  const { thread, ran: did } = await begin('insisting', [callTools([{ name: 'bill', args: { text: 'a' }, id: 'call_b' }]), say('done')]);
  const told = await story(thread);
  expect(did()).toHaveLength(3);
  expect(new Set(did().map(({ args }) => args)).size).toBe(1);
  expect(ofType(told, 'agent.hook.completed').map(({ data }) => data.ignored)).toEqual([
    undefined,
    undefined,
    'retry: bill was run 3 times already',
  ]);
});

test('a hook gets the input of the run and the answer of the model, and reads the transcript at its step', async () => {
  const { thread, said } = await begin('watched', [callTools([noting('a')], 'I note it.'), say('done')]);
  await story(thread);
  expect(seenIn(thread, 'before:execution')[0]?.input).toMatchObject({ messages: [{ role: 'user', content: said }] });
  expect(seenIn(thread, 'after:llm').map(({ input }) => input)).toMatchObject([
    { text: 'I note it.', toolCalls: [{ name: 'note', arguments: '{"text":"a"}' }], finishReason: 'tool_calls' },
    { text: 'done', toolCalls: [], finishReason: 'stop' },
  ]);
  const transcripts = seenIn(thread, 'before:llm').map(({ messages }) => (messages as { role: string }[]).map(({ role }) => role));
  expect(transcripts).toEqual([['user'], ['user', 'assistant', 'tool']]);
});

test('before:execution runs once per run, also in one of many turns, and its messages are added to the input of the run', async () => {
  const { thread, requests } = await begin('opener', [callTools([noting('a')]), callTools([noting('b', 'call_b')]), say('done')]);
  const told = await story(thread);
  expect(requests()[0]?.body.messages.map(textOf).slice(2)).toEqual(['There were 1.']);
  expect(requests()).toHaveLength(3);
  expect(ofType(told, 'agent.hook.completed').map(({ data }) => [data.hook, data.answered])).toEqual([['before:execution', ['messages']]]);
});

test('[A121][A129] changes by hooks before a model call are on the wire, the later over the earlier, at every call', async () => {
  const { thread, requests } = await begin('ordered', [callTools([noting('a')]), say('done')]);
  const told = await story(thread);
  for (const { body } of requests()) {
    expect(body).toMatchObject({ model: 'other-model', temperature: 0.2 });
    expect(body.max_completion_tokens ?? body.max_tokens).toBe(10);
    expect(textOf(body.messages[0])).toBe('Help.\n\nOne.');
  }
  expect(requests()).toHaveLength(2);
  expect(ofType(told, 'thread.message.completed').map(({ data }) => data.model)).toEqual(['other-model', 'other-model']);
  expect(ofType(told, 'agent.hook.completed')[0]?.data.answered?.sort()).toEqual(['instructions', 'model', 'settings']);
});

test('[A130] a hook that skips a model call fails the run, and the call is not made', async () => {
  const { thread, told, requests } = await withNote('skipping', 'a');
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'llm_call_skipped', message: 'LLM call skipped by hook' } });
  expect(requests()).toHaveLength(1);
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed', message: 'LLM call skipped by hook' });
});

test.each([
  ['zero', '0'],
  ['false', 'false'],
  ['nothing', 'null'],
  ['words', 'MOCK'],
])('[A131] a call that a hook skips has its result and is not run: %s', async (text, expected) => {
  const { told, result, ran: did } = await withNote('mocking', text);
  expect(result).toBe(expected);
  expect(did()).toEqual([]);
  expect(typesOf(told)).not.toContain('agent.tool.execution.started');
  expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'success', output: expected });
  expect(ofType(told, 'agent.hook.completed')[0]?.data).toMatchObject({ hook: 'before:tool', toolCallId: `call_${text}` });
  expect(told.at(-1)?.type).toBe('thread.run.completed');
});

test('[A132] a call runs with the arguments that a hook changed; arguments that do not match the schema are refused', async () => {
  const { told, ran: did, result, thread } = await withNote('mocking', 'other');
  expect(did()).toEqual([{ threadId: thread.id, args: { text: 'another' } }]);
  expect(result).toMatch(/A hook edited the arguments.*another[\s\S]*noted another/);
  expect(ofType(told, 'agent.hook.completed')[0]?.data.answered).toEqual(['args']);
  const bad = await withNote('mocking', 'bad');
  expect(bad.ran()).toEqual([]);
  expect(ofType(bad.told, 'agent.tool.execution.completed')[0]?.data.status).toBe('rejected');
});

test('[A133] the model gets a result that a hook changed, even from a worker that has the original in its cache', async () => {
  const { thread, result, told } = await withNote('editing', 'a');
  expect(result).toBe('{"was":"noted a (1)","seen":false}');
  expect(ofType(told, 'agent.tool.execution.completed')[0]?.data.output).toBe(result);
  expect((await thread.messages())[2]).toMatchObject({ role: 'tool', content: result });
});

test('[A136] a call runs again if a hook requests it, at most twice', async () => {
  const { result, ran: did, told } = await withNote('retrying', 'a');
  expect(did()).toHaveLength(2);
  expect(result).toBe('noted a (2)');
  expect(ofType(told, 'agent.tool.execution.completed')).toHaveLength(1);
  const insisting = await withNote('insisting', 'a');
  expect(insisting.ran()).toHaveLength(3);
  expect(insisting.result).toBe('noted a (3)');
});

test('text with which a hook replaced that of the model is kept and sent from then on', async () => {
  const { thread, requests } = await begin('rewording', [callTools([noting('a')], 'The secret is out.'), say('No secret.')]);
  const told = await story(thread);
  const content = ofType(told, 'thread.message.completed')[0]?.data.message.content;
  expect(content).toMatchObject([{ type: 'text', text: 'The *** is out.' }, { type: 'tool-call' }]);
  expect(textOf(requests()[1]?.body.messages[2])).toBe('The *** is out.');
  expect(told.at(-1)).toMatchObject({ data: { output: 'No ***.' } });
  expect(JSON.stringify([told, await thread.messages()])).not.toContain('secret');
});

test.each([['before:execution'], ['before:llm'], ['after:llm'], ['before:tool'], ['after:tool']])(
  'a hook of %s that blocks ends the run with its words, and no call is left open',
  async (name) => {
    const { thread, told } = await withNote(`blocks-${name.replace(':', '-')}`, 'a');
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'blocked_by_hook', message: `no ${name}` } });
    expect(await thrownBy(thread.result())).toMatchObject({ runCode: 'blocked_by_hook' });
    if (name === 'after:llm') expect(ofType(told, 'thread.message.incomplete')).toHaveLength(1);
  },
);

test('closing words at a limit, or before a suspension, pass through hooks like any other answer', async () => {
  const atLimit = { limits: { turns: 1 }, atLimit: 'summarize' as const };
  const sumUp = async (agent: string) => {
    const said = scene(({ body }) => (body.tools ? callTools([noting('a')]) : say('The secret is out.')));
    const thread = await rig.client.start(agent, said, atLimit);
    return { told: await story(thread), requests: requestsOf(rig, said) };
  };
  const [reworded, blocked, asked] = await Promise.all([sumUp('rewording'), sumUp('keeping'), sumUp('ordered')]);
  expect(ofType(reworded.told, 'agent.run.summarized')[0]?.data.output).toBe('The *** is out.');
  expect(reworded.told.at(-1)).toMatchObject({
    type: 'thread.run.incomplete',
    data: { output: '[Max Iterations Reached] The *** is out.' },
  });
  expect(ofType(blocked.told, 'agent.run.summarized')[0]?.data).toMatchObject({
    output: expect.stringContaining('could not be made'),
    failed: 'it is a secret',
    usage: { outputTokens: expect.any(Number) },
  });
  expect(JSON.stringify(blocked.told)).not.toContain('The secret');
  expect(ofType(blocked.told, 'agent.run.summarized')[0]?.data.usage.outputTokens).toBeGreaterThan(0);
  expect(asked.requests[1]?.body).toMatchObject({ model: 'other-model', temperature: 0.2 });
});

test('the next run does not see a result that a hook blocked, either, but is told that the call ran', async () => {
  const { thread, requests } = await begin('withholds', [callTools([noting('leak')]), say('done')], { mode: 'conversation' });
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'blocked_by_hook', message: 'a leak' } });
  await thread.send('And now?');
  await until(
    () => thread.status(),
    ({ status, messages }) => status === 'idle' && messages === 5,
  );
  const [, , , result] = requests()[1]?.body.messages ?? [];
  expect(textOf(result)).toBe('[note has run (success); its result is withheld.]');
  expect(JSON.stringify(requests()[1]?.body.messages.slice(3))).not.toContain('noted leak');
  await thread.close();
});

test('[A126] a failing hook ends the run, is logged, or is ignored, according to its failure mode', async () => {
  const runs = await Promise.all(
    (['fail', 'warn', 'ignore'] as const).map(async (mode) => {
      const { thread, requests } = await begin(`mode-${mode}`, [say('done')]);
      return { told: await story(thread), requests: requests() };
    }),
  );
  const [failed, warned, ignored] = runs;
  expect(failed?.told.at(-1)).toMatchObject({
    type: 'thread.run.failed',
    data: { code: 'HookFailed', message: expect.stringContaining("Hook 'broken' of before:llm failed: the hook broke") },
  });
  expect(failed?.requests).toHaveLength(0);
  expect(warned?.told.at(-1)?.type).toBe('thread.run.completed');
  expect(ofType(warned?.told ?? [], 'agent.hook.completed')[0]?.data.errors).toEqual([
    { id: 'broken', message: 'the hook broke', consecutive: 1 },
  ]);
  expect(ignored?.told.at(-1)?.type).toBe('thread.run.completed');
  expect(JSON.stringify(ignored?.told)).not.toContain('the hook broke');
});

test('[A125] a hook that fails too often in a row is skipped from then on, and the log says when; the others continue to run', async () => {
  const turns = [0, 1, 2].map((n) => callTools([noting(`${n}`, `call_${n}`)]));
  const { thread } = await begin('failing-often', [...turns, say('done')]);
  const told = await story(thread);
  expect(seenIn(thread, 'broken')).toHaveLength(2);
  expect(seenIn(thread, 'whole')).toHaveLength(4);
  const errors = ofType(told, 'agent.hook.completed').flatMap(({ data }) => data.errors ?? []);
  expect(errors).toEqual([
    { id: 'broken', message: 'the hook broke', consecutive: 1 },
    { id: 'broken', message: 'the hook broke', consecutive: 2, disabled: true },
  ]);
});

test('check:completion may send an answer back once, and the run ends with the next answer', async () => {
  const { thread, requests } = await begin('unsure', [say('done'), say('done')]);
  const told = await story(thread);
  expect(requests()).toHaveLength(2);
  expect(textOf(requests()[1]?.body.messages.at(-1))).toBe('Really?');
  expect(told.at(-1)?.type).toBe('thread.run.completed');
});

describe('on:event', () => {
  const twice = [callTools([noting('a')]), say('done')];
  const allOf = (thread: Thread, count: number) =>
    until(
      () => delivered.get(thread.id) ?? [],
      (events) => events.length >= count,
    );

  test('[B188] receives every event of the run, in order, including its end', async () => {
    const { thread } = await begin('listening', twice);
    const told = await story(thread);
    // A message that is reported before its first turn has no step yet.
    expect((await allOf(thread, told.length)).slice(1)).toEqual(told.slice(1));
  });

  test('[B188] receives what happened while the run waits for a person, before it continues', async () => {
    const { thread } = await begin('listening', [callTools([{ name: 'wait', args: {}, id: 'call_w' }]), say('done')]);
    await until(
      () => delivered.get(thread.id) ?? [],
      (events) => events.at(-1)?.type === 'thread.run.requires_action',
    );
    await thread.approve('call_w');
    const told = await story(thread);
    expect((await allOf(thread, told.length)).map(({ seq }) => seq)).toEqual(told.map(({ seq }) => seq));
  });

  test.each([['fail'], ['warn']])('[B188] that fails never fails the run, whatever its failure mode: %s', async (mode) => {
    const { thread } = await begin(`listening-${mode}`, twice);
    await until(
      () => logOf(thread),
      (log) => typesOf(log).includes('thread.run.completed'),
    );
    expect(await thread.result()).toMatchObject({ status: 'completed', output: 'done' });
    expect(seenIn(thread, 'on:event').length).toBeGreaterThan(0);
    const errors = ofType(await logOf(thread), 'agent.hook.completed').flatMap(({ data }) => data.errors ?? []);
    expect(errors[0]).toMatchObject({ id: 'on:event#1', message: 'the store is away' });
  });

  test('[B188] still receives the events that it was processing when a cancel came before the end of the run', async () => {
    const { thread } = await begin('slow-listener', twice);
    await until(
      () => seenIn(thread, 'on:event').length,
      (n) => n === 1,
    );
    await thread.cancel();
    const told = await story(thread);
    expect(told.at(-1)?.type).toBe('thread.run.cancelled');
    await until(
      () => delivered.get(thread.id)?.at(-1)?.type,
      (type) => type === 'thread.run.cancelled',
    );
    const numbers = (delivered.get(thread.id) ?? []).map(({ seq }) => seq);
    expect([...new Set(numbers)]).toEqual(told.map(({ seq }) => seq));
  });
});

test('[B117] each compaction calls its hook: one that the model needed and one that was requested', async () => {
  const tooLong = fail(400, { code: 'context_length_exceeded', message: 'too long' });
  // In the order of the requests: after a compaction the messages no longer tell which turn it is.
  const replies = [
    ...['a', 'b', 'c'].map((text) => callTools([noting(text.repeat(20_000), `call_${text}`)])),
    tooLong,
    say('done'),
    say('x'.repeat(10_000)),
  ];
  const thread = await rig.client.start(
    'compacting',
    scene(() => replies.shift() ?? say('again')),
    { mode: 'conversation' },
  );
  const runsEnded = (runs: number) =>
    until(
      () => story(thread),
      (events) => ofType(events, 'thread.run.completed').length === runs,
    );
  await runsEnded(1);
  await thread.send('And again, at length.');
  await runsEnded(2);
  await thread.compact();
  const told = await runsEnded(3);
  await thread.close();
  const compactions = ofType(told, 'thread.context.compacted').map(({ data }) => data);
  expect(compactions.map(({ reason }) => reason)).toEqual(['context-length', 'requested']);
  expect(seenIn(thread, 'on:compaction').map(({ input }) => input)).toEqual(compactions);
});

test('a message that arrives while the hooks at the end of a run still execute is answered, or refused, but not lost', async () => {
  const { thread } = await begin('late', [say('done')]);
  await until(
    async () => (await thread.status()).turn,
    (turn) => turn === 1,
  );
  await until(
    () => logOf(thread),
    (log) => typesOf(log).includes('thread.message.completed'),
  );
  const { id } = await thread.send('One more thing', { id: 'm-1' });
  held.open();
  const told = await story(thread);
  expect(id).toBe('m-1');
  const fate = told.find(
    (event) =>
      (event.type === 'thread.message.superseded' && event.data.messageId === 'm-1') ||
      (event.type === 'thread.message.created' && event.data.message.id === 'm-1'),
  );
  expect(fate).toBeDefined();
});

test('a cancel that is accepted while the hooks at the end of a run still execute cancels the run', async () => {
  const { thread } = await begin('too-late', [say('done')]);
  await until(
    () => logOf(thread),
    (log) => typesOf(log).includes('thread.message.completed'),
  );
  await thread.cancel({ reason: 'too late?' });
  heldForCancel.open();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'too late?' } });
});
