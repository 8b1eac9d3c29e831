import { defineTool } from '../../src/tools/define-tool';
import type { JsonSchema, SchemaDefinitions } from '../../src/tools/json-schema';
import { createToolbox } from '../../src/tools/toolbox';
import { callOf, run } from './tool-host';

const toolOf = (input: JsonSchema, definitions?: SchemaDefinitions) =>
  defineTool({ name: 'order', description: 'Order.', input, definitions, execute: (args) => args });

/** What a call is refused for; nothing when it is not. */
async function refusal(input: JsonSchema, args: unknown, definitions?: SchemaDefinitions): Promise<string> {
  const verdict = await createToolbox([toolOf(input, definitions)]).judge(callOf('order', args));
  return verdict.kind === 'reject' ? verdict.error.message : '';
}

const order = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    size: { enum: ['s', 'm'] },
    lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] } },
  },
  required: ['id'],
  additionalProperties: false,
};
const id = '0b6f8f5e-8c1e-4f6b-9c3e-2b1a8f0d7c11';

describe('a JSON Schema as the input of a tool', () => {
  test('reaches the model as it is, without its dialect', () => {
    const tool = toolOf({ $schema: 'http://json-schema.org/draft-07/schema#', ...order });
    expect(tool.parameters).toEqual(order);
    expect(toolOf({ type: 'object' }).parameters).toEqual({ type: 'object', properties: {} });
  });

  test('what fits is given to execute as it was sent', async () => {
    const { outcome } = await run(toolOf(order), { id, lines: [{ sku: 'a', note: 'x' }] });
    expect(outcome).toMatchObject({ status: 'success', content: `{"id":"${id}","lines":[{"sku":"a","note":"x"}]}` });
  });

  test('[A41] what does not fit is listed, problem by problem, with its place', async () => {
    const message = await refusal(order, { id: 'x', size: 'xl', lines: [{ sku: 'a' }, {}], note: 1 });
    expect(message.split('\n')).toEqual([
      "Tool 'order': the arguments don't fit its schema:",
      expect.stringMatching(/^- note: is not known$/),
      '- id: must match format "uuid"',
      '- size: must be one of "s", "m"',
      '- lines[1].sku: is required',
    ]);
  });

  test('what fits none of several forms says so', async () => {
    const input = { type: 'object', properties: { to: { anyOf: [{ type: 'string' }, { type: 'number' }] } } };
    expect(await refusal(input, { to: null })).toContain('- to: fits none of its forms');
  });

  test('of a thousand problems the first twenty are told', async () => {
    const input = { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } };
    const lines = (await refusal(input, { list: Array.from({ length: 1_000 }, () => 1) })).split('\n');
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe('- and 980 more');
  });

  test('tuples are those of the dialect that the schema is written in', async () => {
    const pair = [{ type: 'string' }, { type: 'number' }];
    const old = { type: 'object', properties: { pair: { type: 'array', items: pair } } };
    const new_ = { type: 'object', properties: { pair: { type: 'array', prefixItems: pair } } };
    for (const input of [old, new_, { $schema: 'https://json-schema.org/draft/2020-12/schema', ...new_ }]) {
      expect(await refusal(input, { pair: ['a', 1] })).toBe('');
      expect(await refusal(input, { pair: [1, 'a'] })).toContain('- pair[0]: must be string');
    }
  });

  test('two tools may use the same ids', async () => {
    const inner = (type: string) => ({ type: 'object', properties: { a: { $ref: 'thing' } }, $defs: { thing: { $id: 'thing', type } } });
    const [words, numbers] = [inner('string'), inner('number')];
    expect([await refusal(words, { a: 'x' }), await refusal(numbers, { a: 1 })]).toEqual(['', '']);
    expect(await refusal(numbers, { a: 'x' })).toContain('a: must be number');
    // And none finds what another has.
    expect(() => toolOf({ type: 'object', properties: { a: { $ref: 'thing' } }, $defs: { thing: {} } })).toThrow(
      /can't resolve reference thing/,
    );
  });

  test('two tools may both contain themselves', async () => {
    const list = (type: string) => ({ type: 'object', properties: { value: { type }, next: { $ref: '#' } } });
    const [words, numbers] = [toolOf(list('string')), toolOf(list('number'))];
    expect(await words.check({ value: 'a', next: { value: 'b' } })).toMatchObject({ ok: true });
    expect(await numbers.check({ value: 1, next: { value: 'b' } })).toEqual({ ok: false, problems: ['next.value: must be number'] });
    expect(await words.check({ value: 'a', next: { value: 1 } })).toEqual({ ok: false, problems: ['next.value: must be string'] });
  });

  test('an argument that is too deep is refused, not thrown', async () => {
    const input = { type: 'object', properties: { next: { $ref: '#' } } };
    const depth = 20_000;
    expect(await refusal(input, `${'{"next":'.repeat(depth)}{}${'}'.repeat(depth)}`)).toContain(
      'the arguments are nested deeper than 100 levels',
    );
  });

  const circle: { self?: unknown } = { self: undefined };
  circle.self = circle;
  test.each([
    ['a root that is no object', { type: 'string' }, /input is not an object at its root/],
    ['nothing that a schema says', {}, /input says nothing of an object/],
    ['words that are no schema', { city: 'string' }, /says nothing of an object; a JSON Schema has one of type, properties/],
    [
      'a type that is none',
      { type: 'object', properties: { a: { type: 'text' } } },
      /input is no JSON Schema of draft-07 or 2020-12: schema is invalid/,
    ],
    ['a pattern that is none', { type: 'object', properties: { a: { pattern: '(' } } }, /is no JSON Schema/],
    ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/b' } } }, /can't resolve reference #\/\$defs\/b/],
    ['an unknown dialect', { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }, /draft-07 and 2020-12 are known/],
    ['a check that is asynchronous', { $async: true, type: 'object' }, /\$async is not part/],
    ['an object in a circle', { type: 'object', properties: circle }, /contains itself does so by \$ref/],
  ])('refuses %s', (_what, input, message) => {
    expect(() => toolOf(input as JsonSchema)).toThrow(message);
  });
});

