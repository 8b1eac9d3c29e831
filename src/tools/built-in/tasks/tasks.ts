import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { bounds } from '../../../core/bounds';
import { askToEnd, CommandProcesses, startOf } from '../command-processes';
import { type Confine, type RunningShell, type ShellResult, startShell } from '../shell-process';
import { boot, newTaskId, type ProcessId, type TaskEnd, TaskFolder, type TaskRecord } from './task-folder';

export interface TaskCommand {
  threadId: string;
  command: string;
  /** Absolute; must exist. */
  cwd: string;
  env: Record<string, string | undefined>;
  /** Default: none. */
  timeoutMs?: number | undefined;
  /** Starts it in a sandbox. */
  confined?: Confine | undefined;
}

export interface TaskView {
  task: TaskRecord;
  /** Unset while it runs. */
  end: TaskEnd | undefined;
  outputBytes: number;
}

interface OwnTask extends Pick<RunningShell, 'input'> {
  threadId: string;
  stop: AbortController;
  ended: Promise<void>;
}

/** How soon a task ends after its thread. */
const checkEveryMs = 3_000;
/** How long an ended task can be asked about. */
const keptMs = 7 * 24 * 3_600_000;

/**
 * Commands that run in the background for threads. A task runs as a child of the worker process that started it, and ends with it. What is known of a
 * task is in files (`TaskFolder`), so each worker on the machine can answer; only input needs the worker that runs it.
 */
export class Tasks {
  /** Those that run in this process, by id. */
  readonly #own = new Map<string, OwnTask>();
  readonly #folder: TaskFolder;
  #ready: Promise<void> | undefined;
  readonly #workers = new Set<(threadId: string) => Promise<boolean>>();
  #check: NodeJS.Timeout | undefined;

  constructor(folder?: string) {
    this.#folder = new TaskFolder(folder);
  }

