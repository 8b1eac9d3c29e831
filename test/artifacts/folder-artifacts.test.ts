import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderArtifacts } from '../../src/artifacts';
import { describeStore } from './store-contract';

const root = mkdtempSync(join(tmpdir(), 'longhaul-artifacts-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describeStore('a folder', () => folderArtifacts({ path: join(root, 'contract') }));

const never = new AbortController().signal;
const id = 'ab'.repeat(16);

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test('equal content of several threads takes its space once, and none after the last is deleted', async () => {
  const path = join(root, 'dedup');
  const store = folderArtifacts({ path });
  const bytes = Buffer.alloc(100_000, 'x');
  for (const threadId of ['a', 'b', 'c']) await store.put({ threadId, id, bytes }, never);
  expect(new Set(files(path).map((file) => statSync(file).ino)).size).toBe(1);
  for (const threadId of ['a', 'b', 'c']) await store.deleteThread(threadId);
  expect(files(path)).toEqual([]);
});

test('only the user of the worker can read the files', async () => {
  const path = join(root, 'mode');
  await folderArtifacts({ path }).put({ threadId: 'a', id, bytes: Buffer.from('x') }, never);
  for (const file of files(path)) expect(statSync(file).mode & 0o077).toBe(0);
  expect(statSync(path).mode & 0o077).toBe(0);
});

test('an id that is a path is refused', async () => {
  const store = folderArtifacts({ path: join(root, 'paths') });
  await expect(store.get({ threadId: 'a', id: '../../../../etc/passwd' }, never)).rejects.toThrow('is not an artifact');
  await expect(store.put({ threadId: 'a', id: '../x', bytes: Buffer.from('x') }, never)).rejects.toThrow('is not an artifact');
});

test('a file that was cut short is written anew', async () => {
  const path = join(root, 'short');
  const store = folderArtifacts({ path });
  const artifact = { threadId: 'a', id, bytes: Buffer.alloc(5_000, 'x') };
  await store.put(artifact, never);
  for (const file of files(path)) truncateSync(file, 10);
  await store.put(artifact, never);
  expect((await store.get(artifact, never))?.length).toBe(5_000);
});

test('a folder that can not be written rejects, and leaves nothing behind', async () => {
  const path = join(root, 'blocked');
  writeFileSync(path, 'a file, where a folder should be');
  await expect(folderArtifacts({ path }).put({ threadId: 'a', id, bytes: Buffer.from('x') }, never)).rejects.toThrow();
});

test('what a process that died has left is deleted after a day', async () => {
  const path = join(root, 'leftovers');
  const store = folderArtifacts({ path });
  await store.put({ threadId: 'a', id, bytes: Buffer.from('x') }, never);
  const left = join(path, 'partial', 'left');
  writeFileSync(left, 'half');
  await store.deleteUnusedSince(new Date(0));
  expect(files(path)).toContain(left);
  const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1_000);
  for (const file of files(path)) utimesSync(file, yesterday, yesterday);
  await store.deleteUnusedSince(new Date(0));
  expect(files(path)).toHaveLength(2);
  expect(await store.get({ threadId: 'a', id }, never)).toBeDefined();
});
