import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { bounds } from '../../core/bounds';
import { deleteFile, replaceFile } from './replace-file';
import {
  checkPath,
  codeOf,
  type Entry,
  type Listing,
  type ListOptions,
  mostCounted,
  type OpenFolder,
  outside,
  pathError,
  shown,
  type Workspace,
  WorkspaceError,
} from './workspace';

/**
 * A workspace that is a folder of this machine. Each opened file and folder is checked again, because the tree may have changed since its path was
 * resolved. With `fullAccess`, all paths of the machine count as inside.
 */
export async function openLocalWorkspace(folder: string, fullAccess = false): Promise<Workspace> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw new WorkspaceError(`The workspace ${folder} can't be used (${codeOf(error)}). It must be a folder that exists on the worker.`);
  });

  const isBelow = (real: string) => real === root || real.startsWith(root === sep ? sep : root + sep);
  const isInside = (real: string) => fullAccess || isBelow(real);
  const show = (real: string) => (isBelow(real) ? relative(root, real) || '.' : real);

  const leadsTo = async (path: string, asked: string): Promise<string> => {
    checkPath(path);
    const real = await whereItLeads(path, asked);
    if (!isInside(real)) throw outside(asked, root);
    return real;
  };
  const inside = (path: string) => leadsTo(resolve(root, path), path);

  // Only Linux reports where an open file really is; elsewhere only the check before it applies.
  const confirm = async (handle: FileHandle, path: string) => {
    const real = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
    if (real !== undefined && !isInside(real)) throw new WorkspaceError(`${shown(path)} is outside the workspace ${root}.`);
    return real !== undefined;
  };

  const openFolder = async (path: string, asked: string): Promise<OpenFolder> => {
    const handle = await openOrSay(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW, asked);
    return closingOnThrow(handle, async () => {
      const known = await confirm(handle, asked);
      return { handle, path: known ? `/proc/self/fd/${handle.fd}` : path };
    });
  };

  /** Creates missing folders, each inside the one that was opened before it. */
  const makeFolder = async (real: string): Promise<OpenFolder> => {
    if (!isInside(real)) throw outside(real, root);
    if (!isBelow(real)) {
      // Step by step it would need permission to read every folder on the way.
      await mkdir(real, { recursive: true });
      return openFolder(real, real);
    }
    let opened = await openFolder(root, '.');
    for (const name of relative(root, real).split(sep).filter(Boolean)) {
      const { handle, path } = opened;
      try {
        await mkdir(join(path, name)).catch(unlessExists);
        opened = await openFolder(join(path, name), show(real));
      } finally {
        await handle.close();
      }
    }
    return opened;
  };

  return Object.freeze({
    root,
    local: Object.freeze({ openFolder: (real: string) => openFolder(real, show(real)) }),
    inside,
    show,

    async stat(path: string) {
      const whole = resolve(root, path);
      checkPath(path);
      const at = whole === root ? root : join(await leadsTo(dirname(whole), path), basename(whole));
      return lstat(at).catch(() => undefined);
    },

    async openFile(path: string, asked: string = path) {
      const real = await leadsTo(resolve(root, path), asked);
      // Without O_NONBLOCK, opening a named pipe waits for a writer forever.
      const handle = await openOrSay(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, asked);
      return closingOnThrow(handle, async () => {
        await confirm(handle, asked);
        const stat = await handle.stat();
        if (stat.isDirectory()) throw new WorkspaceError(`${shown(asked)} is a folder. Use list_dir to see what is in it.`);
        if (!stat.isFile()) throw new WorkspaceError(`${shown(asked)} is not a regular file.`);
        return handle;
      });
    },

    async list(real: string, options?: ListOptions) {
      const opened = await openFolder(real, show(real));
      try {
        return await listingOf(opened.path, options);
      } finally {
        await opened.handle.close();
      }
    },

    write: (real: string, content: string | Uint8Array, options = {}) => replaceFile({ root, makeFolder }, real, content, options),
    remove: (real: string, asked: string = show(real)) => deleteFile((folder) => openFolder(folder, show(folder)), real, asked),
  });
}

/** Reads entry by entry: a folder may have millions. */
async function listingOf(path: string, { most = bounds.listedEntries, signal }: ListOptions = {}): Promise<Listing> {
  const entries: Entry[] = [];
  let unread = 0;
  // Leaving the loop closes the folder. Other work of the process runs whenever the buffer is empty.
  for await (const entry of await opendir(path, { bufferSize: 256 })) {
    signal?.throwIfAborted();
    if (entries.length < most) entries.push(entry);
    else if (unread < mostCounted) unread += 1;
    else break;
  }
  return { entries, unread };
}

/** `realpath` for a path whose end may not exist yet: its deepest existing part decides where it leads. */
async function whereItLeads(path: string, asked: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw pathError(error, asked);
  }
  const link = await lstat(path).catch(() => undefined);
  // Creating the file would create the link's target, wherever that is.
  if (link) throw new WorkspaceError(`${shown(asked)} leads through a symbolic link whose target does not exist.`);
  return join(await whereItLeads(dirname(path), asked), basename(path));
}

async function openOrSay(real: string, flags: number, asked: string): Promise<FileHandle> {
  try {
    return await open(real, flags);
  } catch (error) {
    throw pathError(error, asked);
  }
}

function unlessExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

async function closingOnThrow<T>(handle: FileHandle, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    await handle.close();
    throw error;
  }
}
