import fc from 'fast-check';
import { excerpt, isObject, parseObject } from '../../src/core/json';
import type { Message } from '../../src/core/message';
import { textOf } from '../../src/core/message';
import { toContent } from '../../src/core/tool';
import { emptyHash, extendHash, hashOf, tokenOf } from '../../src/core/transcript';

describe('what a tool returns', () => {
  test('[A32][B148] is text unchanged, parts unchanged, and everything else as JSON', () => {
    expect(toContent('plain "text"')).toBe('plain "text"');
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'image', url: 'https://example.com/a.png' },
    ];
    expect(toContent(parts)).toBe(parts);
    expect(toContent({ a: [1, true] })).toBe('{"a":[1,true]}');
    expect(toContent(42)).toBe('42');
    expect(toContent([])).toBe('[]');
    expect(toContent([{ type: 'text' }])).toBe('[{"type":"text"}]');
  });

  test('[A35] is null for null and undefined', () => {
    for (const nothing of [undefined, null, () => 1, Symbol('x')]) expect(toContent(nothing)).toBe('null');
  });

  test('is a text or parts for any JSON, and a text that says the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const content = toContent(value);
        if (typeof content === 'string' && typeof value !== 'string')
          expect(JSON.parse(content)).toEqual(JSON.parse(JSON.stringify(value)));
        else expect(content).toBe(value);
      }),
    );
  });
});

const message = (id: string, attempt = 1): Message => ({ id, role: 'assistant', content: [], attempt });

describe('the hash of a transcript', () => {
  test('depends on every message and on their order, and tells attempts apart', () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(ids, fc.nat(), fc.nat(), (ids, a, b) => {
        const messages = ids.map((id) => message(id));
        const whole = hashOf(messages);
        const i = a % ids.length;
        const j = b % ids.length;
        expect(hashOf(messages.with(i, message(ids[i] ?? '', 2)))).not.toBe(whole);
        expect(hashOf(messages.toSpliced(i, 1))).not.toBe(whole);
        if (i !== j) expect(hashOf(messages.with(i, messages[j] as Message).with(j, messages[i] as Message))).not.toBe(whole);
      }),
    );
  });

  test('grows message by message', () => {
    expect(hashOf([])).toBe(emptyHash);
    const [a, b] = [message('a'), message('b')];
    expect(hashOf([a, b])).toBe(extendHash(extendHash(emptyHash, tokenOf(a)), tokenOf(b)));
  });

  test('is the same on every machine and in every version, because recorded histories contain references', () => {
    expect(hashOf([message('msg_1'), { id: 'msg_2', role: 'user', content: 'x' }])).toBe('249vmdik2cu');
  });

  test('has no collision among a hundred thousand', () => {
    let hash = emptyHash;
    const seen = new Set([hash]);
    for (let i = 0; i < 100_000; i++) seen.add((hash = extendHash(hash, `msg_${i}`)));
    expect(seen.size).toBe(100_001);
  });
});

describe('small things', () => {
  test('an excerpt is never longer than requested, says that it is one, and splits no character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.integer({ min: 2, max: 30 }), (text, max) => {
        const short = excerpt(text, max);
        if (text.length <= max) return expect(short).toBe(text);
        expect(short.length).toBeLessThanOrEqual(max);
        expect(short.endsWith('…')).toBe(true);
        expect(short).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });

  test('only an object of JSON is an object', () => {
    expect(parseObject('{"a":1}')).toEqual({ a: 1 });
    for (const text of ['', '[]', 'null', '1', '{', '"x"']) expect(parseObject(text)).toBeUndefined();
    expect(isObject([])).toBe(false);
    expect(isObject(null)).toBe(false);
  });

  test('the text of parts contains only their text', () => {
    expect(textOf('a')).toBe('a');
    expect(
      textOf([
        { type: 'text', text: 'a' },
        { type: 'image', url: 'https://example.com' },
        { type: 'text', text: 'b' },
      ]),
    ).toBe('ab');
  });
});
