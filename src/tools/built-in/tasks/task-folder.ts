import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../../core/json';
import { codeOf } from '../workspace';

/** A process. `since` is its start time, because ids are reused. */
export interface ProcessId {
  pid: number;
  since: string;
}

/** A task, as it was started. */
export interface TaskRecord {
  id: string;
  /** The key of the thread (`threadKey`). */
  threadId: string;
  command: string;
  /** As it was given with the command. */
  workdir?: string;
  startedAt: string;
  /** Since when the machine is up: processes of an earlier time no longer exist. */
  boot: string;
  worker: ProcessId;
  /** The leader of its group. */
  leader: ProcessId;
  /** It runs in a sandbox. */
  confined?: true;
  /** By which all its processes are found. */
  mark: string;
  limit: string;
}

/** How a task ended. `lost`: with the worker process that ran it. `log_failed`: its output could not be written. */
export interface TaskEnd {
  state: 'succeeded' | 'failed' | 'timed_out' | 'cancelled' | 'too_much_output' | 'log_failed' | 'lost';
  exitCode?: number;
  /** Which limit it has reached, as far as that is known. */
  limit?: string;
  endedAt: string;
}

/** Identifies the running system. Part of each task's id, so that another machine knows that it can't know the task. */
export const boot = createHash('sha256').update(`${bootId()} ${hostname()}`).digest('hex').slice(0, 16);
const machine = boot.slice(0, 4);

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8');
  } catch {
    return '';
  }
}

export function newTaskId(): string {
  return `${randomBytes(4).toString('hex')}-${machine}`;
}

export function isOfThisMachine(id: string): boolean {
  return id.endsWith(`-${machine}`);
}

/**
 * The files of tasks: a folder for each thread, and in it one for each task, with `task.json`, `log`, and at the end `end.json`. Outside all
 * workspaces, where no repository can bring such files. Workers of one user on one machine share it.
 */
export class TaskFolder {
  constructor(private readonly root = join(tmpdir(), `longhaul-tasks-${userInfo().uid}`)) {}

  /** Rejects if the folder belongs to somebody else, or others may write to it. */
  async create(): Promise<void> {
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    const found = await lstat(this.root);
    const isOurs = process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0);
    if (!found.isDirectory() || !isOurs) {
      throw new Error(
        `The folder for background tasks, ${this.root}, is not a folder that only this user may write to. Remove it, or set taskFolder.`,
      );
    }
  }

  logOf({ threadId, id }: Pick<TaskRecord, 'threadId' | 'id'>): string {
    return join(this.#place(threadId), id, 'log');
  }

  async add(record: TaskRecord): Promise<void> {
    await this.#write(record, 'task.json', record);
  }

  /** Makes the folder of a task that is about to start. */
  async prepare(task: Pick<TaskRecord, 'threadId' | 'id'>): Promise<void> {
    await mkdir(join(this.#place(task.threadId), task.id), { recursive: true, mode: 0o700 });
  }

  async end(task: Pick<TaskRecord, 'threadId' | 'id'>, end: TaskEnd): Promise<void> {
    await this.#write(task, 'end.json', end);
  }

  /** Notes that another process than its own ends the task. */
  async cancel(task: Pick<TaskRecord, 'threadId' | 'id'>): Promise<void> {
    await this.#write(task, 'cancelled.json', {});
  }

  async isCancelled({ threadId, id }: Pick<TaskRecord, 'threadId' | 'id'>): Promise<boolean> {
    return (await read(join(this.#place(threadId), id, 'cancelled.json'))) !== undefined;
  }

  async remove({ threadId, id }: Pick<TaskRecord, 'threadId' | 'id'>): Promise<void> {
    await rm(join(this.#place(threadId), id), { recursive: true, force: true });
  }

  async find(threadId: string, id: string): Promise<TaskRecord | undefined> {
    if (!/^[0-9a-f]{8}-[0-9a-f]{4}$/.test(id)) return undefined;
    return recordIn(join(this.#place(threadId), id));
  }

  async endOf({ threadId, id }: Pick<TaskRecord, 'threadId' | 'id'>): Promise<TaskEnd | undefined> {
    return (await read(join(this.#place(threadId), id, 'end.json'))) as TaskEnd | undefined;
  }

  /** The tasks of a thread, the oldest first. */
  async ofThread(threadId: string): Promise<TaskRecord[]> {
    return this.#recordsIn(this.#place(threadId));
  }

  async all(): Promise<TaskRecord[]> {
    const threads = await Promise.all((await namesIn(this.root)).map((name) => this.#recordsIn(join(this.root, name))));
    return threads.flat();
  }

  async #recordsIn(place: string): Promise<TaskRecord[]> {
    const found = await Promise.all((await namesIn(place)).map((id) => recordIn(join(place, id))));
    return found.filter((record) => record !== undefined).sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  }

  #place(threadId: string): string {
    return join(this.root, createHash('sha256').update(threadId).digest('hex').slice(0, 32));
  }

  /** A reader sees the whole file or none. */
  async #write({ threadId, id }: Pick<TaskRecord, 'threadId' | 'id'>, name: string, content: object): Promise<void> {
    const folder = join(this.#place(threadId), id);
    const draft = join(folder, `.${name}.${randomBytes(6).toString('hex')}`);
    await writeFile(draft, JSON.stringify(content), { mode: 0o600 });
    await rename(draft, join(folder, name));
  }
}

/** A damaged record is none: with empty marks, the processes of others would be taken for those of the task. */
async function recordIn(folder: string): Promise<TaskRecord | undefined> {
  const record = (await read(join(folder, 'task.json'))) as unknown as TaskRecord | undefined;
  const isSound = /^[0-9a-f-]{36}$/.test(record?.mark ?? '') && /^\d{14,15}$/.test(record?.limit ?? '') && isProcess(record?.leader);
  return isSound && isProcess(record?.worker) ? record : undefined;
}

function isProcess(process: ProcessId | undefined): boolean {
  return Number.isInteger(process?.pid) && typeof process?.since === 'string';
}

async function read(file: string): Promise<Record<string, unknown> | undefined> {
  try {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isObject(content) ? content : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
