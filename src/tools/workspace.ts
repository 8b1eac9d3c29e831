import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { excerpt } from '../core/json';
import { ToolFailure } from './tool-failure';

/**
 * A folder that file tools can't leave. Every path is followed to where it really leads, symbolic links and the parents of what does not
 * exist yet included, before it is used; what was opened is looked at once more, because the folder may change in between.
 * It confines tools that ask it. A shell does not ask.
 */
export interface Workspace {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /** Where a path (relative to the root, or absolute) really leads; it may not exist. Throws `WorkspaceError` if that is outside. */
  inside(path: string): Promise<string>;
  /** How to name a real path to the model: relative to the root. */
  show(real: string): string;
  /** Opens a file that exists, for reading. Throws `WorkspaceError`. */
  openFile(path: string): Promise<FileHandle>;
  /** Opens a folder, and gives a path to it that can't be swapped for another while the handle is open (on Linux). */
  openFolder(real: string): Promise<OpenFolder>;
  /** The same for one that may not exist, nor the folders above it: they are made, each inside of the one that was opened before it. */
  makeFolder(real: string): Promise<OpenFolder>;
}

export interface OpenFolder {
  handle: FileHandle;
  path: string;
}

/** A path that can't be used, in words for the model. */
export class WorkspaceError extends ToolFailure {
  constructor(message: string) {
    super(`Error: ${message}`, { name: 'WorkspaceError', message });
  }
}

export async function openWorkspace(folder: string): Promise<Workspace> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw new WorkspaceError(`The workspace ${folder} can't be used (${codeOf(error)}). It must be a folder that exists on the worker.`);
  });

  const isInside = (real: string) => real === root || real.startsWith(root === sep ? sep : root + sep);
  const show = (real: string) => relative(root, real) || '.';

  const inside = async (path: string): Promise<string> => {
    if (path.includes('\0')) throw new WorkspaceError(`The path ${JSON.stringify(excerpt(path, 200))} has a NUL byte in it.`);
    const real = await whereItLeads(resolve(root, path), path);
    if (!isInside(real)) throw new WorkspaceError(`${shown(path)} is outside the workspace ${root}. Use a path inside it.`);
    return real;
  };

  // Only Linux tells where an open file really is; elsewhere the check before it has to do.
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

  return Object.freeze({
    root,
    inside,
    show,

    async openFile(path: string): Promise<FileHandle> {
      const real = await inside(path);
      // Without O_NONBLOCK the opening of a named pipe waits for a writer for ever.
      const handle = await openOrSay(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, path);
      return closingOnThrow(handle, async () => {
        await confirm(handle, path);
        const stat = await handle.stat();
        if (stat.isDirectory()) throw new WorkspaceError(`${shown(path)} is a folder. Use list_dir to see what is in it.`);
        if (!stat.isFile()) throw new WorkspaceError(`${shown(path)} is not a regular file.`);
        return handle;
      });
    },

    openFolder: (real: string) => openFolder(real, show(real)),

    async makeFolder(real: string) {
      let folder = await openFolder(root, '.');
      for (const name of relative(root, real).split(sep).filter(Boolean)) {
        const { handle, path } = folder;
        try {
          await mkdir(join(path, name)).catch(unlessExists);
          folder = await openFolder(join(path, name), show(real));
        } finally {
          await handle.close();
        }
      }
      return folder;
    },
  });
}

/** `realpath` for a path whose end may not exist yet: the deepest part that does decides where it leads. */
async function whereItLeads(path: string, asked: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw pathError(error, asked);
  }
  const link = await lstat(path).catch(() => undefined);
  // Creating it would create the file it points at, wherever that is.
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

const words: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'leads through a file, or is one where a folder is needed',
  EISDIR: 'is a folder',
  ELOOP: 'leads through symbolic links that go in circles, or became one just now',
  EACCES: 'is not permitted to the worker',
  EPERM: 'is not permitted to the worker',
  ENAMETOOLONG: 'is too long',
  EROFS: 'is on a read-only file system',
  ENOSPC: 'does not fit: the disk is full',
  ENXIO: 'is not a regular file',
};

/** A file system's refusal in words for the model; anything else as it is. */
export function pathError(error: unknown, path: string): unknown {
  const code = codeOf(error);
  return code in words ? new WorkspaceError(`${shown(path)} ${words[code]}.`) : error;
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'unknown error';
}

function shown(path: string): string {
  return `'${excerpt(path, 300)}'`;
}
