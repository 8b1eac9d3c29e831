import fc from 'fast-check';
import { bytesOf, fit as shrink, utf8Length } from '../../src/core/context/carry';
import { type Message, textOf, toolCallsOf } from '../../src/core/message';
import { answerParts } from '../support/answer-parts';

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  // Any code units, so also halves of pairs.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 }).map((codes) => String.fromCharCode(...codes)),
  fc.array(fc.constantFrom('\ud83d', '\ude00', 'a', 'é', '漢'), { maxLength: 12 }).map((units) => units.join('')),
);

test('the length of a text in UTF-8 is what an encoder gives, for any text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text, 'utf8'));
    }),
    { numRuns: 1_000 },
  );
});

interface Turn {
  calls: number;
  answer: number;
  output: number;
  said?: number;
}

/** A transcript of turns, with texts of the given lengths. Begins with a user message, as every thread does. */
function transcript(first: number, turns: readonly Turn[]): Message[] {
  let n = 0;
  const id = () => `m${++n}`;
  const messages: Message[] = [{ id: id(), role: 'user', content: 'f'.repeat(first) }];
  for (const { calls, answer, output, said } of turns) {
    const toolCalls = Array.from({ length: calls }, () => ({ id: `c${++n}`, name: 'tool', arguments: '{}' }));
    messages.push({ id: id(), role: 'assistant', content: answerParts('a'.repeat(answer), toolCalls), attempt: 1 });
    for (const call of toolCalls) {
      messages.push({ id: id(), role: 'tool', toolCallId: call.id, name: 'tool', content: 'o'.repeat(output), isError: false });
    }
    if (said !== undefined) messages.push({ id: id(), role: 'user', content: 's'.repeat(said) });
  }
  return messages;
}

const length = fc.integer({ min: 0, max: 2_000 });
const turn = fc.record(
  { calls: fc.integer({ min: 0, max: 3 }), answer: length, output: length, said: length },
  { requiredKeys: ['calls', 'answer', 'output'] },
);
const cases = fc.tuple(length, fc.array(turn, { maxLength: 8 }), fc.integer({ min: 0, max: 20_000 }));

