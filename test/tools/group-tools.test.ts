import fc from 'fast-check';
import { z } from 'zod';
import { createToolset } from '../../src/tools';
import { defineTool } from '../../src/tools/defining/define-tool';
import { groupTools } from '../../src/tools/defining/group-tools';
import { openApiTools } from '../../src/tools/openapi/openapi-tools';

const tool = (name: string, tags?: readonly string[]) =>
  defineTool({ name, description: `${name}.`, input: z.object({}), ...(tags && { tags }) });
const shown = (groups: ReturnType<typeof groupTools>) => groups.map(({ name, tools }) => [name, tools.map((one) => one.name)]);
const [find, pay, ship, ping] = [
  tool('find', ['orders']),
  tool('pay', ['orders', 'money']),
  tool('ship', ['parcels']),
  tool('ping'),
] as const;

test('[A172] tools are grouped by tag if one has a tag, and are one group if none has', () => {
  expect(shown(groupTools([find, pay, ship]))).toEqual([
    ['orders', ['find', 'pay']],
    ['money', ['pay']],
    ['parcels', ['ship']],
  ]);
  expect(shown(groupTools([ping, tool('pong')]))).toEqual([['all', ['ping', 'pong']]]);
  expect(groupTools([])).toEqual([]);
});

test('[A172] a strategy that is set is used, whether there are tags or not', () => {
  expect(shown(groupTools([find, ping], { strategy: 'all-in-one', name: 'shop' }))).toEqual([['shop', ['find', 'ping']]]);
  expect(shown(groupTools([ping], { strategy: 'by-tag' }))).toEqual([['other', ['ping']]]);
  expect(() => groupTools([ping], { strategy: 'byTag' as never })).toThrow(`strategy is "byTag"; use 'by-tag' or 'all-in-one'`);
});

test('[A172] tags are in the given order with their descriptions, and one that no tool has is left out', () => {
  const tags = [{ name: 'parcels', description: 'What is on its way.' }, { name: 'empty' }, { name: 'orders' }];
  const groups = groupTools(createToolset([find, ship]), { tags });
  expect(groups.map(({ name, description }) => [name, description])).toEqual([
    ['parcels', 'What is on its way.'],
    ['orders', 'Tools with the tag orders.'],
  ]);
});

test('[A174] tools without a tag are in a group of their own', () => {
  expect(shown(groupTools([find, ping, tool('pong')]))).toEqual([
    ['orders', ['find']],
    ['other', ['ping', 'pong']],
  ]);
});

test('[A172][A174] groups of any tools have unique ids that agents can have, at least one tool each, and every tool', () => {
  const tags = fc.array(
    fc.string({ minLength: 1, maxLength: 80, unit: 'binary' }).filter((tag) => tag.trim() !== ''),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(fc.array(tags, { maxLength: 12 }), (all) => {
      const tools = all.map((own, n) => tool(`t${n}`, own));
      const groups = groupTools(tools);
      expect(new Set(groups.map(({ id }) => id)).size).toBe(groups.length);
      for (const { id, tools: some } of groups) {
        expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(some.length).toBeGreaterThan(0);
      }
      expect(new Set(groups.flatMap(({ tools: some }) => some))).toEqual(new Set(tools));
    }),
  );
});

test('[A172][A174] the operations of an OpenAPI document are grouped by its tags', async () => {
  const document = {
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1' },
    servers: [{ url: 'https://shop.example.com' }],
    tags: [{ name: 'pets', description: 'Animals.' }, { name: 'unused' }],
    paths: {
      '/owners': { get: { operationId: 'listOwners', tags: ['owners'] } },
      '/pets': { get: { operationId: 'listPets', tags: ['pets'] }, post: { operationId: 'addPet', tags: ['pets', 'owners'] } },
      '/ping': { get: { operationId: 'ping' } },
    },
  };
  const api = await openApiTools({ document });
  expect(shown(groupTools(api, { tags: api.tags }))).toEqual([
    ['pets', ['listPets', 'addPet']],
    ['owners', ['listOwners', 'addPet']],
    ['other', ['ping']],
  ]);
  expect(groupTools(api, { tags: api.tags })[0]?.description).toBe('Animals.');
});

test('tags that are no list of short texts are refused', () => {
  expect(tool('a', [])).not.toHaveProperty('tags');
  for (const tags of ['orders', [1], [' '], ['a'.repeat(101)], Array(21).fill('a')]) {
    expect(() => tool('a', tags as never)).toThrow("defineTool 'a': tags must be a list of at most 20 texts of 1 to 100 characters.");
  }
});
