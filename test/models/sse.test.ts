import fc from 'fast-check';
import { sseDecoder } from '../../src/models/sse';

const bytes = (text: string) => new TextEncoder().encode(text);

test('events are cut the same however the bytes are split, with every line ending, and characters of several bytes', () => {
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

test('what has no closing blank line comes out at the end', () => {
  const decoder = sseDecoder();
  expect(decoder.push(bytes('data: a\n\ndata: [DONE]'))).toEqual(['a']);
  expect(decoder.flush()).toEqual(['[DONE]']);
  expect(decoder.flush()).toEqual([]);
});

test('the beginning of the text can be shown, and only the beginning', () => {
  const decoder = sseDecoder();
  decoder.push(bytes('<html>'));
  decoder.push(bytes('x'.repeat(5_000)));
  expect(decoder.head()).toHaveLength(2_000);
  expect(decoder.head().startsWith('<html>x')).toBe(true);
});
