import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** The variable by which the processes of a command are known, wherever they went. Children inherit it. */
export const markName = 'LONGHAUL_COMMAND';

/** Processes that were told to end are looked for again so often, in case they had children meanwhile. */
const mostRounds = 50;
const roundMs = 10;

/**
 * The processes of one command, those included that left its group (`setsid`, a daemon): they are known by a variable in their environment,
 * or were seen as descendants while the command ran. Only a process that got rid of both escapes: one that cleared its environment and
 * lost its parent between two looks. Elsewhere than on Linux there is no `/proc`, and none is found.
 */
export class CommandProcesses {
  readonly mark = randomUUID();
  /** Process ids with the time at which each began: ids are used again. */
  readonly #seen = new Map<number, string>();

  /** Remembers these processes, and all descendants of those that are remembered; forgets those that have ended. */
  look(...found: number[]): void {
    const { began, children } = processTable();
    // One whose id another process has by now is none of ours.
    for (const [pid, since] of this.#seen) if (began.get(pid) !== since) this.#seen.delete(pid);
    const waiting = [...found, ...this.#seen.keys()];
    const looked = new Set<number>();
    for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
      const since = began.get(pid);
      if (since === undefined || looked.has(pid)) continue;
      looked.add(pid);
      this.#seen.set(pid, since);
      waiting.push(...(children.get(pid) ?? []));
    }
  }

  /** Kills all of them, and resolves when none is left. */
  async end(): Promise<void> {
    for (let round = 0; round < mostRounds; round++) {
      const found = await marked(this.mark);
      forgetTable();
      this.look(...found);
      if (this.#seen.size === 0) return;
      for (const pid of this.#seen.keys()) kill(pid);
      await sleep(roundMs);
    }
  }
}

interface ProcessTable {
  /** In clock ticks since boot, of those that have not ended. */
  began: Map<number, string>;
  children: Map<number, number[]>;
}

/** Shared by all commands that run, and good for twenty times as long as it takes to read: some milliseconds, on a crowded host more. */
let table: (ProcessTable & { goodUntil: number }) | undefined;
const shortestMs = 100;

function processTable(): ProcessTable {
  const asked = performance.now();
  if (table && asked < table.goodUntil) return table;
  const [began, children] = [new Map<number, string>(), new Map<number, number[]>()];
  for (const pid of numbers(namesIn('/proc'))) {
    const fields = statOf(pid);
    if (!fields) continue;
    const { parent, since } = fields;
    began.set(pid, since);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const now = performance.now();
  table = { began, children, goodUntil: now + Math.max(shortestMs, 20 * (now - asked)) };
  return table;
}

function forgetTable(): void {
  table = undefined;
}

function statOf(pid: number): { parent: number; since: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before it is in parentheses, and may have spaces and parentheses in it.
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // What has ended stays as a zombie until its parent asks.
    return state === 'Z' || state === 'X' ? undefined : { parent: Number(parent), since: rest[17] ?? '' };
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

async function marked(mark: string): Promise<number[]> {
  const pids = numbers(await readdir('/proc').catch(() => []));
  const entry = `${markName}=${mark}`;
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      return environment.split('\0').includes(entry) ? [pid] : [];
    }),
  );
  return found.flat();
}

function numbers(names: string[]): number[] {
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
