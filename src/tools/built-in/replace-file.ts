import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ContentHash, contentHash, staleHash } from './content-hash';
import { oneAtATime } from './one-at-a-time';
import { codeOf, type OpenFolder, pathError, WorkspaceError, type WriteOptions } from './workspace';

interface Where {
  root: string;
  /** Opens a folder, and creates what is missing of it. */
  makeFolder(real: string): Promise<OpenFolder>;
}

/**
 * Replaces a file of a folder as a whole. The file keeps its permissions, except setuid and setgid bits. Other names of the same file (hard links),
 * which may be outside the workspace, keep the old content.
 */
export async function replaceFile(where: Where, target: string, content: string | Uint8Array, options: WriteOptions): Promise<void> {
  const { asked = target, expected } = options;
  if (target === where.root || /[/\\]$/.test(asked)) throw new WorkspaceError(`'${asked}' is a folder. Name a file.`);
  const write = () => replaceIn(where, target, content, { ...options, asked });
  await (expected === undefined ? write() : oneAtATime(where.root, write));
}

async function replaceIn(
  where: Where,
  target: string,
  content: string | Uint8Array,
  { asked, expected, mode, signal }: WriteOptions & { asked: string },
): Promise<void> {
  try {
    const folder = await where.makeFolder(dirname(target));
    try {
      const place = join(folder.path, basename(target));
      const kept = await modeToKeep(place, asked);
      const check = async () => {
        if (expected !== undefined) await checkHash(place, { asked, expected, content });
        signal?.throwIfAborted();
      };
      await writeDraft(place, folder.path, { content, mode: mode ?? kept, check });
    } finally {
      await folder.handle.close();
    }
  } catch (error) {
    throw pathError(error, asked);
  }
}

/** Deletes a file. It is an error if it does not exist. */
export async function deleteFile(openFolder: (real: string) => Promise<OpenFolder>, target: string, asked: string): Promise<void> {
  try {
    const folder = await openFolder(dirname(target));
    try {
      await unlink(join(folder.path, basename(target)));
    } finally {
      await folder.handle.close();
    }
  } catch (error) {
    throw pathError(error, asked);
  }
}

interface Draft {
  content: string | Uint8Array;
  mode: number | undefined;
  /** Called directly before the draft takes its place. If it throws, nothing changes. */
  check(): Promise<void>;
}

async function writeDraft(place: string, folder: string, { content, mode, check }: Draft): Promise<void> {
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
    await check();
    await rename(draft, place);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}

/** A file that already has the new content is not stale: an earlier attempt at the same call may have written it. */
async function checkHash(
  place: string,
  { asked, expected, content }: { asked: string; expected: string; content: string | Uint8Array },
): Promise<void> {
  const found = await hashAt(place);
  if (found !== expected && found !== contentHash(Buffer.from(content))) throw new WorkspaceError(staleHash(asked, expected, found));
}

/** The hash of a file; `undefined` if it does not exist. */
async function hashAt(place: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const hash = new ContentHash();
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.add(chunk as Buffer);
    return hash.end();
  } finally {
    await file.close();
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
