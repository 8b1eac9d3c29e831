import { join, sep } from 'node:path';
import fc from 'fast-check';
import { applyPatch } from '../../src/tools/built-in/apply-patch';
import { contentHash } from '../../src/tools/built-in/content-hash';
import { editFile } from '../../src/tools/built-in/edit';
import { globFiles } from '../../src/tools/built-in/glob';
import { grepFiles } from '../../src/tools/built-in/grep';
import { listDir } from '../../src/tools/built-in/list-dir';
import { createMemoryWorkspace, type MemoryWorkspace } from '../../src/tools/built-in/memory-workspace';
import { openWorkspace } from '../../src/tools/built-in/open-workspace';
import { readFile } from '../../src/tools/built-in/read-file';
import { createShell } from '../../src/tools/built-in/shell';
import { viewImage } from '../../src/tools/built-in/view-image';
import type { Workspace } from '../../src/tools/built-in/workspace';
import { writeFile } from '../../src/tools/built-in/write-file';
import type { Tool } from '../../src/tools/defining/define-tool';
import { begin } from './patching';
import { newFolder, removeFolders, run, told } from './tool-host';

const memories: MemoryWorkspace[] = [];

async function newMemory(files?: Record<string, string>) {
  const memory = await createMemoryWorkspace(files);
  memories.push(memory);
  return memory;
}

afterEach(async () => {
  for (const memory of memories.splice(0)) memory.close();
  await removeFolders();
});

const hashOf = (text: string) => contentHash(Buffer.from(text));

async function textAt(workspace: Workspace, path: string): Promise<string> {
  const file = await workspace.openFile(path);
  const text = (await file.readFile()).toString('utf8');
  await file.close();
  return text;
}

const kinds: [string, () => Promise<string>][] = [
  ['a folder', newFolder],
  ['memory', async () => (await newMemory()).root],
];

describe.each(kinds)('a workspace in %s', (_, newRoot) => {
  const opened = async () => openWorkspace(await newRoot());

  test('reads what was written, as a whole or in pieces, and keeps permissions', async () => {
    const workspace = await opened();
    const real = await workspace.inside('a/b/c.txt');
    await workspace.write(real, 'text', { mode: 0o640 });
    expect(await textAt(workspace, 'a/b/c.txt')).toBe('text');
    await workspace.write(real, Buffer.from('other'));
    expect((await workspace.stat('a/b/c.txt'))?.mode).toEqual(expect.any(Number));
    expect(((await workspace.stat('a/b/c.txt'))?.mode ?? 0) & 0o777).toBe(0o640);
    const file = await workspace.openFile(real);
    const buffer = Buffer.alloc(3);
    const read = async () => buffer.toString('utf8', 0, (await file.read(buffer, 0, 3)).bytesRead);
    expect([await read(), await read(), await read()]).toEqual(['oth', 'er', '']);
    await file.close();
  });

  test('lists a folder, and says what is at a path', async () => {
    const workspace = await opened();
    for (const path of ['a', 'b/c', 'b/d']) await workspace.write(await workspace.inside(path), path);
    const names = (await workspace.list(workspace.root)).entries.map((entry) => `${entry.name} ${entry.isFile()} ${entry.isDirectory()}`);
    expect(names.sort()).toEqual(['a true false', 'b false true']);
    expect((await workspace.stat('b/c'))?.size).toBe(3);
    expect((await workspace.stat('.'))?.isDirectory()).toBe(true);
    expect(await workspace.stat('b/none')).toBeUndefined();
    expect(await workspace.list(await workspace.inside('b'), { most: 1 })).toMatchObject({ entries: [{}], unread: 1 });
    await workspace.remove(await workspace.inside('b/c'));
    expect((await workspace.list(await workspace.inside('b'))).entries.map(({ name }) => name)).toEqual(['d']);
    await expect(workspace.remove(await workspace.inside('b/c'))).rejects.toThrow(/'b\/c' does not exist/);
  });

  test.each(['..', '../x', '/etc/passwd', 'a/../../x'])('[B165] refuses %s', async (path) => {
    const workspace = await opened();
    await expect(workspace.inside(path)).rejects.toThrow(/is outside the workspace/);
    await expect(workspace.stat(path)).rejects.toThrow(/is outside the workspace/);
    await expect(workspace.openFile(path)).rejects.toThrow(/is outside the workspace/);
  });

  test('says why a path can not be used', async () => {
    const workspace = await opened();
    await workspace.write(await workspace.inside('file'), '');
    await expect(workspace.inside('file/below')).rejects.toThrow(/leads through a file/);
    await expect(workspace.inside('a\0b')).rejects.toThrow(/NUL byte/);
    await expect(workspace.inside('x'.repeat(5_000))).rejects.toThrow(/too long/);
    await expect(workspace.openFile('.')).rejects.toThrow(/is a folder/);
    await expect(workspace.openFile('none')).rejects.toThrow(/'none' does not exist/);
    await expect(workspace.write(workspace.root, '')).rejects.toThrow(/is a folder/);
  });

  test('writes with a stale hash are refused, and of several at the same time one is made', async () => {
    const workspace = await opened();
    const real = await workspace.inside('f');
    await workspace.write(real, 'zero');
    await expect(workspace.write(real, 'x', { expected: hashOf('other') })).rejects.toThrow(/has changed: its hash is/);
    const writes = ['one', 'two', 'three'].map((text) => workspace.write(real, text, { expected: hashOf('zero') }));
    const ended = await Promise.allSettled(writes);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    const now = await textAt(workspace, 'f');
    await workspace.write(real, now, { expected: hashOf('zero') });
    expect((await workspace.list(workspace.root)).entries.map(({ name }) => name)).toEqual(['f']);
  });
});

