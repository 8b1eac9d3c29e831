import { mkdir, readFile as readText, stat, symlink, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createCoder } from '../../src/agents/coder';
import { createShell, defineTool, openWorkspace, type PermissionMode, readFile, writeFile } from '../../src/tools';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { createToolbox } from '../../src/tools/running/toolbox';
import { testInSandbox } from '../support/in-sandbox';
import { callOf, hostWith, newFolder, removeFolders } from './tool-host';

afterEach(removeFolders);

/** A workspace with a link to a folder outside. */
async function twoFolders() {
  const [workspace, outside] = [await newFolder(), await newFolder()];
  await mkdir(join(outside, 'src'));
  await writeText(join(outside, 'src', 'a.txt'), 'needle\n');
  await symlink(outside, join(workspace, 'out'));
  return { workspace, outside };
}

function user(workspace: string, mode: PermissionMode | undefined, sandbox: 'off' | 'required' = 'off') {
  const { toolbox } = createCoder({ workspace, sandbox, permissions: createPermissions({ ...(mode && { mode }) }) });
  return async (name: string, args: object) => {
    const { outcome } = await toolbox.execute(callOf(name, args), hostWith({ workspace, idempotencyKey: JSON.stringify([name, args]) }));
    return String(outcome.content);
  };
}

const calls = (path: string): [string, object][] => [
  ['read_file', { path: `${path}/src/a.txt` }],
  ['list_dir', { path }],
  ['glob', { path, pattern: '*.txt' }],
  ['grep', { path, pattern: 'needle' }],
  ['edit', { path: `${path}/src/a.txt`, old_string: 'needle', new_string: 'thread' }],
  ['write_file', { path: `${path}/new/b.txt`, content: 'new\n' }],
  ['apply_patch', { patch: `*** Begin Patch\n*** Add File: ${path}/c.txt\n+c\n*** End Patch` }],
  ['shell', { command: 'pwd', workdir: path }],
];

test.each(['absolute', 'through a link', 'with ..'])('[B165] with full access, tools for files use paths outside: %s', async (how) => {
  const { workspace, outside } = await twoFolders();
  const path = how === 'absolute' ? outside : how === 'with ..' ? join('..', outside.slice(outside.lastIndexOf('/') + 1)) : 'out';
  const use = user(workspace, 'full-access');
  const told: string[] = [];
  for (const [name, args] of calls(path)) told.push(await use(name, args));
  expect(told).toEqual([
    expect.stringMatching(/^L1: needle\n/),
    'src/\nsrc/a.txt',
    `${outside}/src/a.txt`,
    `${outside}/src/a.txt\nL1: needle`,
    expect.stringContaining(`${outside}/src/a.txt`),
    `Wrote 4 bytes to ${outside}/new/b.txt`,
    expect.stringContaining('c.txt'),
    outside,
  ]);
  expect(await readText(join(outside, 'src/a.txt'), 'utf8')).toBe('thread\n');
  expect(await readText(join(outside, 'c.txt'), 'utf8')).toBe('c\n');
  // A later attempt at a call finds it made.
  expect(await use('edit', calls(path)[4]?.[1] ?? {})).toBe(told[4]);
  expect(await use('write_file', { path: 'inside.txt', content: 'x' })).toBe('Wrote 1 bytes to inside.txt');
  expect((await stat(join(workspace, 'inside.txt'))).size).toBe(1);
});

test.each([undefined, 'minimal', 'trusted', 'sandboxed'] as const)('[B165] in mode %s, they refuse paths outside', async (mode) => {
  const { workspace, outside } = await twoFolders();
  const use = user(workspace, mode);
  for (const path of [outside, 'out'])
    for (const [name, args] of calls(path)) expect(await use(name, args)).toContain('is outside the workspace');
  expect(await readText(join(outside, 'src/a.txt'), 'utf8')).toBe('needle\n');
});

testInSandbox('[B165] with full access, they stay in the workspace if commands run in a sandbox', async () => {
  const { workspace, outside } = await twoFolders();
  const use = user(workspace, 'full-access', 'required');
  for (const [name, args] of calls(outside)) expect(await use(name, args)).toContain('is outside the workspace');
});

test('with full access, they stay in the workspace of an agent that has no shell', async () => {
  const { workspace, outside } = await twoFolders();
  const toolbox = createToolbox([readFile, writeFile], { permissions: createPermissions({ mode: 'full-access' }) });
  for (const [name, args] of calls(outside).filter(([name]) => ['read_file', 'write_file'].includes(name))) {
    const { outcome } = await toolbox.execute(callOf(name, args), hostWith({ workspace, idempotencyKey: name }));
    expect(outcome.content).toContain('is outside the workspace');
  }
});

test('a tool of your own learns whether it may leave the workspace', async () => {
  const { workspace, outside } = await twoFolders();
  await expect(openWorkspace(workspace).then(({ inside }) => inside(outside))).rejects.toThrow('is outside the workspace');
  const free = await openWorkspace(workspace, { fullAccess: true });
  expect([await free.inside('out/src'), free.show(join(outside, 'src')), free.show(join(workspace, 'a'))]).toEqual([
    join(outside, 'src'),
    join(outside, 'src'),
    'a',
  ]);
  const seen: unknown[] = [];
  const own = defineTool({
    name: 'own',
    description: 'Says what it may do.',
    input: z.object({}),
    effect: 'pure',
    execute: (_, ctx) => String(seen.push('fullAccess' in ctx)),
  });
  for (const mode of ['full-access', 'trusted'] as const) {
    await createToolbox([own, createShell()], { permissions: createPermissions({ mode }) }).execute(callOf('own', {}), hostWith({}));
  }
  expect(seen).toEqual([true, false]);
});
