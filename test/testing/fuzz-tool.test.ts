import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { Artifacts, memoryArtifacts } from '../../src/artifacts';
import { fuzzTool } from '../../src/testing';
import { confusedArguments, seeded } from '../../src/testing/confused-arguments';
import {
  applyPatch,
  createShellTools,
  createWebFetch,
  defineTool,
  editFile,
  globFiles,
  grepFiles,
  listDir,
  readFile,
  ToolFailure,
  updatePlan,
  viewImage,
  writeFile,
} from '../../src/tools';
import { createOutputTools } from '../../src/tools/built-in/output-tools';
import { Tasks } from '../../src/tools/built-in/tasks/tasks';
import { createFindTools } from '../../src/tools/search/find-tools';
import { rounds } from '../support/rounds';
import { newFolder, removeFolders } from '../tools/tool-host';

afterEach(removeFolders);

const input = z.object({ items: z.array(z.object({ sku: z.string() })), note: z.string().optional() });

test('an exception of a tool is found once, with the shortest arguments that cause it', async () => {
  const broken = defineTool({
    name: 'order',
    description: 'Orders.',
    input,
    // As if there were always an item.
    execute: ({ items }) => (items[0] as { sku: string }).sku.toUpperCase(),
  });
  const { findings, ...counts } = await fuzzTool(broken, { calls: 400 });
  expect(findings).toEqual([{ problem: 'threw', arguments: '{"items":[]}', message: expect.stringMatching(/undefined/) }]);
  expect(counts.calls).toBe(400);
  expect(counts.ran + counts.rejected).toBe(400);
  expect(Math.min(counts.ran, counts.rejected, counts.failed)).toBeGreaterThan(20);
});

const names = Array.from({ length: 12 }, (_, at) => `p${at}`);

test.each<[string, object]>([
  [
    'to its root in each of twelve properties',
    { properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])), required: names },
  ],
  [
    'to itself in all its choices',
    { properties: { a: { $ref: '#/$defs/a' } }, required: ['a'], $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } } },
  ],
])('a schema that refers %s gives arguments of bounded size', async (_, schema) => {
  const recursive = defineTool({ name: 'tree', description: 'Takes a tree.', input: { type: 'object', ...schema }, execute: () => 'ok' });
  expect(await fuzzTool(recursive, { calls: 20 })).toMatchObject({ calls: 20 });
  for (let seed = 0; seed < 50; seed++) {
    // Some of its values are texts of 100,000 characters.
    expect(confusedArguments(recursive.parameters, seeded(seed)).replaceAll('x'.repeat(100_000), 'x').length).toBeLessThan(500_000);
  }
});

test('a tool that says what is wrong has no findings', async () => {
  const sound = defineTool({
    name: 'order',
    description: 'Orders.',
    input,
    execute({ items: [first] }) {
      if (!first) throw new ToolFailure('Error: an order needs at least one item.');
      return first.sku.toUpperCase();
    },
  });
  expect((await fuzzTool(sound, { calls: 400 })).findings).toEqual([]);
});

test('an approval rule that throws and a tool that does not end are found, too', async () => {
  const approval = ({ note }: z.infer<typeof input>) => (note as string).length > 3;
  const execute = (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise<string>((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
  const tool = defineTool({ name: 'order', description: 'Orders.', input, approval, timeoutMs: 1, execute });
  const { findings } = await fuzzTool(tool, { calls: 100 });
  expect(findings.map(({ problem }) => problem).sort()).toEqual(['approval', 'timed-out']);
});

test('a tool that is answered from outside is refused', async () => {
  await expect(fuzzTool(defineTool({ name: 'ask', description: 'Asks.', input }))).rejects.toThrow("fuzzTool: 'ask' has no execute");
});

test('a seed repeats its calls, and another makes others', () => {
  const schema = defineTool({ name: 'order', description: 'Orders.', input }).parameters;
  const made = (seed: number) => {
    const random = seeded(seed);
    return Array.from({ length: 30 }, () => confusedArguments(schema, random));
  };
  expect(made(1)).toEqual(made(1));
  expect(made(1)).not.toEqual(made(2));
});

const artifacts = new Artifacts(memoryArtifacts());
const outputTools = createOutputTools((...asked) => artifacts.use(...asked));
const tasksFolder = mkdtempSync(join(tmpdir(), 'longhaul-fuzz-'));
const tasks = new Tasks(tasksFolder);
afterAll(async () => {
  await tasks.hold(async () => true)();
  rmSync(tasksFolder, { recursive: true });
});
const files = [applyPatch, editFile, globFiles, grepFiles, listDir, readFile, updatePlan, viewImage, writeFile];

test.each(
  [...files, ...outputTools, createWebFetch(), ...createShellTools({}, tasks), createFindTools(files)].map(
    (tool) => [tool.name, tool] as const,
  ),
)('the built-in tool %s says what is wrong with whatever arguments it gets', async (name, tool) => {
  const workspace = await newFolder();
  const calls = name === 'shell' ? 60 : 150;
  for (const seed of Array.from({ length: rounds(1) }, (_, at) => at + 1)) {
    const { findings, ran } = await fuzzTool(tool, { calls, seed, workspace });
    expect(findings).toEqual([]);
    expect(ran).toBeGreaterThan(0);
  }
});
