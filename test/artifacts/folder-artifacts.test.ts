import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Artifacts, folderArtifacts } from '../../src/artifacts';
import { outputKeys } from '../../src/encoding/encoding';
import { keys, newKey } from '../encoding/keys';
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

/** The output's file in the folder of its thread. */
function fileOf(path: string, threadIndex = 0): string {
  return files(join(path, 'threads'))[threadIndex] ?? '';
}

test.each<[string, (file: string) => void]>([
  ['a pipe', (file) => execFileSync('mkfifo', [file])],
  ['a link', (file) => symlinkSync('/dev/zero', file)],
  ['a folder', (file) => mkdirSync(file)],
  [
    'a file of two gigabytes',
    (file) => {
      writeFileSync(file, '');
      truncateSync(file, 2_000_000_000);
    },
  ],
])('%s in place of an output is damaged, and neither waited for nor read', async (_, put) => {
  const path = mkdtempSync(join(root, 'odd-'));
  const artifacts = new Artifacts(folderArtifacts({ path }));
  const ref = await artifacts.keep('a', Buffer.from('some output'), 'text/plain');
  const file = fileOf(path);
  rmSync(file);
  put(file);
  const before = process.memoryUsage().rss;
  // More than the process's pool has threads, each of which a pipe could hold.
  const reads = Array.from({ length: 8 }, () => artifacts.read('a', ref?.id ?? ''));
  for (const read of reads) await expect(read).rejects.toThrow('is damaged');
  expect(process.memoryUsage().rss - before).toBeLessThan(500_000_000);
});

test.each([
  ['without encryption', undefined],
  ['with encryption', keys(newKey())],
])('%s, an output whose bytes have changed is readable again after the tool was called again, by any thread', async (_, provider) => {
  const path = mkdtempSync(join(root, 'flipped-'));
  const opened = () => new Artifacts(folderArtifacts({ path }), undefined, outputKeys(provider ? { keys: provider } : {}));
  const bytes = Buffer.alloc(3_000_000, 'a line\n');
  const ref = await opened().keep('a', bytes, 'text/plain');
  const flipped = readFileSync(fileOf(path));
  flipped.writeUInt8(flipped.readUInt8(flipped.length - 50) ^ 1, flipped.length - 50);
  writeFileSync(fileOf(path), flipped);
  await expect(opened().read('a', ref?.id ?? '')).rejects.toThrow('is damaged');
  for (const thread of ['b', 'a']) {
    const again = await opened().keep(thread, bytes, 'text/plain');
    expect((await opened().read(thread, again?.id ?? '')).equals(bytes)).toBe(true);
  }
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
