import fc from 'fast-check';
import type { ContextPolicy } from '../../src/core/agent';
import {
  type ContextMeasure,
  contextLeftPercent,
  defaultReserve,
  isBackingOff,
  isNearlyFull,
  isOverfull,
  isWorthSummary,
  nextBackOff,
  sizesOf,
  usedTokens,
} from '../../src/core/context/budget';
import { bytesOf } from '../../src/core/context/carry';
import { cutMessage, isLong } from '../../src/core/context/cut';
import { divide, isCleared, isSummary, pruneOutputs } from '../../src/core/context/shorten';
import { slide } from '../../src/core/context/slide';
import {
  archivesWith,
  mergeFacts,
  readSummary,
  summaryMessage,
  summaryPrompt,
  transcriptText,
  withSummary,
} from '../../src/core/context/summary';
import { tokensOf } from '../../src/core/context/tokens';
import { contextView } from '../../src/core/context/view';
import type { DurableEvent, DurableEventData } from '../../src/core/event';
import { evolve } from '../../src/core/evolve';
import { type Message, type ToolMessage, textOf, type UserMessage } from '../../src/core/message';
import { newThread, type ThreadState } from '../../src/core/state';
import { answerParts } from '../support/answer-parts';
import { expectPaired } from '../workflows/scenes';

const policy: ContextPolicy = { compactAt: 0.85, auto: true, keepTurns: 3, summaryTokens: 4_096 };
const wide = { room: 168_000, charsPerToken: 4 };

let n = 0;
const said = (text: string): UserMessage => ({ id: `u${++n}`, role: 'user', content: text });
/** A turn with one call whose output has so many tokens, without the 4 of the message. */
function turn(tokens: number, calls = 1): Message[] {
  const made = Array.from({ length: calls }, () => ({ id: `c${++n}`, name: 'read', arguments: '{}' }));
  return [
    { id: `a${++n}`, role: 'assistant', content: answerParts('ok', made), attempt: 1 },
    ...made.map(
      ({ id, name }): Message => ({ id: `t${++n}`, role: 'tool', toolCallId: id, name, content: 'x'.repeat(tokens * 4), isError: false }),
    ),
  ];
}

describe('an estimate of tokens', () => {
  test('[B91] is a quarter of the characters, 4 for each message, 1,000 for each image, and counts names and arguments of calls', () => {
    const image = { type: 'image' as const, url: 'data:image/png;base64,AAAA' };
    expect(tokensOf([said('x'.repeat(400))])).toBe(104);
    expect(tokensOf([{ ...said(''), content: [{ type: 'text', text: 'x'.repeat(40) }, image, image] }])).toBe(2_014);
    const call = { id: 'c', name: 'four', arguments: '{"a":123456}' };
    expect(tokensOf([{ id: 'a', role: 'assistant', content: answerParts('', [call]), attempt: 1 }])).toBe(4 + 4);
    expect(tokensOf([said('x'.repeat(400))], 2)).toBe(204);
  });
});

