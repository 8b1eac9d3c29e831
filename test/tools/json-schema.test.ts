import { defineTool } from '../../src/tools/defining/define-tool';
import { type JsonSchema, type SchemaDefinitions, selfContained } from '../../src/tools/defining/json-schema';
import { createToolbox } from '../../src/tools/running/toolbox';
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
  test('reaches the model unchanged, without its dialect', () => {
    const tool = toolOf({ $schema: 'http://json-schema.org/draft-07/schema#', ...order });
    expect(tool.parameters).toEqual(order);
    expect(toolOf({ type: 'object' }).parameters).toEqual({ type: 'object', properties: {} });
  });

  test('valid arguments are passed to execute unchanged', async () => {
    const { outcome } = await run(toolOf(order), { id, lines: [{ sku: 'a', note: 'x' }] });
    expect(outcome).toMatchObject({ status: 'success', content: `{"id":"${id}","lines":[{"sku":"a","note":"x"}]}` });
  });

  test('[A41] every problem is listed with its location', async () => {
    const message = await refusal(order, { id: 'x', size: 'xl', lines: [{ sku: 'a' }, {}], note: 1 });
    expect(message.split('\n')).toEqual([
      "Tool 'order': the arguments don't fit its schema:",
      expect.stringMatching(/^- note: is not known$/),
      '- id: must match format "uuid"',
      '- size: must be one of "s", "m"',
      '- lines[1].sku: is required',
    ]);
  });

  test('arguments that match none of several forms are an error that says so', async () => {
    const input = { type: 'object', properties: { to: { anyOf: [{ type: 'string' }, { type: 'number' }] } } };
    expect(await refusal(input, { to: null })).toContain('- to: fits none of its forms');
  });

  test('of a thousand problems the first twenty are reported', async () => {
    const input = { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } };
    const lines = (await refusal(input, { list: Array.from({ length: 1_000 }, () => 1) })).split('\n');
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe('- and 980 more');
  });

  test('tuples follow the dialect of the schema', async () => {
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

  test('two tools may both be recursive', async () => {
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
    ['nothing that a schema says', {}, /input doesn't describe an object/],
    ['words that are no schema', { city: 'string' }, /doesn't describe an object; a JSON Schema needs one of type, properties/],
    [
      'a type that is none',
      { type: 'object', properties: { a: { type: 'text' } } },
      /input is not a valid JSON Schema of draft-07 or 2020-12: schema is invalid/,
    ],
    ['a pattern that is none', { type: 'object', properties: { a: { pattern: '(' } } }, /is not a valid JSON Schema/],
    ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/b' } } }, /can't resolve reference #\/\$defs\/b/],
    ['an unknown dialect', { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }, /draft-07 and 2020-12 are known/],
    ['a check that is asynchronous', { $async: true, type: 'object' }, /\$async is not part/],
    ['an object in a circle', { type: 'object', properties: circle }, /use \$ref for a recursive schema/],
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

  test('are resolved, also circular ones and by $anchor', async () => {
    const pet = { name: 'Tom', kind: 'cat', owner: { pets: [{ name: 'Rex', kind: 'dog' }] } };
    expect(await refusal(input, { pet, n: 3 }, { components })).toBe('');
    const wrong = { name: 'Tom', kind: 'cow', owner: { pets: [{ kind: 'dog' }] } };
    const message = await refusal(input, { pet: wrong, n: 1.5 }, { components });
    for (const words of ['- pet.kind: must be one of "cat", "dog"', '- pet.owner.pets[0].name: is required', '- n: must be integer']) {
      expect(message).toContain(words);
    }
  });

  test('reach the model in one schema, with only the components that it needs', () => {
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

  test('may be in the schema itself, as in an OpenAPI document', async () => {
    expect(await refusal({ ...input, components }, { pet: { kind: 'dog' } })).toContain('- pet.name: is required');
  });

  test('may be the whole schema', async () => {
    for (const $ref of ['#/components/schemas/Owner', '#/components/schemas/Alias']) {
      const all = { components: { schemas: { ...components.schemas, Alias: { $ref: '#/components/schemas/Owner' } } } };
      expect(toolOf({ $ref }, all).parameters).toMatchObject({ type: 'object', properties: { pets: { type: 'array' } } });
      expect(await refusal({ $ref }, { pets: [{}] }, all)).toContain('- pets[0].name: is required');
    }
  });

  test('may be the whole schema, by an anchor of a recursive component', async () => {
    const Node = { $anchor: 'node', type: 'object', properties: { value: { type: 'number' }, next: { $ref: '#node' } } };
    const all = { components: { schemas: { Node } } };
    const { parameters } = toolOf({ $ref: '#node' }, all);
    expect(parameters).toMatchObject({ properties: { value: { type: 'number' } }, $defs: { Node: { $anchor: 'node' } } });
    // Two of one name would be no schema.
    expect(parameters).not.toHaveProperty('$anchor');
    expect(await refusal({ $ref: '#node' }, { value: 1, next: { value: 'x' } }, all)).toContain('- next.value: must be number');
  });

  test('may be true or false', async () => {
    const all = { components: { schemas: { Any: true, None: false } as never } };
    const both = { type: 'object', properties: { a: { $ref: '#/components/schemas/Any' }, b: { $ref: '#/components/schemas/None' } } };
    expect(await refusal(both, { a: 1 }, all)).toBe('');
    expect(await refusal(both, { b: 1 }, all)).toContain('- b: ');
  });

  test('do not collide with definitions of the schema', async () => {
    const own = { ...input, $defs: { Pet: { type: 'string' } }, required: ['pet'] };
    const both = { ...own, properties: { ...own.properties, word: { $ref: '#/$defs/Pet' } } };
    expect(await refusal(both, { pet: { name: 'Tom' }, word: 'x' }, { components })).toBe('');
    expect(await refusal(both, { pet: 'Tom', word: {} }, { components })).toMatch(/- pet: must be object[\s\S]*- word: must be string/);
  });

  test('that appear in data and in names are not references', async () => {
    const words = { $ref: '#/components/schemas/Nowhere' };
    const tricky = {
      type: 'object',
      properties: { $ref: { type: 'string' }, default: { $ref: '#/components/schemas/Kind' }, a: { const: words, default: words } },
    };
    expect(await refusal(tricky, { $ref: 'x', default: 'cat', a: words }, { components })).toBe('');
    expect(await refusal(tricky, { default: 'cow' }, { components })).toContain('- default: must be one of');
  });

  test('that are missing are reported immediately, with the existing ones', () => {
    const lost = { type: 'object', properties: { a: { $ref: '#/components/schemas/Pett' } } };
    expect(() => toolOf(lost, { components })).toThrow(
      "defineTool 'order': input refers to '#/components/schemas/Pett', which is not among its definitions (there are: Pet, Owner, Kind",
    );
    expect(() => toolOf(lost)).toThrow('(there are: none)');
  });
});

describe('a schema by an untrusted author', () => {
  const refuse = (problem: string) => new Error(problem);

  // Looked through for each reference, either takes minutes.
  test('may refer to an anchor any number of times', () => {
    const anyOf = Array.from({ length: 40_000 }, () => ({ $ref: '#a' }));
    expect(selfContained({ type: 'object', anyOf }, undefined, refuse).anyOf).toHaveLength(anyOf.length);
  });

  test('may refer to the anchors of any number of components', () => {
    const names = Array.from({ length: 30_000 }, (_, n) => `c${n}`);
    const schemas = Object.fromEntries(names.map((name) => [name, { $anchor: `${name}a` }]));
    const anyOf = names.map((name) => ({ $ref: `#${name}a` }));
    const { $defs } = selfContained({ type: 'object', anyOf, components: { schemas } }, undefined, refuse);
    expect(Object.keys($defs as object)).toHaveLength(names.length);
  });

  test('may have components that refer to each other in a long chain', () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 30_000 }, (_, n) => [`c${n}`, { $ref: `#/components/schemas/c${(n + 1) % 30_000}` }]),
    );
    const schema = { type: 'object', properties: { a: { $ref: '#/components/schemas/c0' } }, components: { schemas } };
    expect(Object.keys(selfContained(schema, undefined, refuse).$defs as object)).toHaveLength(30_000);
  });
});