type Step = { kind: 'write' | 'edit' | 'patch' | 'read' | 'list' | 'glob' | 'grep' | 'out'; path: string; text: string };

const path = fc.array(fc.constantFrom('a', 'b', 'c.ts', 'd.md', '..', '.'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('write', 'write', 'edit', 'patch', 'read', 'list', 'glob', 'grep', 'out'),
  path,
  text: fc.constantFrom('one\n', 'two\nfour\n', 'on', ''),
});

function callOf({ kind, path: at, text }: Step): [Tool, object] {
  const calls: Record<Step['kind'], [Tool, object]> = {
    write: [writeFile, { path: at, content: text }],
    edit: [editFile, { path: at, old_string: 'o', new_string: text, replace_all: true }],
    patch: [applyPatch, { patch: begin(`*** Add File: ${at}`, '+one', '+four') }],
    read: [readFile, { path: at }],
    list: [listDir, { path: at, depth: 5 }],
    glob: [globFiles, { pattern: '*.{ts,md}', path: '.' }],
    grep: [grepFiles, { pattern: '^(one|fo.r)$', path: '.', context: 1, include: at.includes('a') ? '**/*.ts' : '*' }],
    out: [readFile, { path: `../${at}` }],
  };
  return calls[kind];
}

test('the tools for files answer the same in memory as in a folder', async () => {
  let calls = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const [folder, memory] = [await newFolder(), (await newMemory()).root];
      for (const one of steps) {
        const [tool, args] = callOf(one);
        const idempotencyKey = `key-${(calls += 1)}`;
        const answers = await Promise.all([folder, memory].map((workspace) => told(tool, args, { workspace, idempotencyKey })));
        expect(answers[1]?.replaceAll(memory, 'ROOT')).toBe(answers[0]?.replaceAll(folder, 'ROOT'));
      }
    }),
    { numRuns: 25 },
  );
}, 60_000);

test.each([
  '*.ts',
  'src/*',
  'src/**',
  '**/deep/*',
  '/b.ts',
  '!*.ts',
  'src/**/c.{ts,md}',
  '[bc].ts',
  '[!b].ts',
  'b?ts',
  '{b,x}.{ts,md}',
  '**/{b,{c,d}}.*',
  'src/**/',
  '**',
  '*',
  's*/d*/**',
  '**/*e*/*',
  '[a-c].ts',
  'b.{ts}',
  'b.{,ts}',
  '\\b.ts',
  'src',
  'src/',
])('the glob %s finds in memory what ripgrep finds', async (pattern) => {
  const files = { 'b.ts': '', 'x.md': '', 'src/b.ts': '', 'src/deep/c.ts': '', 'src/deep/er/c.md': '', 'z/[q].ts': '' };
  const folder = await newFolder();
  const memory = (await newMemory(files)).root;
  for (const name of Object.keys(files)) await told(writeFile, { path: name, content: '' }, { workspace: folder });
  const found = await Promise.all([folder, memory].map((workspace) => told(globFiles, { pattern }, { workspace })));
  expect(found[1]).toBe(found[0]);
});

test('a glob that a regular expression would take for ever to match takes no time', async () => {
  const memory = (await newMemory({ ['a'.repeat(200)]: '', [`${'a'.repeat(200)}b`]: '' })).root;
  expect(await told(globFiles, { pattern: `${'*a'.repeat(30)}*b` }, { workspace: memory })).toBe(`${'a'.repeat(200)}b`);
  expect(await told(globFiles, { pattern: `{${'*a,'.repeat(30)}${'{a,a*}'.repeat(20)}}*b` }, { workspace: memory })).toBe(
    `${'a'.repeat(200)}b`,
  );
});

test('in memory images are shown, a subfolder is a workspace of its own, and commands are refused', async () => {
  const dot = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  const memory = await createMemoryWorkspace({ 'dot.gif': dot, 'sub/a.txt': 'a' });
  memories.push(memory);
  expect((await run(viewImage, { path: 'dot.gif' }, { workspace: memory.root })).outcome.status).toBe('success');
  const sub = { workspace: join(memory.root, 'sub') };
  expect(await told(writeFile, { path: 'b.txt', content: 'b' }, sub)).toBe('Wrote 1 bytes to b.txt');
  expect(await told(readFile, { path: `..${sep}dot.gif` }, sub)).toMatch(/is outside the workspace/);
  expect(memory.files()).toMatchObject({ 'sub/a.txt': 'a', 'sub/b.txt': 'b' });
  expect(await told(createShell(), { command: 'true' }, { workspace: memory.root })).toMatch(/Commands need a folder on disk/);
  memory.close();
  expect(await told(readFile, { path: 'dot.gif' }, { workspace: memory.root })).toMatch(/can't be used \(ENOENT\)/);
});
