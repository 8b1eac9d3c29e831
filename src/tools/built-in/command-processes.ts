import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** The environment variable that marks the processes of a command. Children inherit it. */
export const markName = 'LONGHAUL_COMMAND';

/** How often killed processes are searched again, because they may have had new children. */
const mostRounds = 50;
const roundMs = 10;

/**
 * The processes of one command, including those that left its group (`setsid`, a daemon). They are identified by two marks that children
 * inherit: a variable in their environment, and the resource limit of file locks, which Linux keeps but doesn't use. A daemon may clear its
 * environment, or make it unreadable, as `ssh-agent` does; limits are readable by everybody, and without privileges they can only be
 * lowered. Other processes are found as descendants while the command runs. A process escapes only if it removed all of these: it lowered the
 * limit, cleared its environment, and lost its parent between two checks. A process that keeps continuing in a new child, its parent ending
 * each time, before it can be checked, also escapes. On systems other than Linux there is no `/proc`, and no process is found.
 */
export class CommandProcesses {
  /** Process ids with their start times, because ids are reused. */
  readonly #seen = new Map<number, string>();

  /** Without marks: those of a new command. */
  constructor(
    readonly mark: string = randomUUID(),
    /** In a nested command this value may be above the limit of the outer command. Then it can't be set, and the outer limit remains. */
    readonly limit = String(randomInt(2 ** 46, 2 ** 47)),
  ) {}

  /** Those that were found last. */
  get count(): number {
    return this.#seen.size;
  }

  /** Remembers these processes and all descendants of remembered ones. Forgets those that have ended. */
  look(...found: number[]): void {
    const { began, children } = processTable();
    // The id now belongs to another process.
    for (const [pid, since] of this.#seen) if (began.get(pid) !== since) this.#seen.delete(pid);
    const waiting = [...found, ...this.#seen.keys()];
    const looked = new Set<number>();
    for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
      const since = began.get(pid);
      if (since === undefined || looked.has(pid)) continue;
      looked.add(pid);
      this.#seen.set(pid, since);
      // One by one, because a call can't take a hundred thousand arguments.
      for (const child of children.get(pid) ?? []) waiting.push(child);
    }
  }

  /** Kills all of them. Resolves when none is left, or after the last round. */
  async end(): Promise<void> {
    for (let round = 0; round < mostRounds; round++) {
      const found = await marked(this.mark, this.limit);
      forgetTable();
      this.look(...found);
      if (this.#seen.size === 0) return;
      for (const pid of this.#seen.keys()) kill(pid);
      await sleep(roundMs);
    }
  }
}

/**
 * Sends SIGTERM to the processes of a command. In a sandbox they are a group of their own: the leader's group has only the process that made the
 * sandbox, and all of them are killed if that process ends.
 */
export function askToEnd(leader: number, isConfined: boolean): void {
  forgetTable();
  const groups = isConfined ? (processTable().children.get(leader) ?? []).filter((pid) => statOf(pid)?.group === pid) : [];
  for (const group of groups.length > 0 ? groups : [leader]) signalGroup(group, 'SIGTERM');
}

/** Sends a signal to a process group. One that has no processes left is no error. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // It has just ended.
  }
}

/** When a process started, in clock ticks since boot; `undefined` if it has ended, or on systems without `/proc`. */
export function startOf(pid: number): string | undefined {
  return statOf(pid)?.since;
}

interface ProcessTable {
  /** Start times in clock ticks since boot, of processes that have not ended. */
  began: Map<number, string>;
  children: Map<number, number[]>;
}

/** Shared by all running commands, and valid for 20 times as long as it takes to read: some milliseconds, on a crowded host more. */
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
    const siblings = children.get(parent);
    if (siblings) siblings.push(pid);
    else children.set(parent, [pid]);
  }
  const now = performance.now();
  table = { began, children, goodUntil: now + Math.max(shortestMs, 20 * (now - asked)) };
  return table;
}

function forgetTable(): void {
  table = undefined;
}

function statOf(pid: number): { parent: number; group: number; since: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before these fields is in parentheses, and may contain spaces and parentheses.
    const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // An ended process stays as a zombie until its parent reaps it.
    return state === 'Z' || state === 'X' ? undefined : { parent: Number(parent), group: Number(group), since: rest[16] ?? '' };
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

async function marked(mark: string, limit: string): Promise<number[]> {
  const pids = numbers(await readdir('/proc').catch(() => []));
  const entry = `${markName}=${mark}`;
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [environment, limits] = await Promise.all(
        ['environ', 'limits'].map((name) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => '')),
      );
      return environment?.split('\0').includes(entry) || limits?.includes(` ${limit} `) ? [pid] : [];
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
    // The process has already ended.
  }
}