describe('the window', () => {
  const measured = { usedTokens: 0, windowTokens: 200_000, reserveTokens: 32_000, instructionTokens: 0, toolTokens: 0, charsPerToken: 4 };
  function state(used: number, facts: Partial<ContextPolicy> | null = {}, of: Partial<ContextMeasure> = {}): ThreadState {
    const base = newThread({ threadId: 't', agent: 'a', mode: 'one-shot', overrides: {}, queue: [] });
    const context = facts && { ...policy, ...facts };
    return Object.assign(base, {
      facts: { name: 'a', model: 'm', limits: {}, strategy: 'by-effect', searchAttributes: false, context },
      run: { context: used, calls: [], opening: [], turn: 7 },
      context: { measured: { ...measured, ...of } },
    });
  }

  test('[B92] is nearly full above 85 % of the window without the reserve, and not at it', () => {
    expect(isNearlyFull(state(142_800))).toBe(false);
    expect(isNearlyFull(state(142_801))).toBe(true);
    expect(defaultReserve(200_000, undefined)).toBe(32_000);
  });

  test('[B93] goes by the configured window, reserve and threshold', () => {
    expect(isNearlyFull(state(51, { compactAt: 0.5 }, { windowTokens: 150, reserveTokens: 50 }))).toBe(true);
    expect(isNearlyFull(state(50, { compactAt: 0.5 }, { windowTokens: 150, reserveTokens: 50 }))).toBe(false);
  });

  test('[B106] is never nearly full if shortening is not automatic, or disabled, or if the window is not known', () => {
    expect(isNearlyFull(state(190_000, { auto: false }))).toBe(false);
    expect(isNearlyFull(state(190_000, null))).toBe(false);
    const unknown = state(190_000);
    unknown.context = { measured: { usedTokens: 0, instructionTokens: 0, toolTokens: 0, charsPerToken: 4 } };
    expect(isNearlyFull(unknown)).toBe(false);
  });

  test('is left to a provider that was asked to compact, unless it missed that or the setting is gone', () => {
    const asked = { compactsAt: 142_800 };
    expect(isNearlyFull(state(150_000, { compaction: 'provider' }, asked))).toBe(false);
    expect(isNearlyFull(state(150_000, { compaction: 'provider' }, { ...asked, uncompacted: true }))).toBe(true);
    expect(isNearlyFull(state(150_000, { compaction: 'provider' }))).toBe(true);
    expect(isNearlyFull(state(150_000, {}, asked))).toBe(true);
    const many = state(10, { compaction: 'provider' }, asked);
    many.messages = Array.from({ length: 1_001 }, () => said('x'));
    expect(isNearlyFull(many)).toBe(true);
  });

  test("does not count what a provider's compaction replaced, although it stays for other models", () => {
    const thread = state(600, { compaction: 'provider' }, { compactsAt: 142_800 });
    const compaction = { type: 'compaction' as const, text: '', opaque: { item: 'sealed' } };
    const note: Message = { id: 'note', role: 'user', content: 'note', repeats: ['task'] };
    const task: Message = { id: 'task', role: 'user', content: 'x'.repeat(4_000) };
    const compacting: Message = { id: 'a', role: 'assistant', content: [compaction], attempt: 1 };
    thread.messages = [task, ...turn(20_000), note, compacting, ...turn(100)];
    const { parts, next } = contextView(thread);
    expect(parts.objective).toBeGreaterThan(1_000);
    expect(parts.outputs).toBeLessThan(200);
    expect(next).toBeNull();
    expect(
      contextView({ ...thread, context: { measured: { ...thread.context!.measured!, uncompacted: true } } }).parts.outputs,
    ).toBeGreaterThan(20_000);
  });

  test("keeps the measure of the answer after a provider's compaction, also if the messages stay", () => {
    const thread = state(600, { compaction: 'provider' }, { compactsAt: 142_800 });
    thread.messages = [said('x'.repeat(400_000))];
    const data = { reason: 'window', compactedBy: 'm', prunedOutputs: 0, droppedMessages: 1, bytes: 10 };
    const event = { seq: 1, type: 'thread.context.compacted', timestamp: new Date(0).toISOString(), threadId: 't', runId: 'r', data };
    evolve(thread, event as DurableEvent, { transcript: { messages: [...thread.messages], hash: '1' } });
    expect(thread).toMatchObject({ epoch: 1, run: { context: 600 } });
    expect(thread.archived).toBeUndefined();
  });

  test('counts what was added since the last call: results, and messages that the run takes in next', () => {
    const thread = state(1_000);
    thread.messages = [said('before'), ...turn(96)];
    thread.queue = [said('x'.repeat(384)), { ...said('later'), delivery: 'after-run' }];
    expect(usedTokens(thread)).toBe(1_200);
    Object.assign(thread.run ?? {}, {
      calls: [{ id: 'c', name: 'read', phase: 'done', messageId: 'm', outcome: { status: 'success', content: 'x'.repeat(384) } }],
    });
    expect(usedTokens(thread)).toBe(1_300);
  });

  test('backs off for twice as many turns after each summary that failed, up to 64', () => {
    const thread = state(0);
    const waits: number[] = [];
    for (let failures = 0; failures < 8; failures++) {
      const backOff = nextBackOff(thread);
      thread.context = { ...thread.context, backOff };
      expect(isBackingOff(thread)).toBe(true);
      waits.push(backOff.untilTurn - 7);
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 64, 64, 64]);
    Object.assign(thread.run ?? {}, { turn: 71 });
    expect(isBackingOff(thread)).toBe(false);
  });

  test('is not worth a summary that would free less than a twentieth of it', () => {
    const worth = (tokens: number) => {
      const thread = state(142_000);
      const division = divide([said('task'), ...turn(tokens), ...turn(1), ...turn(1), ...turn(1)], policy, [], sizesOf(thread));
      return isWorthSummary(thread, policy, division!);
    };
    expect(worth(12_000)).toBe(false);
    expect(worth(13_000)).toBe(true);
  });

  test('[B131] what is left is 100 % minus the used share, rounded, from 0 to 100, and null if it is not known', () => {
    expect([contextLeftPercent(30_000, 200_000), contextLeftPercent(300_000, 200_000), contextLeftPercent(0, 10)]).toEqual([85, 0, 100]);
    expect([contextLeftPercent(undefined, 10), contextLeftPercent(10, undefined), contextLeftPercent(1, 0)]).toEqual([null, null, null]);
  });
});