  /** Starts a task. Rejects if the thread has too many that run, or if the command can't be started. */
  async start({ threadId, command, cwd, env, timeoutMs, confined }: TaskCommand): Promise<TaskRecord> {
    await this.open();
    await this.#makeRoom(threadId);
    const id = newTaskId();
    await this.#folder.prepare({ threadId, id });
    const log = createWriteStream(this.#folder.logOf({ threadId, id }), { flags: 'wx', mode: 0o600 });
    const stop = new AbortController();
    log.once('error', () => stop.abort('log_failed'));
    let bytes = 0;
    const shell = startShell({
      command,
      cwd,
      env,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(confined && { confined }),
      maxOutputBytes: 0,
      signal: stop.signal,
      takesInput: true,
      onOutput(chunk) {
        const room = bounds.taskLogBytes - bytes;
        bytes += chunk.length;
        if (room > 0) log.write(chunk.subarray(0, room));
        if (chunk.length > room) stop.abort('too_much_output');
      },
    });
    const worker = processOf(process.pid);
    const leader = processOf(shell.pid ?? 0);
    const { mark, limit } = shell.processes;
    const record: TaskRecord = {
      ...{ id, threadId, command, startedAt: new Date().toISOString() },
      ...{ boot, worker, leader, ...(confined && { confined: true as const }), mark, limit },
    };
    const ended = shell.ended
      .then(
        (result) => stateOf(result, stop.signal.reason),
        (): Pick<TaskEnd, 'state'> => ({ state: 'failed' }),
      )
      .then(async (how) => {
        log.end();
        await finished(log).catch(() => undefined);
        const state = (await this.#folder.isCancelled(record)) ? 'cancelled' : how.state;
        await this.#folder.end(record, { ...how, state, endedAt: new Date().toISOString() });
      })
      // The folder is full or gone. Without this file, the task counts as lost as soon as this process ends.
      .catch(() => undefined)
      .finally(() => this.#own.delete(id));
    this.#own.set(id, { threadId, stop, input: shell.input, ended });
    await this.#folder.add(record);
    return record;
  }

  async find(threadId: string, id: string): Promise<TaskView | undefined> {
    const task = await this.#folder.find(threadId, id);
    return task && this.view(task);
  }

  /** The tasks of a thread, the oldest first. */
  async list(threadId: string): Promise<TaskView[]> {
    return Promise.all((await this.#folder.ofThread(threadId)).map((task) => this.view(task)));
  }

  logOf(task: TaskRecord): string {
    return this.#folder.logOf(task);
  }

  /** Waits until a task has ended; at most for a time, in milliseconds. */
  async wait(task: TaskRecord, timeoutMs: number, signal: AbortSignal): Promise<TaskView> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const view = await this.view(task);
      if (view.end || performance.now() >= until) return view;
      await sleep(Math.min(100, Math.max(1, until - performance.now())), undefined, { signal });
    }
  }

  /** Writes to a task's input. Rejects if another worker process runs it, or if its input is closed. */
  async write({ id, worker }: TaskRecord, text: string, { end }: { end: boolean }): Promise<void> {
    const input = this.#own.get(id)?.input;
    if (!input) throw new Error(`The command runs in another worker process (${worker.pid}), and only that one can write to its input.`);
    if (!input.writable) throw new Error('The input of the command is closed.');
    await new Promise<void>((done, fail) => {
      const written = (error?: Error | null) => (error ? fail(new Error(`The input of the command is closed: ${error.message}`)) : done());
      if (end) input.end(text, () => written());
      else input.write(text, written);
    });
  }

  /** Ends a task: SIGTERM to its group, and after a short time SIGKILL to all its processes. Resolves when it has ended. */
  async cancel(task: TaskRecord): Promise<TaskView> {
    const own = this.#own.get(task.id);
    if (own) {
      own.stop.abort('cancelled');
      await own.ended;
    } else if (!(await this.#folder.endOf(task))) {
      await this.#folder.cancel(task);
      await endProcesses(task);
      // The process that runs the task also records its end, if it is there.
      const { end } = await this.wait(task, 2_000, new AbortController().signal);
      if (!end) await this.#folder.end(task, { state: 'cancelled', endedAt: new Date().toISOString() });
    }
    return this.view(task);
  }

  /**
   * Called by each worker of the process. Until the returned function is called, tasks end soon after their thread has ended; then, with the last
   * worker, all do. `isOpen` says whether a thread is known to the worker and has not ended; while it rejects, tasks go on.
   */
  hold(isOpen: (threadId: string) => Promise<boolean>): () => Promise<void> {
    this.#workers.add(isOpen);
    this.#check ??= setInterval(() => void this.#endOfClosedThreads(), checkEveryMs).unref();
    // A task that cannot be looked after now is looked after when the next task starts.
    void this.open().catch(() => undefined);
    return async () => {
      this.#workers.delete(isOpen);
      if (this.#workers.size > 0) return;
      clearInterval(this.#check);
      this.#check = undefined;
      await this.#endAll(() => true);
    };
  }

  async #endOfClosedThreads(): Promise<void> {
    for (const threadId of new Set([...this.#own.values()].map((own) => own.threadId))) {
      const answers = await Promise.allSettled([...this.#workers].map((isOpen) => isOpen(threadId)));
      const isClosed = answers.every((answer) => answer.status === 'fulfilled' && !answer.value);
      if (isClosed) await this.#endAll((own) => own.threadId === threadId);
    }
  }

  async #endAll(which: (own: OwnTask) => boolean): Promise<void> {
    const found = [...this.#own.values()].filter(which);
    for (const { stop } of found) stop.abort('cancelled');
    await Promise.all(found.map(({ ended }) => ended));
  }

  /** Once per process, before anything else: ends tasks whose worker is gone, and deletes old ones. */
  open(): Promise<void> {
    this.#ready ??= this.#sweep().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #sweep(): Promise<void> {
    await this.#folder.create();
    for (const task of await this.#folder.all()) {
      const { end } = await this.view(task);
      if (end && Date.now() - Date.parse(end.endedAt) > keptMs) await this.#folder.remove(task);
    }
  }

  /** Deletes the oldest tasks that have ended, and refuses another one if too many run. */
  async #makeRoom(threadId: string): Promise<void> {
    const views = await this.list(threadId);
    const [running, ended] = [views.filter(({ end }) => !end), views.filter(({ end }) => end)];
    if (running.length >= bounds.threadTasks) {
      const names = running.map(({ task }) => task.id).join(', ');
      throw new Error(`${running.length} background tasks of this thread are running, the most there may be: ${names}. Cancel one first.`);
    }
    for (const { task } of ended.slice(0, Math.max(0, ended.length - bounds.keptTasks + 1))) await this.#folder.remove(task);
  }

  async view(task: TaskRecord): Promise<TaskView> {
    const outputBytes = (await stat(this.#folder.logOf(task)).catch(() => undefined))?.size ?? 0;
    const isRunning = this.#own.has(task.id) || isAlive(task);
    // Read after that: the end may have been written just now.
    const end = (await this.#folder.endOf(task)) ?? (isRunning ? undefined : await this.#lose(task));
    return { task, end, outputBytes };
  }

  /** The worker is gone, and did not record an end: what is left of the task is an orphan. */
  async #lose(task: TaskRecord): Promise<TaskEnd> {
    if (task.boot === boot) await new CommandProcesses(task.mark, task.limit).end();
    const end: TaskEnd = { state: 'lost', endedAt: new Date().toISOString() };
    await this.#folder.end(task, end);
    return end;
  }
}

/** Whether the worker that runs a task is there: it records the end, after that of the processes. */
function isAlive(task: TaskRecord): boolean {
  return (
    task.boot === boot && task.worker.since !== '' && startOf(task.worker.pid) === task.worker.since && task.worker.pid !== process.pid
  );
}

function processOf(pid: number): ProcessId {
  return { pid, since: startOf(pid) ?? '' };
}

function stateOf({ exitCode, stopped }: ShellResult, reason: unknown): Omit<TaskEnd, 'endedAt'> {
  if (stopped === 'timeout') return { state: 'timed_out', exitCode };
  if (stopped === 'abort') return { state: reason === 'too_much_output' || reason === 'log_failed' ? reason : 'cancelled', exitCode };
  return { state: exitCode === 0 ? 'succeeded' : 'failed', exitCode };
}

/** Time between SIGTERM and SIGKILL. */
const graceMs = 1_500;

/** Ends the processes of a task that another process runs, or that nobody runs any more. */
async function endProcesses({ leader, confined, mark, limit }: TaskRecord): Promise<void> {
  const isThere = () => leader.since !== '' && startOf(leader.pid) === leader.since;
  if (isThere()) {
    askToEnd(leader.pid, confined === true);
    for (const until = performance.now() + graceMs; isThere() && performance.now() < until; ) await sleep(50);
  }
  await new CommandProcesses(mark, limit).end();
}

/** The tasks of this process. */
export const backgroundTasks = new Tasks();
