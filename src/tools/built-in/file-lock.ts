import { type FileHandle, lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf } from './workspace';

/** The holder of a lock touches its entry this often. */
const touchMs = 1_000;
/** An entry that nobody touched for so long is that of a process that died. */
const staleMs = 5_000;

/**
 * Waits until no other process holds the lock of a file, and takes it. Returns what releases it. A process that is frozen for longer than 5 s loses the
 * lock.
 *
 * The lock is the folder `.<name>.locks` next to the file. Its entries are numbered, and the entry with the highest number is that of the holder; it is
 * empty while the lock is held. The lock passes on when somebody creates the next number, which only one process can do. Nobody removes the highest
 * entry, so a process that decides by an old list can't take the lock: it finds a higher entry than its own. (With one lock file that is removed, a
 * process that found it stale could remove the file of the next holder.)
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const handle = await takeLock(join(dirname(file), `.${basename(file)}.locks`));
  const touching = setInterval(() => {
    const now = new Date();
    handle.utimes(now, now).catch(() => undefined);
  }, touchMs).unref();
  return async () => {
    clearInterval(touching);
    // If this fails, as on a full disk, the entry becomes stale.
    await handle.writeFile('released\n').catch(() => undefined);
    await handle.close().catch(() => undefined);
  };
}

async function takeLock(folder: string): Promise<FileHandle> {
  let seen: string | undefined;
  let since = 0;
  for (;;) {
    const newest = await newestOf(folder);
    const holder = await holderOf(join(folder, String(newest)));
    if (holder !== seen) {
      seen = holder;
      since = performance.now();
    }
    if (holder === undefined || performance.now() - since > staleMs) {
      const taken = await takeNumber(folder, newest + 1);
      if (taken) return taken;
    }
    await setTimeout(5 + Math.random() * 15);
  }
}

/** The highest number in the folder, which is created if it is missing; 0 if it has none. */
async function newestOf(folder: string): Promise<number> {
  return Math.max(0, ...(await numbersIn(folder)));
}

async function numbersIn(folder: string): Promise<number[]> {
  try {
    return (await readdir(folder)).filter((name) => /^\d{1,15}$/.test(name)).map(Number);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return [];
}

/** Tells one holder from the next, and changes whenever the holder touches its entry; `undefined` if the lock is not held. */
async function holderOf(entry: string): Promise<string | undefined> {
  const found = await lstat(entry, { bigint: true }).catch(() => undefined);
  return found?.size === 0n ? `${entry} ${found.ino} ${found.ctimeNs}` : undefined;
}

/** Takes the lock with a number; `undefined` if another process was first. */
async function takeNumber(folder: string, number: number): Promise<FileHandle | undefined> {
  const entry = join(folder, String(number));
  const handle = await open(entry, 'wx', 0o600).catch((error: unknown) => {
    // ENOENT: somebody removed the folder.
    if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error;
  });
  if (!handle) return undefined;
  const numbers = await numbersIn(folder);
  if (numbers.some((other) => other > number)) {
    await handle.close();
    await unlink(entry).catch(() => undefined);
    return undefined;
  }
  for (const other of numbers) if (other < number) await unlink(join(folder, String(other))).catch(() => undefined);
  return handle;
}
