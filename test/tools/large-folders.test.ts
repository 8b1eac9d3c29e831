import { bounds } from '../../src/core/bounds';
import { inOrder } from '../../src/tools/built-in/entry-order';
import { listDir } from '../../src/tools/built-in/list-dir';
import { createMemoryWorkspace } from '../../src/tools/built-in/memory-workspace';
import { mountWorkspace, openWorkspace } from '../../src/tools/built-in/open-workspace';
import type { Entry, Listing, Workspace } from '../../src/tools/built-in/workspace';
import { told } from './tool-host';

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const entryOf = (name: string, isFolder = false): Entry => ({
  name,
  isFile: () => !isFolder,
  isDirectory: () => isFolder,
  isSymbolicLink: () => false,
});

const nameAt = (at: number) => `${at % 2 ? 'F' : 'f'}${String(at).padStart(7, '0')}`;

/** A workspace whose folders have the entries that `list` gives. */
async function workspaceOf(list: Workspace['list']): Promise<string> {
  const memory = await createMemoryWorkspace();
  const base = await openWorkspace(memory.root);
  memory.close();
  const root = `${memory.root}-listed`;
  const inside = async (path: string) => (path === '.' ? root : `${root}/${path}`);
  closing.push(mountWorkspace(root, () => ({ ...base, root, inside, stat: async () => undefined, list })));
  return root;
}

/** A flat folder of any size, in no order. */
function flat(count: number): Workspace['list'] {
  return async (_, { most = 0 } = {}) => {
    const entries = Array.from({ length: Math.min(count, most) }, (_, at) => entryOf(nameAt((at * 7_919) % count)));
    return { entries, unread: count - entries.length };
  };
}

test('of a hundred calls of list_dir at once, one at a time reads a folder, and threads take turns', async () => {
  const folders: ((listing: Listing) => void)[] = [];
  const workspace = await workspaceOf(() => new Promise((listed) => folders.push(listed)));
  const order: string[] = [];
  const list = async (threadId: string) => {
    expect(await told(listDir, { depth: 1 }, { workspace, threadId })).toBe('a');
    order.push(threadId);
  };
  const all = Promise.all([...Array.from({ length: 99 }, () => list('many')), list('one')]);
  for (let read = 0; read < 100; read += 1) {
    while (folders.length === 0) await new Promise(setImmediate);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    expect(folders).toHaveLength(1);
    folders.pop()?.({ entries: [entryOf('a')], unread: 0 });
  }
  await all;
  expect(order.indexOf('one')).toBeLessThan(3);
});

test('a folder of 100,000 entries is listed in order to its end', async () => {
  const workspace = await workspaceOf(flat(100_000));
  const first = await told(listDir, { limit: 2 }, { workspace });
  expect(first).toBe(`${nameAt(0)}\n${nameAt(1)}\n[... 99998 more entries ...]`);
  expect(await told(listDir, { offset: 99_999 }, { workspace })).toBe(`${nameAt(99_998)}\n${nameAt(99_999)}`);
});

test('of a larger folder, the result says how many entries were not read', async () => {
  const workspace = await workspaceOf(flat(bounds.listedEntries + 23));
  expect(await told(listDir, { limit: 1 }, { workspace })).toMatch(
    /\n\[\.\.\. 99999 more entries \.\.\.\]\n\[23 entries of \. were not read: a call reads 100000\]$/,
  );
  const huge = await workspaceOf(async (_, { most = 0 } = {}) => ({ ...(await flat(most)('', { most })), unread: 1_000_000 }));
  expect(await told(listDir, { limit: 1 }, { workspace: huge })).toContain('\n[1000000 or more entries of . were not read');
});

test('the bound is one for all folders of a call, and for their number', async () => {
  const folders = async (count: number, most = 0) => ({
    entries: Array.from({ length: Math.min(count, most) }, (_, at) => entryOf(nameAt(at), true)),
    unread: 0,
  });
  let read = 0;
  const workspace = await workspaceOf((_, { most } = {}) => folders((read += 1) === 1 ? bounds.listedFolders + 9 : 1, most));
  expect(await told(listDir, { limit: 1 }, { workspace })).toMatch(/\n\[10 folders were not read: a call reads 100000 entries in 10000 fo/);
  expect(read).toBe(bounds.listedFolders);
  const full = await workspaceOf(async (real, options) => (real.endsWith('listed') ? folders(2, 2) : flat(70_000)(real, options)));
  expect(await told(listDir, { limit: 1 }, { workspace: full })).toMatch(
    /\n\[\.\.\. 99999 more entries \.\.\.\]\n\[40002 entries of F0000001 were not read: a call reads 100000\]$/,
  );
});

test('other work runs while 100,000 names are sorted, which gives the same order as a sort at once', async () => {
  const entries = Array.from({ length: 100_000 }, (_, at) => entryOf(nameAt((at * 7_919) % 100_000), at % 3 === 0));
  let turns = 0;
  let isSorting = true;
  const other = async () => {
    for (; isSorting; turns += 1) await new Promise(setImmediate);
  };
  const counting = other();
  const sorted = await inOrder(entries);
  isSorting = false;
  await counting;
  const key = (entry: Entry) => `${entry.isDirectory() ? 0 : 1}${entry.name.toLowerCase()}`;
  expect(sorted).toEqual([...entries].sort((a, b) => (key(a) < key(b) ? -1 : 1)));
  expect(turns).toBeGreaterThanOrEqual(40);
});
