import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { excerpt } from '../../core/json';
import { ToolFailure } from '../defining/tool-failure';

/**
 * A folder that confines file tools. Before use, every path is resolved to where it really leads, including symbolic links and the parents of
 * files that don't exist yet. An opened file is checked again, because the folder may have changed in between. A workspace confines only tools
 * that use it, which the shell does not.
 */
export interface Workspace {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /** Returns where a path (relative to the root, or absolute) really leads; it may not exist. Throws `WorkspaceError` if that is outside. */
  inside(path: string): Promise<string>;
  /** The name of a real path for the model: relative to the root. */
  show(real: string): string;
  /** Opens an existing file for reading. `asked`: the path for messages, if it is another one. Throws `WorkspaceError`. */
  openFile(path: string, asked?: string): Promise<FileHandle>;
  /** Opens a folder. On Linux, the returned path can't be redirected to another folder while the handle is open. */
  openFolder(real: string): Promise<OpenFolder>;
  /** Like `openFolder`, but creates missing folders, each inside the one that was opened before it. */
  makeFolder(real: string): Promise<OpenFolder>;
}

export interface OpenFolder {
  handle: FileHandle;
  path: string;
}

/** A path can't be used; the message is for the model. */
export class WorkspaceError extends ToolFailure {
  /** `cause`: the error of the file system. */
  constructor(message: string, cause?: unknown) {
    super(`Error: ${message}`, { name: 'WorkspaceError', message });
    if (cause !== undefined) this.cause = cause;
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

  return Object.freeze({
    root,
    inside,
    show,

    async openFile(path: string, asked: string = path): Promise<FileHandle> {
      const real = await inside(path);
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

const words: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'leads through a file, or is a file where a folder is needed',
  EISDIR: 'is a folder',
  ELOOP: 'leads through a cycle of symbolic links, or has just become a symbolic link',
  EACCES: 'is not permitted to the worker',
  EPERM: 'is not permitted to the worker',
  ENAMETOOLONG: 'is too long',
  EROFS: 'is on a read-only file system',
  ENOSPC: 'does not fit: the disk is full',
  ENXIO: 'is not a regular file',
};

/** Converts a file system error to a message for the model; returns other errors unchanged. */
export function pathError(error: unknown, path: string): unknown {
  const code = codeOf(error);
  return code in words ? new WorkspaceError(`${shown(path)} ${words[code]}.`, error) : error;
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'unknown error';
}

function shown(path: string): string {
  return `'${excerpt(path, 300)}'`;
}
