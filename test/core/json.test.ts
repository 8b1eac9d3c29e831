import fc from 'fast-check';
import { isDeepJson, isObject, JsonNesting, sortedJson } from '../../src/core/json';

/** Levels of a value, counted on the value itself. */
function levels(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levels));
}

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 8 }).map((value) => JSON.stringify(value));
const odd = fc.array(fc.constantFrom('"', '\\', '{', '[', ']', '}', 'a'), { maxLength: 8 }).map((parts) => parts.join(''));

test('the depth of a JSON text is that of its value, whatever its strings contain and wherever it is cut', () => {
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

test('JSON with sorted keys never changes, because recorded digests are made from it', () => {
  const before = (value: unknown) =>
    JSON.stringify(value, (_, v: unknown) =>
      isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v,
    );
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      fc.constantFrom(undefined, Number.NaN, -0, () => 1, Symbol('s'), new Map([[1, 2]]), Object('boxed'), Object(5), new Uint8Array(12)),
      fc.date({ noInvalidDate: true }),
      fc.array(tie('value')),
      fc.dictionary(fc.oneof(fc.string(), fc.nat(20).map(String), fc.constantFrom('toJSON', '__proto__', '\ud800')), tie('value')),
      tie('value').map((inner) => ({ b: 1, toJSON: () => inner })),
      fc.dictionary(fc.string(), tie('value')).map((entries) => Object.assign(Object.create(null), entries)),
    ),
  })).value;
  fc.assert(
    fc.property(value, (one) => expect(sortedJson(one)).toBe(before(one))),
    { numRuns: 1_000 },
  );
});

test('keys that are in order, and lists, are written without a copy', () => {
  const rows = Array.from({ length: 1_000 }, (_, i) => ({ a: i, b: [i] }));
  const copied = jest.spyOn(Object, 'fromEntries');
  sortedJson({ rows });
  expect(copied).not.toHaveBeenCalled();
  copied.mockRestore();
});
