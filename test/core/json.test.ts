import fc from 'fast-check';
import { isDeepJson, JsonNesting } from '../../src/core/json';

/** Levels of a value, counted on the value itself. */
function levels(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levels));
}

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 8 }).map((value) => JSON.stringify(value));
const odd = fc.array(fc.constantFrom('"', '\\', '{', '[', ']', '}', 'a'), { maxLength: 8 }).map((parts) => parts.join(''));

test('the depth of a JSON text is that of its value, whatever stands in its strings and however it is cut', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        json,
        odd.map((text) => JSON.stringify([{ [text]: text }])),
      ),
      fc.array(fc.nat(), { maxLength: 5 }),
      (text, cuts) => {
        const nesting = new JsonNesting();
        const edges = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
        for (let i = 1; i < edges.length; i++) nesting.add(text.slice(edges[i - 1], edges[i]));
        const depth = levels(JSON.parse(text));
        expect(nesting.deepest).toBe(depth);
        expect(nesting.hasEnded).toBe(depth > 0);
        expect(isDeepJson(text, depth)).toBe(false);
        if (depth > 0) expect(isDeepJson(text, depth - 1)).toBe(true);
      },
    ),
  );
});

test('an object that is cut short has not ended', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, at) => {
      const text = JSON.stringify(value);
      const nesting = new JsonNesting();
      nesting.add(text.slice(0, at % text.length));
      expect(nesting.hasEnded).toBe(false);
    }),
  );
});
