import { withoutUnknownPatterns } from '../../src/tools/defining/foreign-patterns';
import { mustBeSchema } from '../../src/tools/defining/schema-check';
import { foreignInput } from '../../src/tools/defining/tool-input';

const bad = '(?i)\\Aa++';
const isBad = { pattern: bad };

async function problems(schema: object, value: object): Promise<string[]> {
  const input = foreignInput({ type: 'object', ...schema }, (problem) => new Error(problem));
  expect(() => mustBeSchema(input.parameters)).not.toThrow();
  const checked = await input.check(value);
  return checked.ok ? [] : checked.problems;
}

test('a schema whose patterns are known stays as it is, whatever its properties are named', () => {
  const schema = { type: 'object', properties: { pattern: { pattern: '^a$' }, not: {} }, default: { pattern: bad }, enum: [isBad] };
  expect(withoutUnknownPatterns(schema)).toEqual({ schema, unknown: [] });
});

// Each of these values may be one that the pattern allows.
test.each<[string, object, object]>([
  ['a text', { properties: { a: { type: 'string', ...isBad } } }, { a: 'x' }],
  ['a definition', { properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: isBad } }, { a: 'x' }],
  ['names of properties', { patternProperties: { [bad]: { type: 'number' }, '^b': {} }, additionalProperties: false }, { AAA: 'x' }],
  ['a negation', { properties: { a: { not: isBad } } }, { a: 'x' }],
  ['a negation elsewhere', { properties: { a: { not: { $ref: '#/$defs/A' } } }, $defs: { A: isBad } }, { a: 'x' }],
  ['a condition', { properties: { a: { if: { not: isBad }, else: { const: 'AA' } } } }, { a: 'x' }],
  ['one of several', { properties: { a: { oneOf: [isBad, { const: 'x' }], anyOf: [{ type: 'string' }] } } }, { a: 'x' }],
  ['items', { properties: { a: { contains: isBad, maxContains: 1 } } }, { a: ['x', 'y'] }],
  [
    'what is evaluated',
    { properties: { a: isBad }, if: { not: isBad }, else: { properties: { b: {} } }, unevaluatedProperties: false },
    { b: 1 },
  ],
  [
    'what is referred to',
    {
      properties: {
        a: {
          oneOf: [
            { type: 'string', ...isBad },
            { $anchor: 'here', type: 'number' },
          ],
        },
        b: { $ref: '#/properties/a/oneOf/0' },
        c: { $ref: '#gone' },
        d: { $ref: '#/not/items' },
        e: { $ref: '#' },
      },
      not: { $anchor: 'gone', type: 'array', items: { type: 'string' } },
    },
    { b: 'x', c: 1, d: 'y', e: {} },
  ],
])('without the pattern of %s nothing is refused that the server accepts', async (_, schema, value) => {
  expect(await problems(schema, value)).toEqual([]);
});

test('references to what stays in the schema are checked', async () => {
  const schema = {
    properties: { a: isBad, b: { $ref: '#/$defs/N' }, c: { $ref: '#text' }, d: { $ref: '#/$defs/%7EL~1/anyOf/1' } },
    $defs: { N: { type: 'number' }, T: { $anchor: 'text', type: 'string' }, '~L/': { anyOf: [true, { type: 'boolean' }] } },
  };
  expect(await problems(schema, { b: 'x', c: 1, d: 1 })).toEqual(['b: must be number', 'c: must be string', 'd: must be boolean']);
});

test('the rest of the schema is checked', async () => {
  const schema = {
    properties: { a: { type: 'string', ...isBad }, b: { pattern: '^b$' } },
    patternProperties: { '^c': { type: 'number' } },
    required: ['a'],
    additionalProperties: false,
  };
  expect(await problems(schema, { b: 'b' })).toEqual(['a: is required']);
  expect(await problems(schema, { a: 1 })).toEqual(['a: must be string']);
  expect(await problems(schema, { a: 'a', b: 'a', c: 'x', d: 1 })).toHaveLength(3);
});

test('the pattern is shown to the model without hidden characters, and bounded', () => {
  const { schema, unknown } = withoutUnknownPatterns({ description: 'A name.', pattern: `\u202e(?i)${'x'.repeat(1_000)}` });
  expect(unknown).toHaveLength(1);
  expect(String(schema.description)).toMatch(/^A name\. Pattern: <U\+202E>\(\?i\)x+/);
  expect(String(schema.description).length).toBeLessThan(250);
});

test('patterns with many sets of characters by property are not parsed, and do not hold up the worker', () => {
  const costly = Array.from({ length: 10 }, (_, i) => ({ pattern: `[${'\\p{C}'.repeat(1_000)}]${i}` }));
  const few = { pattern: '^\\p{L}+$' };
  const before = process.cpuUsage();
  const { schema, unknown } = withoutUnknownPatterns({ type: 'object', properties: { few }, anyOf: [...costly, { pattern: '^a$' }] });
  const { user, system } = process.cpuUsage(before);
  expect(unknown).toHaveLength(costly.length);
  expect(schema).toMatchObject({ properties: { few }, anyOf: expect.arrayContaining([{ pattern: '^a$' }]) });
  // Parsed, they take more than a second.
  expect((user + system) / 1_000).toBeLessThan(500);
});
