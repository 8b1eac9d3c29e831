import { z } from 'zod';
import { callDigest } from '../../src/activities/call-digest';
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

test('a person is shown the arguments as the tool takes them: in its order, with its defaults, without what it does not know', async () => {
  expect(await shown({ note: 'x'.repeat(5_000), tries: 1, command: 'rm -rf target' })).toBe('{"command":"rm -rf target","tries":1}');
  expect(await shown({ command: 'ls' })).toBe('{"command":"ls","tries":3}');
  expect(await shown({ command: 'ls', tries: 1, at: '2026-01-01' })).toBe('{"command":"ls","tries":1,"at":"2026-01-01T00:00:00.000Z"}');
});

test("nothing is recorded twice where the model's text says just that", async () => {
  expect(await shown('{ "command": "ls",\n "tries": 1 }')).toBeUndefined();
});

test('of a tool with a JSON Schema, what it declares comes first, and what it also takes is not left out', async () => {
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

test('what JSON does not say all of is shown as the model wrote it', async () => {
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

test('a digest stands for thread, call, tool and arguments, whatever the order of their keys', () => {
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
