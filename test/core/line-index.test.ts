import fc from 'fast-check';
import { LineIndex } from '../../src/core/line-index';

/** The positions at which the lines of a text begin. A line break at the end begins no further line. */
function beginnings(text: Buffer): number[] {
  const after = [...text].flatMap((byte, at) => (byte === 0x0a ? [at + 1] : []));
  return [0, ...after].filter((at) => at < text.length);
}

test('the lines of a text are found, whatever pieces it comes in', () => {
  const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r\n') }).map((text) => Buffer.from(text)));
  fc.assert(
    fc.property(pieces, (given) => {
      const text = Buffer.concat(given);
      const index = new LineIndex();
      for (const piece of given) index.add(piece);
      const expected = beginnings(text);
      expect(index.total).toBe(expected.length);
      expect([...expected, undefined].map((_, at) => index.startOf(text, at + 1))).toEqual([...expected, undefined]);
    }),
  );
});
