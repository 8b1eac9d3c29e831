import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

export interface DevLock {
  /** Says where the server answers, or that there is none for the moment. */
  serves(address?: string): void;
  release(): void;
}

/** Two servers on one file would destroy it. Rejects where another `longhaul dev` holds the folder. */
export async function lockFolder(folder: string): Promise<DevLock> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'dev.pid');
  const holder = await holderOf(file);
  if (holder) {
    throw new Error(
      `"longhaul dev" runs in this folder already (process ${holder}, see ${file}). Use that one, or start with --data FOLDER or --memory.`,
    );
  }
  const write = (address = '') => writeFileSync(file, `${process.pid} ${address}`.trimEnd());
  write();
  return { serves: write, release: () => rmSync(file, { force: true }) };
}

/**
 * Who holds the lock, where that is not a leftover. A process that was killed leaves its lock, and its number may since be another
 * process's (in a container nearly always, or our own): so the server that the holder said it runs must answer, too.
 */
async function holderOf(file: string): Promise<number | undefined> {
  let words: string[];
  try {
    words = readFileSync(file, 'utf8').split(' ');
  } catch {
    return undefined;
  }
  const [pid, address] = [Number(words[0]), words[1]];
  if (!(pid > 0) || pid === process.pid || !isAlive(pid)) return undefined;
  return address === undefined || (await answers(address)) ? pid : undefined;
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
