import fc from 'fast-check';
import { assembleToolCalls } from '../../src/models/openai/tool-calls';

interface Call {
  id: string;
  name: string;
  arguments: string;
}

function assemble(fragments: object[], names: string[] = ['get', 'put']): Call[] {
  const assembly = assembleToolCalls(names);
  for (const fragment of fragments) assembly.take(fragment);
  return assembly.calls();
}

const piece = (index: number | undefined, id?: string, name?: string, args?: string) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});
const two = [
  { id: 'a', name: 'get', arguments: '{"x":1}' },
  { id: 'b', name: 'put', arguments: '{"y":2}' },
];

/** A text in pieces, in order; joined they are the text. */
const split = (text: string) =>
  fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 4 }).map((cuts) => {
    const edges = [0, ...cuts.sort((a, b) => a - b), text.length];
    return edges.slice(1).map((end, at) => text.slice(edges[at], end));
  });

const calls = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom(...'abcdef'.split('')) }), { minLength: 1, maxLength: 4 })
  .chain((names) => fc.tuple(...names.map((name, n) => fc.json().map((json) => ({ id: `call_${n}x`, name, arguments: json })))));

/** The fragments of a call: id and name in pieces first, then the arguments. */
const fragmentsOf = (call: Call, index: number) =>
  fc
    .tuple(split(call.id), split(call.name), split(call.arguments))
    .map(([ids, names, args]) => [
      ...Array.from({ length: Math.max(ids.length, names.length) }, (_, n) => piece(index, ids[n], names[n])),
      ...args.map((text) => piece(index, undefined, undefined, text)),
    ]);

test('[A27] [A28] any splitting and any interleaving of any calls assembles the same', () => {
  const scenario = calls.chain((list) =>
    fc.tuple(fc.constant(list), fc.tuple(...list.map(fragmentsOf)), fc.infiniteStream(fc.nat({ max: 3 }))),
  );
  fc.assert(
    fc.property(scenario, ([list, queues, order]) => {
      const rest = queues.map((queue) => [...queue]);
      const fragments: object[] = [];
      while (rest.some((queue) => queue.length > 0)) {
        const open = rest.filter((queue) => queue.length > 0);
        const chosen = open[(order.next().value as number) % open.length];
        const next = chosen?.shift();
        if (next) fragments.push(next);
      }
      expect(
        assemble(
          fragments,
          list.map((call) => call.name),
        ),
      ).toEqual(list);
    }),
    { numRuns: 500 },
  );
});

test('regular: id and name first, arguments in pieces, interleaved calls', () => {
  expect(
    assemble([
      piece(0, 'a', 'get', ''),
      piece(1, 'b', 'put', ''),
      piece(0, undefined, undefined, '{"x":1}'),
      piece(1, undefined, undefined, '{"y":2}'),
    ]),
  ).toEqual(two);
});

test('indexes decide the order, not arrival', () => {
  expect(assemble([piece(1, 'b', 'put', '{"y":2}'), piece(0, 'a', 'get', '{"x":1}')])).toEqual(two);
});

test('without an index, the id or a new name begins a call', () => {
  expect(assemble([piece(undefined, 'a', 'get', '{"x":1}'), piece(undefined, 'b', 'put', '{"y":2}')])).toEqual(two);
  expect(
    assemble([piece(undefined, 'a', 'get', ''), piece(undefined, 'b', 'put', '{"y":2}'), piece(undefined, 'a', undefined, '{"x":1}')]),
  ).toEqual(two);
  const nameless = assemble([
    piece(undefined, undefined, 'get', '{"x"'),
    piece(undefined, undefined, undefined, ':1}'),
    piece(undefined, undefined, 'get', '{}'),
  ]);
  expect(nameless.map((call) => call.arguments)).toEqual(['{"x":1}', '{}']);
});

test('without an id, the index is enough', () => {
  expect(assemble([piece(0, undefined, 'get', '{"x":1}'), piece(1, undefined, 'put', '{"y":2}')])).toEqual(
    two.map((call) => ({ ...call, id: '' })),
  );
});

test('parallel calls that all have index 0 are kept apart', () => {
  expect(assemble([piece(0, 'a', 'get', '{"x":1}'), piece(0, 'b', 'put', '{"y":2}')])).toEqual(two);
});

test('id and name repeated with every piece count once', () => {
  expect(assemble([piece(0, 'a', 'get', ''), piece(0, 'a', 'get', '{"x"'), piece(0, 'a', 'get', ':1}')])).toEqual(two.slice(0, 1));
  expect(assemble([piece(0, 'a', 'get', ''), piece(0, undefined, 'get', '{"x"'), piece(0, 'other', undefined, ':1}')])).toEqual(
    two.slice(0, 1),
  );
  expect(assemble([piece(undefined, 'a', 'get', '{"x"'), piece(undefined, 'a', 'get', ':1}')])).toEqual(two.slice(0, 1));
});

test('a name of two equal halves is distinguished from a repeated one by the list of tools', () => {
  expect(assemble([piece(0, 'a', 'ha'), piece(0, undefined, 'ha', '{}')], ['haha'])[0]?.name).toBe('haha');
  expect(assemble([piece(0, 'a', 'ha'), piece(0, undefined, 'ha', '{}')], ['ha'])[0]?.name).toBe('ha');
});

test('[A44] a call without arguments has empty ones', () => {
  expect(assemble([piece(0, 'a', 'get'), piece(1, 'b', 'put', '')]).map((call) => call.arguments)).toEqual(['', '']);
});

test('arguments sent as an object become its JSON, and invalid ones are ignored', () => {
  expect(assemble([null as never, 'x' as never, { index: 0, id: 'a', function: { name: 'get', arguments: { x: 1 } } }])).toEqual(
    two.slice(0, 1),
  );
});

test('each fragment reports its addition, under the index of its call', () => {
  const assembly = assembleToolCalls([]);
  expect(assembly.take(piece(5, 'a', 'get', ''))).toEqual({ type: 'tool-call', index: 0, id: 'a', name: 'get' });
  expect(assembly.take(piece(5, 'a', 'get', '{}'))).toEqual({ type: 'tool-call', index: 0, arguments: '{}' });
  expect(assembly.take(piece(5, 'a', 'get', ''))).toBeUndefined();
});
