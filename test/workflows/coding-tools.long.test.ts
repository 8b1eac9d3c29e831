import { readdirSync, symlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { createMemoryWorkspace, type MemoryWorkspace } from '../../src/testing';
import { callTools, say } from '../../src/testing/model-server';
import {
  applyPatch,
  createShell,
  defineTool,
  editFile,
  globFiles,
  readFile,
  threadWorkspace,
  updatePlan,
  viewImage,
  writeFile as writeFileTool,
} from '../../src/tools';
import { testInSandbox } from '../support/in-sandbox';
import { type Rig, startRig } from '../support/rig';
import { newFolder, removeFolders } from '../tools/tool-host';
import { requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ name: z.string() }),
  effect: 'pure',
  execute: ({ name }) => `${name}: ${'x'.repeat(6_000)}`,
});
const context = { windowTokens: 12_000, reserveTokens: 2_000, pruneMinimumTokens: 1_000_000, keepTurns: 1, summaryTokens: 500 };
const agent = defineAgent({ name: 'planner', model: 'test-model', instructions: 'Work.', tools: [read, updatePlan, viewImage], context });

let rig: Rig;
let memory: MemoryWorkspace;
let apart: string;
beforeAll(async () => {
  memory = await createMemoryWorkspace({ 'src/total.ts': 'let sum = 1;\n', 'notes.md': '# Notes\n' });
  const tools = [readFile, editFile, applyPatch, globFiles];
  apart = join(await newFolder(), '{threadId}');
  const writer = defineAgent({
    name: 'apart',
    model: 'test-model',
    instructions: 'Write.',
    tools: [writeFileTool],
    workspace: apart,
  });
  const confined = defineAgent({ name: 'confined', model: 'test-model', instructions: 'Run.', tools: [createShell({ sandbox: 'auto' })] });
  const fixer = defineAgent({ name: 'fixer', model: 'test-model', instructions: 'Fix.', tools, workspace: memory.root });
  const workspace = await newFolder();
  await writeFile(join(workspace, 'dot.gif'), Buffer.from(dot, 'base64'));
  rig = await startRig({ script, agents: [agent, fixer, writer, confined], worker: { workspace } });
});
afterAll(() => {
  memory.close();
  return removeFolders();
});

/** A GIF of one pixel. */
const dot = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

test('[B159] an image that was viewed is in the next model call', async () => {
  const input = scene([callTools([{ name: 'view_image', args: { path: 'dot.gif' } }]), say('a dot')]);
  await story(await rig.client.start(agent, input));
  const next = JSON.stringify(requestsOf(rig, input)[1]?.body.messages);
  expect(next).toContain('dot.gif: image/gif, 1x1 pixels, 42 bytes');
  expect(next).toContain(`"url":"data:image/gif;base64,${dot}"`);
});

test('an agent works on files in memory', async () => {
  const patch = '*** Begin Patch\n*** Add File: src/new.ts\n+export {};\n*** Delete File: notes.md\n*** End Patch';
  const input = scene([
    callTools([{ name: 'read_file', args: { path: 'src/total.ts' } }]),
    callTools([{ name: 'edit', args: { path: 'src/total.ts', old_string: 'sum = 1', new_string: 'sum = 0' } }]),
    callTools([{ name: 'apply_patch', args: { patch } }]),
    callTools([{ name: 'glob', args: { pattern: '**/*' } }]),
    say('fixed'),
  ]);
  await story(await rig.client.start('fixer', input));
  expect(textOf(requestsOf(rig, input).at(-1)?.body.messages.at(-1))).toMatch(/^src\/(new|total)\.ts\nsrc\/(new|total)\.ts$/);
  expect(memory.files()).toEqual({ 'src/total.ts': 'let sum = 0;\n', 'src/new.ts': 'export {};\n' });
});

test('threads work in folders of their own, which a link can not replace', async () => {
  const input = scene(({ turn }) =>
    turn === 0 ? callTools([{ name: 'write_file', args: { path: 'a.txt', content: 'mine' } }]) : say('ok'),
  );
  const ids = ['Ünï/../x', 'Ünï/../y'].map((id) => `${id} ${process.pid}`);
  for (const id of ids) await story(await rig.client.start('apart', input, { id }));
  const folders = ids.map((id) => threadWorkspace(apart, id));
  expect(new Set(folders.map((folder) => dirname(folder)))).toEqual(new Set([dirname(apart)]));
  expect(folders.map((folder) => readdirSync(folder).filter((name) => !name.startsWith('.')))).toEqual([['a.txt'], ['a.txt']]);

  const linked = `linked ${process.pid}`;
  symlinkSync(folders[0] as string, threadWorkspace(apart, linked));
  const told = await story(await rig.client.start('apart', input, { id: linked }));
  expect(told.at(-1)).toMatchObject({
    type: 'thread.run.failed',
    data: { message: expect.stringContaining('is a link, and is not used') },
  });
});

testInSandbox('the status says whether commands run in a sandbox', async () => {
  const input = scene([say('ok')]);
  const [confined, free] = await Promise.all(['confined', 'planner'].map((name) => rig.client.start(name, input)));
  for (const thread of [confined, free]) await thread?.result();
  expect((await confined?.status())?.facts?.sandbox).toEqual({ state: 'used', network: false });
  expect((await free?.status())?.facts?.sandbox).toBeUndefined();
});

const plan = (...steps: [string, string][]) => ({
  name: 'update_plan',
  args: { steps: steps.map(([description, status]) => ({ description, status })) },
});

const changes = (...steps: [number, string][]) => ({
  name: 'update_plan',
  args: { changes: steps.map(([step, status]) => ({ step, status })) },
});

test('[B162] the last plan that was accepted is in the status, and stays when the transcript is summarized', async () => {
  let turn = 0;
  const input = scene(() => {
    turn += 1;
    if (turn === 1) return callTools([plan(['read', 'in_progress'], ['repair', 'pending'])]);
    // Two calls of one answer are made in their order.
    if (turn === 2) return callTools([changes([1, 'pending'], [2, 'pending']), changes([1, 'completed'], [2, 'in_progress'])]);
    if (turn === 3) return callTools([plan(['read', 'in_progress'], ['repair', 'in_progress']), changes([3, 'pending'])]);
    return turn < 14 ? callTools([{ name: 'read', args: { name: `file-${turn}` } }]) : say('done');
  }, 'Plan and read');
  const thread = await rig.client.start(agent, input);
  await story(thread);
  const status = await thread.status();
  expect(status.plan).toBe('[x] read\n[>] repair');
  const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
  expect(last.some((message) => textOf(message).includes('<plan>\n[x] read\n[>] repair\n</plan>'))).toBe(true);
  expect(JSON.stringify(last)).not.toContain('update_plan');
});
