import { randomUUID } from 'node:crypto';
import { relative, resolve, sep } from 'node:path';
import { bounds } from '../../core/bounds';
import { contentHash, staleHash } from './content-hash';
import { mountWorkspace } from './open-workspace';
import {
  checkPath,
  type EntryStat,
  type ListOptions,
  mostCounted,
  outside,
  pathError,
  type Workspace,
  WorkspaceError,
  type WriteOptions,
} from './workspace';

interface File {
  bytes: Buffer;
  mode: number;
  mtimeMs: number;
}

type Folder = Map<string, File | Folder>;

/** A tree of files in memory, in which the tools for files work as in a folder. Commands don't. */
export interface MemoryWorkspace {
  /** The path to give as the `workspace` of an agent or a worker in this process. */
  readonly root: string;
  /** All text files by their paths, without those that Longhaul keeps for itself. */
  files(): Record<string, string>;
  /** Forgets the files. */
  close(): void;
}

/** Creates a workspace in memory with files: texts or bytes by their paths, such as `src/a.ts`. */
export async function createMemoryWorkspace(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<MemoryWorkspace> {
  const root = `${sep}longhaul-memory-${randomUUID().slice(0, 8)}`;
  const tree: Folder = new Map();
  const close = mountWorkspace(root, (folder) => treeWorkspace(folder, makeFolder(tree, namesIn(relative(root, folder)))));
  const workspace = treeWorkspace(root, tree);
  for (const [path, content] of Object.entries(files)) await workspace.write(await workspace.inside(path), content, { asked: path });
  return {
    root,
    close,
    files: () => Object.fromEntries(textsIn(tree).map(([path, { bytes }]) => [path, bytes.toString('utf8')])),
  };
}

const mostNameBytes = 255;
const mostPathBytes = 4_095;

function treeWorkspace(root: string, tree: Folder): Workspace {
  const at = (path: string, asked: string) => {
    checkPath(path);
    const real = resolve(root, path);
    const names = namesIn(relative(root, real));
    if (Buffer.byteLength(real) > mostPathBytes || names.some((name) => Buffer.byteLength(name) > mostNameBytes))
      throw pathError({ code: 'ENAMETOOLONG' }, asked);
    if (real !== root && !real.startsWith(root + sep)) throw outside(asked, root);
    return { real, names };
  };
  const show = (real: string) => relative(root, real) || '.';
  /** Throws for a path through a file. */
  const find = (path: string, asked: string) => {
    let found: File | Folder | undefined = tree;
    for (const name of at(path, asked).names) {
      if (found && !isFolder(found)) throw pathError({ code: 'ENOTDIR' }, asked);
      found = found?.get(name);
    }
    return found;
  };
  const existing = (path: string, asked: string) => {
    const found = find(path, asked);
    if (!found) throw pathError({ code: 'ENOENT' }, asked);
    return found;
  };

  return Object.freeze({
    root,
    show,

    async inside(path: string) {
      find(path, path);
      return at(path, path).real;
    },

    async stat(path: string) {
      const found = find(path, path);
      return found && statOf(found);
    },

    async openFile(path: string, asked: string = path) {
      const found = existing(path, asked);
      if (isFolder(found)) throw new WorkspaceError(`'${asked}' is a folder. Use list_dir to see what is in it.`);
      return openFile(found);
    },

    async list(real: string, { most = bounds.listedEntries }: ListOptions = {}) {
      const found = existing(real, show(real));
      if (!isFolder(found)) throw pathError({ code: 'ENOTDIR' }, show(real));
      const entries = [...found].slice(0, most).map(([name, node]) => ({ name, ...kindOf(node) }));
      return { entries, unread: Math.min(found.size - entries.length, mostCounted) };
    },

    async write(real: string, content: string | Uint8Array, { asked = show(real), expected, mode, signal }: WriteOptions = {}) {
      const { names } = at(real, asked);
      const name = names.pop();
      const found = find(real, asked);
      if (name === undefined || /[/\\]$/.test(asked) || (found && isFolder(found)))
        throw new WorkspaceError(`'${asked}' is a folder. Name a file.`);
      const bytes = Buffer.from(content);
      const hash = found && contentHash(found.bytes);
      if (expected !== undefined && hash !== expected && hash !== contentHash(bytes))
        throw new WorkspaceError(staleHash(asked, expected, hash));
      signal?.throwIfAborted();
      makeFolder(tree, names).set(name, { bytes, mode: mode ?? found?.mode ?? 0o644, mtimeMs: Date.now() });
    },

    async remove(real: string, asked: string = show(real)) {
      const { names } = at(real, asked);
      if (isFolder(existing(real, asked))) throw pathError({ code: 'EISDIR' }, asked);
      const name = names.pop() ?? '';
      makeFolder(tree, names).delete(name);
    },
  });
}

function namesIn(path: string): string[] {
  return path.split(sep).filter(Boolean);
}

/** The folder at a path on which no file is, and which is created if it is missing. */
function makeFolder(tree: Folder, names: readonly string[]): Folder {
  let folder = tree;
  for (const name of names) {
    const next = folder.get(name) ?? new Map();
    if (!isFolder(next)) throw pathError({ code: 'ENOTDIR' }, names.join(sep));
    folder.set(name, next);
    folder = next;
  }
  return folder;
}

function isFolder(node: File | Folder): node is Folder {
  return node instanceof Map;
}

function kindOf(node: File | Folder) {
  return { isFile: () => !isFolder(node), isDirectory: () => isFolder(node), isSymbolicLink: () => false };
}

function statOf(node: File | Folder): EntryStat {
  if (isFolder(node)) return { ...kindOf(node), size: 0, mode: 0o755, mtimeMs: 0 };
  return { ...kindOf(node), size: node.bytes.length, mode: node.mode, mtimeMs: node.mtimeMs };
}

function openFile({ bytes, mode }: File) {
  let from = 0;
  return {
    stat: async () => ({ size: bytes.length, mode }),
    read: async (buffer: Uint8Array, offset: number, length: number) => {
      const part = bytes.subarray(from, from + length);
      buffer.set(part, offset);
      from += part.length;
      return { bytesRead: part.length };
    },
    readFile: async () => bytes.subarray(from),
    close: async () => undefined,
  };
}

function textsIn(folder: Folder, prefix = ''): [path: string, file: File][] {
  return [...folder].flatMap(([name, node]): [string, File][] => {
    const path = prefix + name;
    if (isFolder(node)) return path === '.longhaul' ? [] : textsIn(node, `${path}/`);
    return [[path, node]];
  });
}