describe('[A42] references to components', () => {
  const components = {
    schemas: {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, owner: { $ref: '#/components/schemas/Owner' }, kind: { $ref: '#kind' } },
      },
      Owner: { type: 'object', properties: { pets: { type: 'array', items: { $ref: '#/components/schemas/Pet' } } } },
      Kind: { $anchor: 'kind', enum: ['cat', 'dog'] },
      'Odd/name~': { type: 'integer' },
      Unused: { type: 'null' },
    },
  };
  const input = {
    type: 'object',
    properties: { pet: { $ref: '#/components/schemas/Pet' }, n: { $ref: '#/components/schemas/Odd~1name~0' } },
  };

  test('are resolved, also in a circle and by $anchor', async () => {
    const pet = { name: 'Tom', kind: 'cat', owner: { pets: [{ name: 'Rex', kind: 'dog' }] } };
    expect(await refusal(input, { pet, n: 3 }, { components })).toBe('');
    const wrong = { name: 'Tom', kind: 'cow', owner: { pets: [{ kind: 'dog' }] } };
    const message = await refusal(input, { pet: wrong, n: 1.5 }, { components });
    for (const words of ['- pet.kind: must be one of "cat", "dog"', '- pet.owner.pets[0].name: is required', '- n: must be integer']) {
      expect(message).toContain(words);
    }
  });

  test('reach the model in one schema, with what it needs and nothing else', () => {
    const { parameters } = toolOf(input, { components });
    expect(Object.keys(parameters.$defs ?? {}).sort()).toEqual(['Kind', 'Odd/name~', 'Owner', 'Pet']);
    expect(parameters).toMatchObject({
      type: 'object',
      properties: { pet: { $ref: '#/$defs/Pet' } },
      $defs: {
        Pet: { properties: { owner: { $ref: '#/$defs/Owner' } } },
        Owner: { properties: { pets: { items: { $ref: '#/$defs/Pet' } } } },
      },
    });
    expect(JSON.stringify(parameters)).not.toContain('components');
  });

  test('may stand in the schema itself, as in an OpenAPI document', async () => {
    expect(await refusal({ ...input, components }, { pet: { kind: 'dog' } })).toContain('- pet.name: is required');
  });

  test('may be all that the schema says', async () => {
    for (const $ref of ['#/components/schemas/Owner', '#/components/schemas/Alias']) {
      const all = { components: { schemas: { ...components.schemas, Alias: { $ref: '#/components/schemas/Owner' } } } };
      expect(toolOf({ $ref }, all).parameters).toMatchObject({ type: 'object', properties: { pets: { type: 'array' } } });
      expect(await refusal({ $ref }, { pets: [{}] }, all)).toContain('- pets[0].name: is required');
    }
  });

  test('may be all that the schema says, by an anchor of something that contains itself', async () => {
    const Node = { $anchor: 'node', type: 'object', properties: { value: { type: 'number' }, next: { $ref: '#node' } } };
    const all = { components: { schemas: { Node } } };
    const { parameters } = toolOf({ $ref: '#node' }, all);
    expect(parameters).toMatchObject({ properties: { value: { type: 'number' } }, $defs: { Node: { $anchor: 'node' } } });
    // Two of one name would be no schema.
    expect(parameters).not.toHaveProperty('$anchor');
    expect(await refusal({ $ref: '#node' }, { value: 1, next: { value: 'x' } }, all)).toContain('- next.value: must be number');
  });

  test('may be yes or no', async () => {
    const all = { components: { schemas: { Any: true, None: false } as never } };
    const both = { type: 'object', properties: { a: { $ref: '#/components/schemas/Any' }, b: { $ref: '#/components/schemas/None' } } };
    expect(await refusal(both, { a: 1 }, all)).toBe('');
    expect(await refusal(both, { b: 1 }, all)).toContain('- b: ');
  });

  test('keep out of the way of definitions that the schema has', async () => {
    const own = { ...input, $defs: { Pet: { type: 'string' } }, required: ['pet'] };
    const both = { ...own, properties: { ...own.properties, word: { $ref: '#/$defs/Pet' } } };
    expect(await refusal(both, { pet: { name: 'Tom' }, word: 'x' }, { components })).toBe('');
    expect(await refusal(both, { pet: 'Tom', word: {} }, { components })).toMatch(/- pet: must be object[\s\S]*- word: must be string/);
  });

  test('look alike in data and in names, and are neither', async () => {
    const words = { $ref: '#/components/schemas/Nowhere' };
    const tricky = {
      type: 'object',
      properties: { $ref: { type: 'string' }, default: { $ref: '#/components/schemas/Kind' }, a: { const: words, default: words } },
    };
    expect(await refusal(tricky, { $ref: 'x', default: 'cat', a: words }, { components })).toBe('');
    expect(await refusal(tricky, { default: 'cow' }, { components })).toContain('- default: must be one of');
  });

  test('that there are not are named at once, with those there are', () => {
    const lost = { type: 'object', properties: { a: { $ref: '#/components/schemas/Pett' } } };
    expect(() => toolOf(lost, { components })).toThrow(
      "defineTool 'order': input refers to '#/components/schemas/Pett', which is not among its definitions (there are: Pet, Owner, Kind",
    );
    expect(() => toolOf(lost)).toThrow('(there are: none)');
  });
});
