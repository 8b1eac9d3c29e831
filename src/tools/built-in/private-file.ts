import { randomBytes } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf } from './workspace';

/** Replaces a file that only its owner can read. A reader sees either the old or the new content, also after a crash. Creates missing folders. */
export async function replacePrivateFile(file: string, content: string | Uint8Array): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}

/** The holder of a lock touches it this often. */
const touchMs = 1_000;
/** A lock that nobody touched for so long was left by a process that died. */
const staleMs = 5_000;

/**
 * Waits until no other process holds the lock of a file, `.<name>.lock` next to it, and takes it. Returns what releases it. A process that is frozen for
 * longer than 5 s loses the lock.
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const lock = join(dirname(file), `.${basename(file)}.lock`);
  const handle = await takeLock(lock);
  const { ino } = await handle.stat({ bigint: true });
  const touching = setInterval(() => {
    const now = new Date();
    handle.utimes(now, now).catch(() => undefined);
  }, touchMs).unref();
  return async () => {
    clearInterval(touching);
    await handle.close().catch(() => undefined);
    // It may be another's by now.
    const found = await lstat(lock, { bigint: true }).catch(() => undefined);
    if (found?.ino === ino) await unlink(lock).catch(() => undefined);
  };
}

async function takeLock(lock: string): Promise<FileHandle> {
  let seen: string | undefined;
  let since = 0;
  for (;;) {
    const taken = await create(lock);
    if (taken) return taken;
    const holder = await stampOf(lock);
    if (holder !== seen) {
      seen = holder;
      since = performance.now();
    } else if (holder && performance.now() - since > staleMs) await unlink(lock).catch(() => undefined);
    await setTimeout(5 + Math.random() * 15);
  }
}

/** Returns undefined if the file exists. */
async function create(lock: string): Promise<FileHandle | undefined> {
  try {
    return await open(lock, 'wx', 0o600);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined;
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
  return create(lock);
}

/** Tells one holder of the lock from the next, and changes whenever the holder touches it. */
async function stampOf(lock: string): Promise<string | undefined> {
  const found = await lstat(lock, { bigint: true }).catch(() => undefined);
  return found && `${found.ino} ${found.ctimeNs}`;
}
