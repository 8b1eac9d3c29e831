import { z } from 'zod';
import { callDigest } from '../../src/activities/steps/call-digest';
import { createToolbox, defineTool } from '../../src/tools';

const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys.',
  input: z.object({ command: z.string(), tries: z.number().default(3), at: z.coerce.date().optional() }),
  effect: 'once',
  approval: 'always',
  execute: () => 'done',
});

async function shown(args: object | string, tool = deploy): Promise<string | undefined> {
  const call = { id: 'c', name: tool.name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
  const verdict = await createToolbox([tool]).judge(call);
  if (verdict.kind !== 'run') throw new Error(JSON.stringify(verdict));
  return verdict.arguments;
}

test('a person sees the arguments as the tool receives them: in its order, with its defaults, without unknown fields', async () => {
  expect(await shown({ note: 'x'.repeat(5_000), tries: 1, command: 'rm -rf target' })).toBe('{"command":"rm -rf target","tries":1}');
  expect(await shown({ command: 'ls' })).toBe('{"command":"ls","tries":3}');
  expect(await shown({ command: 'ls', tries: 1, at: '2026-01-01' })).toBe('{"command":"ls","tries":1,"at":"2026-01-01T00:00:00.000Z"}');
});

test('nothing is recorded twice if the text of the model is identical', async () => {
  expect(await shown('{ "command": "ls",\n "tries": 1 }')).toBeUndefined();
});

test("the model's text is shown only if it says nothing that the tool does not get", async () => {
  expect(await shown('{"command":"ls","tries":1,"command":"rm -rf target"}')).toBe('{"command":"rm -rf target","tries":1}');
  expect(await shown('{"command":"ls","tries":1,"tries":9}')).toBe('{"command":"ls","tries":9}');
  expect(await shown('{"command":"ls","tries":9007199254740993}')).toBe('{"command":"ls","tries":9007199254740992}');
  expect(await shown('{"command":"\\u006c\\u0073 \\"é\\"" , "tries":1}')).toBeUndefined();
});

test('for a tool with a JSON Schema, declared fields come first, and other accepted ones are not left out', async () => {
  const open = defineTool({
    name: 'open',
    description: 'Takes anything.',
    input: { type: 'object', properties: { command: { type: 'string' }, folder: { type: 'string' } } },
    effect: 'once',
    approval: 'always',
    execute: () => 'done',
  });
  expect(await shown({ extra: 1, folder: '/', command: 'ls' }, open)).toBe('{"command":"ls","folder":"/","extra":1}');
});

test('a value that JSON can not represent completely is shown as the model wrote it', async () => {
  const map = defineTool({
    name: 'map',
    description: 'Makes a map.',
    input: z.object({ pairs: z.record(z.string(), z.string()).transform((pairs) => new Map(Object.entries(pairs))) }),
    effect: 'once',
    approval: 'always',
    execute: () => 'done',
  });
  expect(await shown({ pairs: { a: 'b' } }, map)).toBeUndefined();
});

test.each([
  ['Infinity', '1e999'],
  ['no number', 'many'],
])('a transformed value that JSON would show as null, %s, is shown as the model wrote it', async (_, text) => {
  const transformed = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ cents: z.string().transform(Number) }),
    approval: 'always',
    execute: () => 'done',
  });
  expect(await shown({ cents: '5' }, transformed)).toBe('{"cents":5}');
  expect(await shown({ cents: text }, transformed)).toBeUndefined();
  const dates = defineTool({
    name: 'at',
    description: 'Waits.',
    input: z.object({ at: z.array(z.string().transform((at) => (at === '' ? undefined : new Date(at)))) }),
    approval: 'always',
    execute: () => 'done',
  });
  expect(await shown({ at: ['2026-01-01'] }, dates)).toBe('{"at":["2026-01-01T00:00:00.000Z"]}');
  expect(await shown({ at: [text] }, dates)).toBeUndefined();
  expect(await shown({ at: [''] }, dates)).toBeUndefined();
});

test('a digest identifies thread, call, tool and arguments, whatever the order of their keys', () => {
  const call = { id: 'c', name: 'deploy', arguments: '' };
  const digest = callDigest('t', call, '{"a":1,"b":{"c":2,"d":3}}');
  expect(digest).toMatch(/^[0-9a-f]{16}$/);
  expect(callDigest('t', call, '{ "b": { "d": 3, "c": 2 }, "a": 1 }')).toBe(digest);
  const others = [
    callDigest('u', call, '{"a":1,"b":{"c":2,"d":3}}'),
    callDigest('t', { ...call, id: 'd' }, '{"a":1,"b":{"c":2,"d":3}}'),
    callDigest('t', { ...call, name: 'shell' }, '{"a":1,"b":{"c":2,"d":3}}'),
    callDigest('t', call, '{"a":1,"b":{"c":2,"d":4}}'),
  ];
  expect(new Set([digest, ...others]).size).toBe(5);
});