describe('making a transcript fit', () => {
  test('does not change one that fits', () => {
    const messages = transcript(10, [{ calls: 1, answer: 5, output: 500 }]);
    expect(
      shrink(
        messages,
        messages.reduce((sum, m) => sum + bytesOf(m), 0),
      ),
    ).toBeUndefined();
  });

  test('never separates a call from its results, and reports the size of the rest', () => {
    fc.assert(
      fc.property(cases, ([first, turns, max]) => {
        const messages = transcript(first, turns);
        const fitted = shrink(messages, max);
        if (!fitted) return;
        const kept = fitted.messages;
        kept.forEach((message, i) => {
          if (message.role !== 'assistant') return;
          const asked = toolCallsOf(message.content);
          const results = kept.slice(i + 1, i + 1 + asked.length);
          expect(results.map((m) => (m.role === 'tool' ? m.toolCallId : m.role))).toEqual(asked.map((call) => call.id));
        });
        const calls = kept.flatMap((m) => (m.role === 'assistant' ? toolCallsOf(m.content) : []));
        expect(kept.filter((m) => m.role === 'tool')).toHaveLength(calls.length);
        expect(fitted.bytes).toBe(kept.reduce((sum, m) => sum + bytesOf(m), 0));
        expect(fitted.droppedMessages).toBe(messages.length - kept.length);
      }),
      { numRuns: 300 },
    );
  });

  test('keeps the first user message, the latest request and the newest turn, and the order of the rest', () => {
    fc.assert(
      fc.property(cases, ([first, turns, max]) => {
        const messages = transcript(first, turns);
        const kept = shrink(messages, max)?.messages.map((m) => m.id) ?? messages.map((m) => m.id);
        expect(kept[0]).toBe(messages[0]?.id);
        expect(kept).toContain(messages.findLast((m) => m.role === 'user')?.id);
        expect(kept.at(-1)).toBe(messages.at(-1)?.id);
        expect(kept).toEqual(messages.map((m) => m.id).filter((id) => kept.includes(id)));
      }),
      { numRuns: 300 },
    );
  });

  test('fits, unless only what must stay is left', () => {
    fc.assert(
      fc.property(cases, ([first, turns, max]) => {
        const messages = transcript(first, turns);
        const fitted = shrink(messages, max);
        if (!fitted || fitted.bytes <= max) return;
        const kept = fitted.messages;
        const lastUser = kept.findLastIndex((m) => m.role === 'user');
        const newest = kept.findLastIndex((m) => m.role !== 'tool');
        const mayGo = kept.filter((_, i) => i > 0 && i !== lastUser && i < newest);
        expect(mayGo).toEqual([]);
        expect(kept.filter((m) => m.role === 'tool' && bytesOf(m.content) > 200)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test('clears old outputs before it drops anything, and no more than necessary', () => {
    const messages = transcript(
      10,
      Array.from({ length: 5 }, () => ({ calls: 1, answer: 10, output: 2_000 })),
    );
    const all = messages.reduce((sum, m) => sum + bytesOf(m), 0);
    const fitted = shrink(messages, all - 1_000);
    expect(fitted).toMatchObject({ prunedOutputs: 1, droppedMessages: 0 });
    expect(fitted?.messages[2]).toMatchObject({ role: 'tool', content: expect.stringContaining('cleared') });
    expect(fitted?.messages.slice(3)).toEqual(messages.slice(3));
  });

  test('does not clear an output twice', () => {
    const messages = transcript(10, [{ calls: 2, answer: 10, output: 2_000 }]);
    const once = shrink(messages, 1_500)?.messages ?? [];
    expect(shrink(once, 10)).toMatchObject({ prunedOutputs: 0 });
  });

  test('shortens a long run after the latest of several requests, too', () => {
    const turns = Array.from({ length: 40 }, (_, i): Turn => ({ calls: 1, answer: 1_000, output: 10, ...(i === 2 && { said: 50 }) }));
    const fitted = shrink(transcript(10, turns), 10_000);
    expect(fitted?.bytes).toBeLessThanOrEqual(10_000);
    expect(fitted?.messages.filter((m) => m.role === 'user')).toHaveLength(2);
  });

  test('does not change the messages that it receives', () => {
    const messages = transcript(10, [{ calls: 2, answer: 10, output: 2_000 }]);
    const before = structuredClone(messages);
    shrink(messages, 100);
    expect(messages).toEqual(before);
  });
});

describe('with cutting allowed', () => {
  const fits = (messages: Message[], max: number) => shrink(messages, max, { cut: true });

  test('even requests that are too large together fit, and say that they were cut', () => {
    const messages = transcript(1_400_000, [{ calls: 0, answer: 10, output: 0, said: 1_400_000 }]);
    const fitted = fits(messages, 1_600_000);
    expect(fitted?.bytes).toBeLessThanOrEqual(1_600_000);
    expect(fitted?.bytes).toBe(fitted?.messages.reduce((sum, m) => sum + bytesOf(m), 0));
    expect(fitted?.messages[0]?.content).toMatch(/^f+…$/);
    expect(shrink(messages, 1_600_000)?.bytes).toBeGreaterThan(1_600_000);
  });

  test('an image that is too large is replaced by a note', () => {
    const image: Message = { id: 'm1', role: 'user', content: [{ type: 'image', url: `data:image/png;base64,${'A'.repeat(9_000)}` }] };
    expect(fits([image], 5_000)?.messages).toEqual([{ ...image, content: '[Image or file cleared]' }]);
  });

  test('it ends, whatever the sizes', () => {
    fc.assert(
      fc.property(cases, ([first, turns, max]) => {
        const fitted = fits(transcript(first, turns), max);
        if (fitted && fitted.bytes > max) expect(fitted.messages.filter((m) => bytesOf(textOf(m.content)) > 2_002)).toEqual([]);
      }),
    );
  });
});

describe('what the current run is about', () => {
  const answer = (id: string, chars: number): Message => ({
    id,
    role: 'assistant',
    content: answerParts('a'.repeat(chars), []),
    attempt: 1,
  });
  const image = { type: 'image' as const, url: `data:image/png;base64,${'A'.repeat(900_000)}` };

  test('stays, although tools and the engine say something afterwards', () => {
    const messages: Message[] = [
      { id: 'u1', role: 'user', content: 'hello' },
      answer('a1', 1),
      { id: 'u2', role: 'user', content: 'Also the second page.' },
      { id: 'u3', role: 'user', content: 'Translate the report.' },
      answer('a2', 900_000),
      answer('a3', 900_000),
      { id: 'u4', role: 'user', origin: 'tool', content: 'ready' },
    ];
    const kept = (opening?: string[]) => shrink(messages, 1_500_000, { cut: true, opening })?.messages.map(({ id }) => id);
    expect(kept(['u2'])).toEqual(['u1', 'u2', 'u3', 'a3', 'u4']);
    expect(kept()).toEqual(['u1', 'a3', 'u4']);
  });

  test('is not cut in its words if an image is what takes the room', () => {
    const words = 'Look at this plan. Do NOT delete the production database.';
    const messages: Message[] = [{ id: 'u1', role: 'user', content: [{ type: 'text', text: words }, image, image] }, answer('a1', 1)];
    expect(textOf(shrink(messages, 1_500_000, { cut: true })?.messages[0]?.content ?? '')).toBe(`${words}\n\n[Image or file cleared]`);
  });
});

test('long arguments of calls that are done are left out if nothing else can be shortened, and those of open calls never', () => {
  const call = { type: 'tool-call', id: 'c1', name: 'save', arguments: JSON.stringify({ text: 'x'.repeat(10_000) }) };
  const messages = [
    { id: 'm1', role: 'user', content: 'Save it.' },
    { id: 'm2', role: 'assistant', content: [call] },
    { id: 'm3', role: 'tool', toolCallId: 'c1', name: 'save', content: 'saved', isError: false },
  ] as unknown as Message[];
  const done = shrink(messages, 2_000, { cut: true });
  expect(done?.bytes).toBeLessThan(2_000);
  expect(JSON.stringify(done?.messages)).toContain(JSON.stringify(JSON.stringify({ left_out: '10011 characters' })));
  expect(shrink(messages, 2_000, { cut: true, open: true })?.messages).toEqual(messages);
});
