import fc from 'fast-check';
import { sseDecoder } from '../../src/models/wire/sse';

const bytes = (text: string) => new TextEncoder().encode(text);

test('events are split the same however the bytes are divided, with every line ending, and multi-byte characters', () => {
  const text = ': hello\n\ndata: {"a":"é😀"}\n\nevent: x\r\ndata:no space\r\n\r\ndata: two\rdata: lines\r\rid: 7\n\ndata: [DONE]\n\n';
  const expected = ['{"a":"é😀"}', 'no space', 'two\nlines', '[DONE]'];
  const all = bytes(text);
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: all.length })), (cuts) => {
      const decoder = sseDecoder();
      const edges = [0, ...cuts.sort((a, b) => a - b), all.length];
      const events = edges.slice(1).flatMap((end, at) => decoder.push(all.subarray(edges[at], end)));
      expect([...events, ...decoder.flush()]).toEqual(expected);
    }),
  );
});

test('text without a closing blank line is returned at the end', () => {
  const decoder = sseDecoder();
  expect(decoder.push(bytes('data: a\n\ndata: [DONE]'))).toEqual(['a']);
  expect(decoder.flush()).toEqual(['[DONE]']);
  expect(decoder.flush()).toEqual([]);
});

test('only the beginning of the text can be shown', () => {
  const decoder = sseDecoder();
  decoder.push(bytes('<html>'));
  decoder.push(bytes('x'.repeat(50_000)));
  expect(decoder.head()).toHaveLength(20_000);
  expect(decoder.head().startsWith('<html>x')).toBe(true);
});

test('lines that belong to no event are kept, except fields and comments', () => {
  const decoder = sseDecoder();
  decoder.push(bytes('id: 1\n: hello\ndata: a\n\nretry\n{\n  "error": 1\n'));
  decoder.push(bytes('}'));
  decoder.flush();
  expect(decoder.stray()).toBe('{\n  "error": 1\n}\n');
  decoder.push(bytes(`${'x'.repeat(50_000)}\n`.repeat(20)));
  expect(decoder.stray().length).toBeLessThan(50_000);
});
