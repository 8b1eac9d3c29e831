import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, pathError, type Workspace, WorkspaceError } from './workspace';

export interface Replacement {
  /** The real path, inside the workspace. */
  target: string;
  /** The path as the model gave it, for messages. */
  path: string;
  content: string | Uint8Array;
  /** Default: those of the replaced file, or as the worker's umask has it. */
  mode?: number;
}

/**
 * Replaces a file as a whole, and creates its folders. A reader sees the old content or the new one, never a mixture. The file keeps its
 * permissions, except setuid and setgid bits. Other names of the same file (hard links), which may be outside the workspace, keep the old content.
 */
export async function replaceFile(workspace: Workspace, { target, path, content, mode }: Replacement, signal?: AbortSignal): Promise<void> {
  if (target === workspace.root || /[/\\]$/.test(path)) throw new WorkspaceError(`'${path}' is a folder. Name a file.`);
  try {
    const folder = await workspace.makeFolder(dirname(target));
    try {
      const place = join(folder.path, basename(target));
      const kept = await modeToKeep(place, path);
      await writeDraft(place, folder.path, content, mode ?? kept, signal);
    } finally {
      await folder.handle.close();
    }
  } catch (error) {
    throw pathError(error, path);
  }
}

/** Deletes a file. It is an error if it does not exist. */
export async function deleteFile(workspace: Workspace, target: string, path: string): Promise<void> {
  try {
    const folder = await workspace.openFolder(dirname(target));
    try {
      await unlink(join(folder.path, basename(target)));
    } finally {
      await folder.handle.close();
    }
  } catch (error) {
    throw pathError(error, path);
  }
}

/** For a deletion that may find that there is nothing to delete. */
export function unlessMissing(error: unknown): void {
  if (codeOf((error as Error).cause) !== 'ENOENT') throw error;
}

async function writeDraft(
  place: string,
  folder: string,
  content: string | Uint8Array,
  mode: number | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const draft = join(folder, `.longhaul-${randomBytes(8).toString('hex')}.tmp`);
  const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  try {
    try {
      await file.writeFile(content);
      if (mode !== undefined) await file.chmod(mode);
      await file.datasync();
    } finally {
      await file.close();
    }
    signal?.throwIfAborted();
    await rename(draft, place);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}

/** The permissions of the replaced file without setuid and setgid bits; `undefined` if there is no file. */
async function modeToKeep(place: string, path: string): Promise<number | undefined> {
  const before = await lstat(place).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!before) return undefined;
  if (before.isDirectory()) throw new WorkspaceError(`'${path}' is a folder. Name a file.`);
  if (!before.isFile()) throw new WorkspaceError(`'${path}' is not a regular file.`);
  // A rename would succeed anyway, but a file is read-only on purpose.
  await access(place, constants.W_OK);
  return before.mode & 0o777;
}
