import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/** Where a dev server answers. */
export interface Served {
  address: string;
  uiUrl?: string;
}

export interface DevLock {
  /** Says where the server answers, or that there is none for the moment. */
  serves(at?: Served): void;
  release(): void;
}

/** Where threads are kept, if nobody says otherwise. */
export const usualFolder = '.longhaul';

/** Two servers on one file would destroy it. Rejects where another `longhaul dev` holds the folder. */
export async function lockFolder(folder: string): Promise<DevLock> {
  mkdirSync(folder, { recursive: true });
  const file = lockFile(folder);
  const holder = await holderOf(file);
  if (holder) {
    throw new Error(
      `"longhaul dev" runs in this folder already (process ${holder.pid}, see ${file}). Use that one, or start with --data FOLDER or --memory.`,
    );
  }
  const write = (at?: Served) => writeFileSync(file, [process.pid, at?.address, at?.uiUrl].filter(Boolean).join(' '));
  write();
  return { serves: write, release: () => rmSync(file, { force: true }) };
}

/** Where the Web UI of the server at this address is, if it is that of the `longhaul dev` that runs in this folder. */
export function webUiOf(address: string): string | undefined {
  const lock = readLock(lockFile(usualFolder));
  return lock && lock.address === address && isAlive(lock.pid) ? lock.uiUrl : undefined;
}

function lockFile(folder: string): string {
  return join(folder, 'dev.pid');
}

/**
 * Who holds the lock, where that is not a leftover. A process that was killed leaves its lock, and its number may since be another
 * process's (in a container nearly always, or our own): so the server that the holder said it runs must answer, too.
 */
async function holderOf(file: string): Promise<Lock | undefined> {
  const lock = readLock(file);
  if (!lock || lock.pid === process.pid || !isAlive(lock.pid)) return undefined;
  return lock.address === undefined || (await answers(lock.address)) ? lock : undefined;
}

interface Lock extends Partial<Served> {
  pid: number;
}

function readLock(file: string): Lock | undefined {
  try {
    const [pid, address, uiUrl] = readFileSync(file, 'utf8').split(' ');
    return Number(pid) > 0 ? { pid: Number(pid), ...(address && { address }), ...(uiUrl && { uiUrl }) } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Alive, and somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function answers(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  return new Promise((done) => {
    const socket = connect({ host, port: Number(port) });
    const end = (found: boolean) => {
      socket.destroy();
      done(found);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