describe('clearing old outputs', () => {
  const clearedIn = (messages: readonly Message[]) => messages.flatMap((m, i) => (m.role === 'tool' && isCleared(m) ? [i] : []));

  test('[B94] protects the newest 40,000 tokens of outputs, clears the older ones, and only if that frees more than 20,000', () => {
    const old = [said('task'), ...turn(9_996), ...turn(9_996)];
    const newest = [...turn(19_996), ...turn(19_996)];
    // Two outputs of 10,000 tokens free 20,000, without what the marks take.
    expect(pruneOutputs([...old, ...newest], policy, wide)).toBeUndefined();
    const pruned = pruneOutputs([said('task'), ...turn(9_996), ...turn(10_100), ...newest], policy, wide);
    expect(clearedIn(pruned!.messages)).toEqual([2, 4]);
    expect(pruned).toMatchObject({ prunedOutputs: 2, freedTokens: expect.any(Number) });
    expect(pruned!.freedTokens).toBeGreaterThan(20_000);
  });

  test('[B94] also clears the output that crosses the protected size', () => {
    const pruned = pruneOutputs([said('task'), ...turn(30_000), ...turn(30_000)], policy, wide);
    expect(clearedIn(pruned!.messages)).toEqual([2]);
  });

  test('[B96] ends at an output that was cleared before', () => {
    const first = pruneOutputs([said('task'), ...turn(30_000), ...turn(30_000), ...turn(30_000)], policy, wide)!;
    expect(first.prunedOutputs).toBe(2);
    expect(pruneOutputs(first.messages, policy, wide)).toBeUndefined();
    // More outputs make it worth it again, and what was cleared stays as it is.
    const later = pruneOutputs([...first.messages, ...turn(30_000), ...turn(30_000)], policy, wide)!;
    expect(later.prunedOutputs).toBe(2);
    expect(clearedIn(later.messages)).toEqual([2, 4, 6, 8]);
  });

  test('never clears what the model has not seen, and cuts it only if it takes more than half of the room', () => {
    const all = { ...policy, pruneProtectTokens: 0, pruneMinimumTokens: 0 };
    const unseen = turn(30_000);
    const messages = [said('task'), ...turn(30_000), ...unseen];
    const pruned = pruneOutputs(messages, all, wide)!;
    expect(clearedIn(pruned.messages)).toEqual([2]);
    expect(pruned.messages.at(-1)).toEqual(unseen[1]);
    const narrow = pruneOutputs(messages, all, { room: 10_000, charsPerToken: 4 })!.messages.at(-1) as ToolMessage;
    expect(narrow.content).toMatch(/^x{9999}…\n\[\.\.\. 100000 characters left out \.\.\.\]\nx{10000}$/);
    expect(tokensOf([narrow], 4)).toBeLessThan(5_100);
    // However little room there is for each of many, something of it stays.
    const tiny = pruneOutputs([said('task'), ...turn(1_000, 100)], all, { room: 10, charsPerToken: 4 })!.messages.at(-1) as ToolMessage;
    expect(tiny.content).toMatch(/^x{99}…\n\[\.\.\. 3800 characters left out \.\.\.\]\nx{100}$/);
  });

  test('leaves small outputs, which are not stored, as they are', () => {
    const messages = [said('task'), ...turn(50), ...turn(60), ...turn(60)];
    const pruned = pruneOutputs(messages, { ...policy, pruneProtectTokens: 0, pruneMinimumTokens: 0 }, wide);
    expect(clearedIn(pruned!.messages)).toEqual([4]);
  });

  test('[B125] names the reference of a stored output, keeps it, and ends at one that was cleared before', () => {
    const outputRef = { id: 'a1b2', bytes: 120_000, lines: 9, mediaType: 'text/plain' };
    const stored = turn(30_000).map((m) => (m.role === 'tool' ? { ...m, outputRef } : m));
    const pruned = pruneOutputs([said('task'), ...stored, ...stored, ...stored], policy, wide)!;
    expect(pruned.messages[2]).toMatchObject({ content: '[tool output trimmed; ref=a1b2]', outputRef });
    expect(pruned.messages[6]).toEqual(stored[1]);
    expect(clearedIn(pruned.messages)).toEqual([2, 4]);
    expect(pruneOutputs(pruned.messages, policy, wide)).toBeUndefined();
  });

  test('[B126] changes nothing if all outputs are protected', () => {
    const messages = [said('task'), ...turn(300_000), ...turn(300_000), ...turn(300_000)];
    expect(pruneOutputs(messages, { ...policy, pruneProtectTokens: Number.MAX_SAFE_INTEGER }, wide)).toBeUndefined();
  });

  test('[B93] goes by the configured protection and minimum, and protects less of small windows by default', () => {
    const messages = [said('task'), ...turn(200), ...turn(200), ...turn(200)];
    expect(pruneOutputs(messages, policy, wide)).toBeUndefined();
    expect(pruneOutputs(messages, { ...policy, pruneProtectTokens: 0, pruneMinimumTokens: 0 }, wide)?.prunedOutputs).toBe(2);
    expect(pruneOutputs(messages, { ...policy, pruneProtectTokens: 250, pruneMinimumTokens: 300 }, wide)?.prunedOutputs).toBe(2);
    expect(pruneOutputs(messages, policy, { room: 1_000, charsPerToken: 4 })?.prunedOutputs).toBe(2);
  });

  test('[B96] never changes the number or the order of messages, or which call a result belongs to', () => {
    const sizes = fc.array(fc.record({ tokens: fc.integer({ min: 0, max: 300 }), calls: fc.integer({ min: 0, max: 3 }) }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 0, max: 500 }), (turns, protect) => {
        const messages = [said('task'), ...turns.flatMap(({ tokens, calls }) => turn(tokens, calls))];
        const pruned =
          pruneOutputs(messages, { ...policy, pruneProtectTokens: protect, pruneMinimumTokens: 0 }, wide)?.messages ?? messages;
        const bare = (all: readonly Message[]) => all.map(({ content, ...rest }) => (rest.role === 'tool' ? rest : { ...rest, content }));
        expect(bare(pruned)).toEqual(bare(messages));
      }),
    );
  });
});

