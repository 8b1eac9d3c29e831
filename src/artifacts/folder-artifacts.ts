import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { damaged } from './artifact-error';
import { type ArtifactKey, type ArtifactStore, isArtifactId, maxStoredBytes } from './artifact-store';

/** Files that are older, and to which no thread refers, were left by a process that died. */
const leftoverMs = 24 * 60 * 60 * 1_000;

/**
 * Keeps artifacts in a folder, which several processes of one machine, or of several through a shared file system, may use at the same time.
 *
 * ```
 * content/ab/ab12…        the bytes, once for all threads
 * threads/cd/cd34…/ab12…  a hard link to them, for each thread that has them
 * partial/…               files that are being written
 * ```
 *
 * The links are the references: the file system counts them, and a thread's link stays readable whatever happens to those of others. Where
 * there are no hard links, each thread has a copy. Files are readable only by the worker's user.
 */
export function folderArtifacts({ path }: { path: string }): ArtifactStore {
  if (typeof path !== 'string' || path.trim() === '') throw new TypeError('folderArtifacts: path must be the path of a folder.');
  const root = resolve(path);
  const contentOf = (id: string) => join(root, 'content', id.slice(0, 2), id);
  const folderOf = (threadId: string) => {
    const name = createHash('sha256').update(threadId).digest('hex').slice(0, 32);
    return join(root, 'threads', name.slice(0, 2), name);
  };
  const fileOf = ({ threadId, id }: ArtifactKey) => {
    if (!isArtifactId(id)) throw new TypeError(`'${id}' is not an artifact's id.`);
    return join(folderOf(threadId), id);
  };
  const partial = () => join(root, 'partial', randomUUID());

  /** Writes a file so that it appears complete or not at all, also if the machine loses power. */
  async function write(file: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const temporary = partial();
    await makeFolder(dirname(temporary));
    try {
      const handle = await open(temporary, 'wx', 0o600);
      try {
        await handle.writeFile(bytes, { signal });
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await makeFolder(dirname(file));
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Links a file to the content. Returns false if it can't: no hard links here, too many of them, or the content was just deleted. */
  async function refer(file: string, content: string): Promise<boolean> {
    const temporary = partial();
    await Promise.all([makeFolder(dirname(temporary)), makeFolder(dirname(file))]);
    try {
      // A link can't replace a file, but a renamed one can.
      await link(content, temporary);
      await rename(temporary, file);
      return true;
    } catch {
      return false;
    } finally {
      // Renaming a link to another one of the same file leaves both.
      await rm(temporary, { force: true });
    }
  }

  async function deleteFolder(folder: string): Promise<void> {
    const ids = await namesIn(folder);
    await rm(folder, { recursive: true, force: true });
    for (const id of ids) await deleteUnreferred(contentOf(id));
  }

  return {
    async put({ bytes, ...key }, signal) {
      const file = fileOf(key);
      const content = contentOf(key.id);
      if (!(await holds(file, bytes, signal))) {
        if (!(await holds(content, bytes, signal))) await write(content, bytes, signal);
        if (!(await refer(file, content))) await write(file, bytes, signal);
      }
      const now = new Date();
      await utimes(dirname(file), now, now);
    },
    async get(key, signal) {
      const found = await opened(fileOf(key)).catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ELOOP' ? damaged(key.id) : error;
      });
      if (!found) return undefined;
      try {
        const size = await sizeOf(found);
        if (size === undefined || size > maxStoredBytes) throw damaged(key.id);
        const bytes = Buffer.allocUnsafe(size);
        return bytes.subarray(0, await fill(bytes, found, signal));
      } finally {
        await found.close();
      }
    },
    deleteThread: (threadId) => deleteFolder(folderOf(threadId)),
    async deleteUnusedSince(time) {
      let deleted = 0;
      for (const folder of await inShards(join(root, 'threads'))) {
        const found = await stat(folder).catch(unlessMissing);
        if (!found || found.mtimeMs >= time.getTime()) continue;
        await deleteFolder(folder);
        deleted += 1;
      }
      const old = Date.now() - leftoverMs;
      for (const content of await inShards(join(root, 'content'))) await deleteUnreferred(content, old);
      for (const name of await namesIn(join(root, 'partial'))) await deleteUnreferred(join(root, 'partial', name), old);
      return deleted;
    },
  };
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

const sliceBytes = 1024 * 1024;

/** Never waits: opening a pipe would hold a thread of the process's pool until somebody writes to it. */
async function opened(file: string): Promise<FileHandle | undefined> {
  return open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(unlessMissing);
}

/** Undefined if it is not a regular file. */
async function sizeOf(handle: FileHandle): Promise<number | undefined> {
  const found = await handle.stat();
  return found.isFile() ? found.size : undefined;
}

/** Returns how many bytes there were, at most as many as there is room for. */
async function fill(bytes: Buffer, from: FileHandle, signal: AbortSignal): Promise<number> {
  let filled = 0;
  while (filled < bytes.length) {
    signal.throwIfAborted();
    const { bytesRead } = await from.read(bytes, filled, Math.min(sliceBytes, bytes.length - filled));
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/** Whether a file has exactly these bytes. Its size does not tell: a disk or another program may have changed it. */
async function holds(file: string, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
  const found = await opened(file).catch(() => undefined);
  if (!found) return false;
  try {
    if ((await sizeOf(found)) !== bytes.length) return false;
    const slice = Buffer.allocUnsafe(Math.min(sliceBytes, bytes.length));
    for (let at = 0; at < bytes.length; at += slice.length) {
      const wanted = bytes.subarray(at, at + slice.length);
      const filled = await fill(slice.subarray(0, wanted.length), found, signal);
      if (filled < wanted.length || !slice.subarray(0, filled).equals(wanted)) return false;
    }
    return true;
  } finally {
    await found.close();
  }
}

/** Deletes a file that has no other link and that was not changed after `before`, if given. A thread that links to it in this moment keeps it. */
async function deleteUnreferred(file: string, before = Number.POSITIVE_INFINITY): Promise<void> {
  const found = await stat(file).catch(unlessMissing);
  if (found && found.nlink === 1 && found.mtimeMs < before) await unlink(file).catch(unlessMissing);
}

async function inShards(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const shard of await namesIn(folder)) {
    for (const name of await namesIn(join(folder, shard))) found.push(join(folder, shard, name));
  }
  return found;
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(unlessMissing)) ?? [];
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}
