import { excerpt } from '../../core/json';
import { ToolFailure } from '../defining/tool-failure';

/**
 * A tree of files that confines file tools. `inside` resolves a path to where it really leads, including symbolic links and the parents of files that
 * don't exist yet. `list`, `write` and `remove` take a path that `inside` returned; `stat` and `openFile` take any path. None of them follows a link
 * on the way, so nothing outside is reached if the tree changes in between. A workspace confines only tools that use it, which the shell does not.
 */
export interface Workspace {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /** Only of a folder on the machine: what programs need to work in it. */
  readonly local?: LocalFolder;
  /** Returns where a path (relative to the root, or absolute) really leads; it may not exist. Throws `WorkspaceError` if that is outside. */
  inside(path: string): Promise<string>;
  /** The name of a real path for the model: relative to the root. */
  show(real: string): string;
  /** What is at a path; `undefined` if there is nothing. A link at its end is not followed. Throws `WorkspaceError` if the path leads outside. */
  stat(path: string): Promise<EntryStat | undefined>;
  /** Opens an existing file for reading. `asked`: the path for messages, if it is another one. Throws `WorkspaceError`. */
  openFile(path: string, asked?: string): Promise<OpenFile>;
  /** The entries of a folder, in no particular order. Rejects if it is none, and if `signal` is aborted. */
  list(real: string, options?: ListOptions): Promise<Listing>;
  /**
   * Creates or replaces a file as a whole, and creates its folders. A reader sees the old content or the new one, never a mixture. Throws
   * `WorkspaceError`, after which nothing has changed.
   */
  write(real: string, content: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /** Deletes a file. Throws `WorkspaceError` if it does not exist. */
  remove(real: string, asked?: string): Promise<void>;
}

export interface ListOptions {
  /** How many entries are returned. Default: `bounds.listedEntries`. */
  most?: number;
  signal?: AbortSignal;
}

export interface Listing {
  entries: Entry[];
  /** How many more the folder has. They are counted up to `mostCounted`. */
  unread: number;
}

/** Counting more would take seconds. */
export const mostCounted = 1_000_000;

export interface WriteOptions {
  /** The path for messages, if it is another one. */
  asked?: string;
  /**
   * The hash that the file must have (`contentHash`), unless it has the new content already; otherwise nothing is written. Of several such writes in
   * one process at the same time, one succeeds.
   */
  expected?: string;
  /** Permissions. Default: those of the replaced file, or as usual for a new one. */
  mode?: number;
  signal?: AbortSignal;
}

/** An entry of a folder. A `Dirent` is one. */
export interface Entry {
  name: string;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** What is at a path. The `Stats` of Node are one. */
export interface EntryStat extends Omit<Entry, 'name'> {
  /** Bytes. */
  size: number;
  mode: number;
  mtimeMs: number;
}

/** A file that is open for reading, from its beginning to its end. A `FileHandle` is one. */
export interface OpenFile {
  stat(): Promise<{ size: number; mode: number }>;
  /** Reads the next bytes into the buffer; none at the end. */
  read(buffer: Uint8Array, offset: number, length: number): Promise<{ bytesRead: number }>;
  /** The rest of the content, which must not be changed. */
  readFile(): Promise<Buffer>;
  close(): Promise<void>;
}

export interface LocalFolder {
  /** Opens a folder. On Linux, the returned path can't be redirected to another folder while the handle is open. */
  openFolder(real: string): Promise<OpenFolder>;
}

export interface OpenFolder {
  handle: { close(): Promise<void> };
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

/** For a deletion that may find that there is nothing to delete. */
export function unlessMissing(error: unknown): void {
  if (codeOf((error as Error).cause) !== 'ENOENT') throw error;
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

/** A path in a message. */
export function shown(path: string): string {
  return `'${excerpt(path, 300)}'`;
}

/** Throws for a path that no file can have. */
export function checkPath(path: string): void {
  if (path.includes('\0')) throw new WorkspaceError(`The path ${JSON.stringify(excerpt(path, 200))} has a NUL byte in it.`);
}

/** For a path that leads to another place than the workspace. */
export function outside(path: string, root: string): WorkspaceError {
  return new WorkspaceError(`${shown(path)} is outside the workspace ${root}. Use a path inside it.`);
}