describe('dividing a transcript for a summary', () => {
  const task = said('the task');
  const texts = (messages: readonly Message[]) => messages.map(({ id }) => id);

  test('[A144] keeps the objective, what the run began with, and the last turns; never separates a call from its results', () => {
    const sizes = fc.array(
      fc.record({ tokens: fc.integer({ min: 0, max: 50 }), calls: fc.integer({ min: 0, max: 3 }), asks: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    fc.assert(
      fc.property(sizes, fc.integer({ min: 0, max: 15 }), fc.integer({ min: 10, max: 5_000 }), (turns, keepTurns, room) => {
        const messages = [
          task,
          ...turns.flatMap(({ tokens, calls, asks }) => [...turn(tokens, calls), ...(asks ? [said('and now?')] : [])]),
        ];
        const opening = messages.filter((m) => m.role === 'user').slice(-1);
        const division = divide(messages, { keepTurns }, texts(opening), { room, charsPerToken: 4 });
        if (!division) return;
        const { head, replaced, tail } = division;
        expect(texts([...head, ...replaced, ...tail]).sort()).toEqual(texts(messages).sort());
        expect(texts([...head, ...tail])).toEqual(expect.arrayContaining(texts([task, ...opening])));
        expect(tail.filter(({ role }) => role === 'assistant').length).toBeLessThanOrEqual(keepTurns);
        const after = withSummary(division, summaryMessage('s', { text: 'done so far', retained: [] }));
        expectPaired(after);
        expectPaired(replaced.filter(({ role }) => role !== 'user'));
      }),
    );
  });

  test('[B110][B111] keeps all turns if there are no more than are to be kept, and none if none are', () => {
    const messages = [task, ...turn(10), ...turn(10)];
    expect(divide(messages, { keepTurns: 5 }, [], wide)).toBeUndefined();
    expect(divide(messages, { keepTurns: 0 }, [], wide)).toMatchObject({ head: [task], tail: [] });
    expect(divide(messages, { keepTurns: 1 }, [], wide)?.tail).toHaveLength(2);
  });

  test('[B110][B111] without `keepTools` the turns that stay lose their calls, results and reasoning, but not results that the model has not seen', () => {
    const texts = { keepTurns: 2, keepTools: false } as const;
    const [first, second, third] = [turn(10), turn(10), turn(10)];
    const reasoned = second.map((message) =>
      message.role === 'assistant' ? { ...message, content: [{ type: 'reasoning' as const, text: 'hm' }, ...message.content] } : message,
    );
    const asked = said('and now?');
    const last: Message = { id: 'last', role: 'assistant', content: answerParts('fine', []), attempt: 1 };
    const seen = divide([task, ...first, ...reasoned, last, asked], texts, [], wide);
    expect(
      seen?.tail.map((message) => [message.role, message.role === 'user' ? message.content : textOf(message.content as never)]),
    ).toEqual([
      ['assistant', 'ok'],
      ['assistant', 'fine'],
      ['user', 'and now?'],
    ]);
    expect(
      seen?.tail.every(({ role, content }) => role === 'user' || (content as { type: string }[]).every(({ type }) => type === 'text')),
    ).toBe(true);
    expect(divide([task, ...first, ...reasoned, ...third], texts, [], wide)?.tail.slice(-2)).toEqual(third);
    expect(divide([task, ...first], { keepTurns: 5, keepTools: false }, [], wide)).toBeUndefined();
    expect(divide([task, ...first, asked], { keepTurns: 0, keepTools: false }, [], wide)?.tail).toEqual([asked]);
  });

  test('[A153] without `keepTask` a summary may replace the first message, but nothing that the run began with', () => {
    const messages = [task, ...turn(10), ...turn(10)];
    expect(divide(messages, { keepTurns: 1, keepTask: false }, [], wide)).toMatchObject({
      head: [],
      replaced: [task, messages[1], messages[2]],
    });
    expect(divide(messages, { keepTurns: 1, keepTask: false }, [task.id], wide)).toMatchObject({ head: [task] });
  });

  test('keeps fewer turns if they are too large', () => {
    const messages = [task, ...turn(10), ...turn(1_000), ...turn(10)];
    expect(divide(messages, { keepTurns: 3 }, [], { room: 2_000, charsPerToken: 4 })?.tail).toHaveLength(2);
  });

  test('keeps messages that the model has not answered', () => {
    const late = said('one more thing');
    expect(divide([task, ...turn(10), late], { keepTurns: 0 }, [], wide)).toMatchObject({ head: [task], tail: [late] });
  });

  test('[B119] replaces an earlier summary only together with something else', () => {
    const earlier = summaryMessage('s1', { text: 'earlier', retained: [] });
    expect(divide([task, earlier, ...turn(1)], { keepTurns: 1 }, [], wide)).toBeUndefined();
    expect(divide([task, earlier, ...turn(1), ...turn(1)], { keepTurns: 1 }, [], wide)?.replaced[0]).toBe(earlier);
    expect(divide([task], { keepTurns: 0 }, [], wide)).toBeUndefined();
  });
});

describe('a sliding window', () => {
  const turns = fc.array(fc.record({ calls: fc.integer({ min: 0, max: 3 }), asks: fc.boolean() }), { maxLength: 20 });

  test('[A142][A144][A145] has at most so many messages, never separates a call from its results, and keeps the task and what the run began with', () => {
    fc.assert(
      fc.property(turns, fc.integer({ min: 0, max: 30 }), fc.boolean(), (made, most, keepsTask) => {
        const task = said('the task');
        const summary = summaryMessage('s', { text: 'earlier', retained: [] });
        const messages = [task, summary, ...made.flatMap(({ calls, asks }) => [...turn(1, calls), ...(asks ? [said('and?')] : [])])];
        const opening = messages.filter((message) => message.role === 'user' && !isSummary(message)).slice(-1);
        const kept = slide(
          messages,
          most,
          keepsTask ? {} : { keepTask: false },
          opening.map(({ id }) => id),
        );
        if (!kept) return;
        expectPaired(kept);
        expect(kept).toEqual(messages.filter((message) => kept.includes(message)));
        expect(kept).toEqual(expect.arrayContaining([...opening, summary, ...(keepsTask ? [task] : [])]));
        expect(kept[0]?.role).toBe('user');
        const newest = messages.findLastIndex(({ role }) => role === 'assistant');
        // What always stays may be more than that.
        const fixed = messages.filter((message, at) => at >= newest || [task, summary, ...opening].includes(message as UserMessage));
        expect(kept.length).toBeLessThanOrEqual(Math.max(most, fixed.length));
        // The oldest go first: what is dropped is older than whatever stays and need not.
        const loose = kept.findIndex((message) => !fixed.includes(message));
        const dropped = messages.findLastIndex((message) => !kept.includes(message));
        if (loose >= 0) expect(messages.indexOf(kept[loose] as Message)).toBeGreaterThan(dropped);
      }),
    );
  });

  test('begins with the last message of a user, even if none would be left', () => {
    const [first, second] = [said('one'), said('two')];
    const kept = slide([first, ...turn(1, 0), second, ...turn(1, 0)], 1, { keepTask: false }, []);
    expect(kept?.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(kept?.[0]).toBe(second);
  });

  test('changes nothing if nothing can be dropped', () => {
    expect(slide([said('the task'), ...turn(1, 3)], 1, {}, [])).toBeUndefined();
    expect(slide([], 1, {}, [])).toBeUndefined();
  });
});

describe('a message that takes most of the room', () => {
  const sizes = { room: 1_000, charsPerToken: 4 };
  const long = (content: Message['content'], role: 'user' | 'assistant' = 'user') => ({ id: 'm', role, content, attempt: 1 }) as Message;

  test('[A151] is one above half of the room, other than a result or a summary', () => {
    expect(isLong(said('x'.repeat(2_100)), sizes)).toBe(true);
    expect(isLong(said('x'.repeat(1_900)), sizes)).toBe(false);
    expect(isLong({ ...said('x'.repeat(9_000)), summary: true }, sizes)).toBe(false);
    expect(isLong(turn(3_000)[1] as Message, sizes)).toBe(false);
  });

  test('is not long once it was cut, whatever images and calls it has', () => {
    const image = { type: 'image' as const, url: 'data:image/png;base64,AAAA' };
    const call = { id: 'c', name: 'write', arguments: JSON.stringify({ text: 'y'.repeat(45_000) }) };
    const numbers = fc.record({
      chars: fc.integer({ min: 0, max: 40_000 }),
      images: fc.integer({ min: 0, max: 20 }),
      room: fc.integer({ min: 100, max: 20_000 }),
      charsPerToken: fc.double({ min: 1, max: 6, noNaN: true }),
    });
    fc.assert(
      fc.property(numbers, fc.boolean(), ({ chars, images, room, charsPerToken }, asks) => {
        const text = 'x'.repeat(chars);
        const message = asks
          ? long([{ type: 'text', text }, ...Array.from({ length: images }, () => image)])
          : long(answerParts(text, [call]), 'assistant');
        const some = { room, charsPerToken };
        const short = cutMessage(message, some, 'art_0123456789abcdef');
        expect(isLong(short, some)).toBe(false);
        if (isLong(message, some)) expect(bytesOf(short)).toBeLessThan(bytesOf(message));
      }),
    );
  });

  test('keeps its beginning, its end and the reference of the whole, with images, files and calls', () => {
    const text = `begin ${'x'.repeat(9_000)} end`;
    expect(cutMessage(long(text), sizes, 'art_1')).toMatchObject({
      content: expect.stringMatching(/^begin x+…\n\[\.\.\. \d+ characters left out; ref=art_1 \.\.\.\]\nx+ end$/),
    });
    const image = { type: 'image' as const, url: 'data:image/png;base64,AAAA' };
    expect(cutMessage(long([{ type: 'text', text }, image]), sizes, undefined).content).toEqual([
      { type: 'text', text: expect.any(String) },
      image,
    ]);
    const call = { id: 'c', name: 'read', arguments: '{}' };
    const answer = cutMessage(long([{ type: 'reasoning', text: 'hm' }, ...answerParts(text, [call])], 'assistant'), sizes, undefined);
    expect((answer.content as { type: string }[]).map(({ type }) => type).sort()).toEqual(['text', 'tool-call']);
    expect(tokensOf([answer])).toBeLessThan(400);
  });
});

describe('a summary', () => {
  test('[B109] is made without the calls at the end, which have no results', () => {
    const call = { id: 'c9', name: 'read', arguments: '{"path":"open"}' };
    const open = (text: string): Message => ({ id: 'a9', role: 'assistant', content: answerParts(text, [call]), attempt: 1 });
    expect(summaryPrompt([said('hello'), open('Reading.')])).toMatch(/\[assistant\]\nReading\.\n\n?<\/transcript>/);
    expect(summaryPrompt([said('hello'), open('')])).not.toContain('"open"');
    expect(summaryPrompt([said('hello'), ...turn(1)])).toContain('[calls read');
  });

  test('[B114] is what is in its tags, or all of the text without them, and nothing if it is empty', () => {
    const both = '<retain>\n- path: /a\n* port 80\n</retain>\n<SUMMARY>\nDone.\n</SUMMARY>';
    expect(readSummary(both)).toEqual({ text: 'Done.', retained: ['path: /a', 'port 80'] });
    expect(readSummary('All was done.')).toEqual({ text: 'All was done.', retained: [] });
    expect(readSummary('<summary>cut at its maximum len')).toEqual({ text: 'cut at its maximum len', retained: [] });
    expect(readSummary('<retain>\nonly a fact')).toEqual({ text: '', retained: ['only a fact'] });
    for (const nothing of ['', ' \n', '<summary></summary>', '<retain></retain><summary> </summary>'])
      expect(readSummary(nothing)).toBeUndefined();
  });

  test('a fact that is too long is cut, and removes no others', () => {
    const [first, second] = mergeFacts(['never push to main'], ['x'.repeat(100_000)]);
    expect(first).toBe('never push to main');
    expect(second).toMatch(/^x+…$/);
    expect(second?.length).toBeLessThan(4_000);
    expect(mergeFacts([first as string, second as string], ['x'.repeat(100_000)])).toEqual([first, second]);
  });

  test('[B112] facts are merged without duplicates, oldest first, and within a bound', () => {
    expect(mergeFacts(['a', 'b'], ['b', 'c', 'c'])).toEqual(['a', 'b', 'c']);
    const many = mergeFacts(
      Array.from({ length: 90 }, (_, i) => `old ${i}`),
      Array.from({ length: 90 }, (_, i) => `new ${i}`),
    );
    expect([many.length, many[0], many.at(-1)]).toEqual([100, 'old 80', 'new 89']);
    const long = ['v', 'w', 'x', 'y', 'z'].map((letter) => letter.repeat(3_000));
    expect(mergeFacts(long, [])).toEqual(long.slice(1));
  });

  test('[B98] is asked for with everything that whoever continues needs', () => {
    const prompt = summaryPrompt([said('the task')]);
    for (const word of ['progress', 'decisions', 'constraints', 'next steps', 'critical data', 'files', 'errors'])
      expect(prompt).toContain(word);
    expect(summaryPrompt([said('the task')], 'Only the numbers.')).toMatch(/Only the numbers\.[\s\S]*<retain>/);
  });

  test('[B109] is made of a text in which calls and results are words, so no call is left open', () => {
    const call = { id: 'c1', name: 'read', arguments: '{"path":"a"}' };
    const messages: Message[] = [
      { ...said(''), content: [{ type: 'image', url: 'data:image/png;base64,AAAA' }] },
      summaryMessage('s', { text: 'earlier', retained: [] }),
      { id: 'a1', role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, ...answerParts('Reading.', [call])], attempt: 1 },
      { id: 't1', role: 'tool', toolCallId: 'c1', name: 'read', content: 'no such file', isError: true },
      { id: 'a2', role: 'assistant', content: answerParts('', [{ ...call, id: 'c2' }]), attempt: 1 },
    ];
    expect(transcriptText(messages).replace(/\[earlier summary\][\s\S]*<\/summary>/, '[earlier summary]')).toBe(
      [
        '[user]\n[Image]',
        '[earlier summary]',
        '[assistant]\nReading.\n[calls read (c1)] {"path":"a"}',
        '[result of read (c1), an error]\nno such file',
        '[assistant]\n[calls read (c2)] {"path":"a"}',
      ].join('\n\n'),
    );
  });

  test('[B99] begins as a handoff, and names where to read what it replaced, and calls whose results are still to come', () => {
    const { content } = summaryMessage(
      's',
      { text: 'Half done.', retained: ['port 80'] },
      {
        background: [{ id: 'c9', name: 'build' }],
        archives: ['a1', 'b2'],
      },
    );
    expect(content).toMatch(/^The conversation up to here was too long.*whoever continues/);
    expect(content).toMatch(
      /<retain>\n- port 80\n<\/retain>\n\n<summary>\nHalf done\.\n<\/summary>\n\n.*ref=a1, ref=b2\n\n.*build \(c9\)$/,
    );
  });

  test('names what the last 20 summaries replaced', () => {
    const archives = Array.from({ length: 30 }, (_, i) => `r${i}`).reduce<string[]>((all, ref) => archivesWith({ archives: all }, ref), []);
    expect(archives).toEqual(Array.from({ length: 20 }, (_, i) => `r${i + 10}`));
    expect(archivesWith({ archives: ['a', 'b'] }, 'a')).toEqual(['b', 'a']);
  });
});

test('thousands of turns in one thread stay within the window, paired, and with the objective first', () => {
  const state = newThread({ threadId: 't', agent: 'a', mode: 'one-shot', overrides: {}, queue: [] });
  const facts = { name: 'a', model: 'm', limits: {}, strategy: 'by-effect' as const, searchAttributes: false, context: policy };
  const measured = {
    usedTokens: 0,
    windowTokens: 128_000,
    reserveTokens: 32_000,
    instructionTokens: 500,
    toolTokens: 1_500,
    charsPerToken: 4,
  };
  const objective = said('Count all of it. '.repeat(50));
  Object.assign(state, { facts, context: { measured, retained: [] }, messages: [objective] });
  const run = { id: 'r', context: 2_000, calls: [], opening: [objective.id], turn: 0 };
  Object.assign(state, { run });
  const record = (data: DurableEventData['thread.context.compacted'], messages: Message[], retained?: string[]) => {
    const event = {
      seq: state.nextSeq,
      type: 'thread.context.compacted',
      timestamp: new Date(0).toISOString(),
      threadId: 't',
      runId: 'r',
      data,
    };
    evolve(state, event as DurableEvent, { transcript: { messages, hash: '' }, ...(retained && { retained }) });
  };
  let [prunings, summaries, lastSummary] = [0, 0, 0];
  for (let turns = 1; turns <= 3_000; turns++) {
    if (isNearlyFull(state)) {
      const sizes = sizesOf(state);
      const pruned = pruneOutputs(state.messages, policy, sizes);
      const rest = { reason: 'window' as const, bytes: 1 };
      if (pruned && !isOverfull(state, policy, pruned.freedTokens)) {
        prunings += 1;
        record({ ...rest, prunedOutputs: pruned.prunedOutputs, droppedMessages: 0 }, pruned.messages);
      } else {
        const division = divide(state.messages, policy, [objective.id], sizes)!;
        expect(isWorthSummary(state, policy, division)).toBe(true);
        const retained = mergeFacts(state.context?.retained ?? [], [`fact ${turns}`]);
        const summary = summaryMessage(`s${turns}`, { text: 'word '.repeat(3_000), retained });
        summaries += 1;
        if (lastSummary > 0) expect(turns - lastSummary).toBeGreaterThan(10);
        lastSummary = turns;
        record({ ...rest, prunedOutputs: 0, droppedMessages: 1, summary }, withSummary(division, summary), retained);
      }
    }
    const sent = 2_000 + tokensOf(state.messages);
    expect(sent).toBeLessThan(96_000);
    expect(state.messages[0]).toBe(objective);
    const answered = turn(turns % 7 === 0 ? 6_000 : 800);
    Object.assign(state.run ?? {}, { context: sent + tokensOf(answered.slice(0, 1)), turn: turns });
    state.messages.push(...answered);
    // A new execution now and then: what was replaced is not carried over, and the rest is small.
    if (turns % 500 !== 0) continue;
    expectPaired(state.messages);
    const { archived: _, log: __, ...carried } = state;
    expect(JSON.stringify(carried).length).toBeLessThan(512_000);
    delete state.archived;
  }
  expect(prunings).toBeGreaterThan(10);
  expect(summaries).toBeGreaterThan(3);
  expect(prunings + summaries).toBeLessThan(200);
});
