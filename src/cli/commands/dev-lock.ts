import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { usualData } from './data-folder';

/** The addresses of a dev server. */
export interface Served {
  address: string;
  uiUrl?: string;
}

export interface DevLock {
  /** Records the server's addresses, or that no server is running at the moment. */
  serves(at?: Served): void;
  release(): void;
}

/** Locks the folder, because two servers on one file would destroy it. Rejects if another `longhaul dev` holds the lock. */
export async function lockFolder(folder: string): Promise<DevLock> {
  makeFolder(folder);
  const file = lockFile(folder);
  const holder = await holderOf(file);
  if (holder) {
    throw new Error(
      `Another "longhaul dev" (process ${holder.pid}) already uses the threads in ${folder}. Use that one, or start with --data FOLDER or --memory.`,
    );
  }
  const write = (at?: Served) => writeFileSync(file, [process.pid, at?.address, at?.uiUrl].filter(Boolean).join(' '));
  write();
  return { serves: write, release: () => rmSync(file, { force: true }) };
}

/** The URL of the Web UI of the server at this address, if a `longhaul dev` that was started in this folder runs it. */
export function webUiOf(address: string): string | undefined {
  const lock = readLock(lockFile(usualData()));
  return lock && lock.address === address && isAlive(lock.pid) ? lock.uiUrl : undefined;
}

/** Creates the folder so that only its owner can read it, because threads contain all messages. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new Error(`Threads can't be kept in ${folder} (${why}). Name another folder with --data FOLDER, or keep none with --memory.`);
  }
}

function lockFile(folder: string): string {
  return join(folder, 'dev.pid');
}

/**
 * The holder of the lock, unless the lock is stale. A killed process leaves its lock, and another process may since have its id (in a container nearly
 * always, or even this process). So the server that the holder recorded must answer, too.
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
    // The process is alive and belongs to another user.
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
