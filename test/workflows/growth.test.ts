import fc from 'fast-check';
import { grow } from '../../src/workflows/growth';

/** As it was counted when histories were recorded that must replay. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let weight = 2;
  for (const [key, inner] of Object.entries(value)) weight += (Array.isArray(value) ? 1 : key.length + 4) + weightOf(inner);
  return weight;
}

test('the estimated size of a value never changes, so that a replay continues as new at the same point', () => {
  const bytes = fc.nat(1_200).map((length) => new Uint8Array(length));
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), bytes, fc.constant(undefined), fc.dictionary(fc.string(), bytes)), (value) => {
      const growth = { events: 0, bytes: 0 };
      grow(growth, 1, value);
      expect(growth).toEqual({ events: 1, bytes: weightOf(value) });
    }),
  );
});
