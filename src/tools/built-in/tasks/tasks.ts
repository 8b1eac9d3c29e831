import { createWriteStream, type WriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { bounds } from '../../../core/bounds';
import { backgroundReadersMb } from '../../permissions/limited-readers';
import type { CommandLimits } from '../command-limits';
import { askToEnd, CommandProcesses, startOf } from '../command-processes';
import { type Confine, type RunningShell, type ShellResult, startShell } from '../shell-process';
import { boot, newTaskId, type ProcessId, type TaskEnd, TaskFolder, type TaskRecord } from './task-folder';

export interface TaskCommand {
  /** The key of the thread (`threadKey`), as everywhere here. */
  threadId: string;
  command: string;
  /** The folder as it was given with the command. */
  workdir?: string | undefined;
  /** Absolute; must exist. */
  cwd: string;
  env: Record<string, string | undefined>;
  /** Default: none. */
  timeoutMs?: number | undefined;
  /** Starts it in a sandbox. */
  confined?: Confine | undefined;
  limits?: CommandLimits | undefined;
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

/** A worker of this process. */
interface Holder {
  /** Whether a thread has not ended. While it rejects, tasks go on. */
  isOpen(threadId: string): Promise<boolean>;
  /** Whether the thread is of the worker's namespace. */
  has(threadId: string): boolean;
}

interface Running {
  shell: RunningShell;
  log: WriteStream;
  stop: AbortController;
}

const nothing = () => undefined;

/** How soon a task ends after its thread. */
const checkEveryMs = 3_000;
/** How soon it is noticed what other processes have written. All records of the machine are read for it. */
const measureEveryMs = 10_000;
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
  /** The ends that could not be written, of tasks of this process. */
  readonly #unwritten = new Map<string, TaskEnd>();
  #started: Promise<void> = Promise.resolve();
  /** All logs in the folder when they were last measured, and what this process has written since. */
  #logBytes = 0;
  #measureAt = 0;
  #ready: Promise<void> | undefined;
  readonly #workers = new Set<Holder>();
  #check: NodeJS.Timeout | undefined;

  constructor(folder?: string) {
    this.#folder = new TaskFolder(folder);
  }

  /** Starts a task. Rejects if too many run, or if the command can't be started; then it does not run. */
  start(task: TaskCommand): Promise<TaskRecord> {
    // One after another, because each counts those before it.
    const started = this.#started.then(() => this.#start(task));
    this.#started = started.then(nothing, nothing);
    return started;
  }

  async #start({ threadId, command, workdir, cwd, env, timeoutMs, confined, limits = {} }: TaskCommand): Promise<TaskRecord> {
    await this.open();
    await this.#makeRoom(threadId);
    const processes = new CommandProcesses();
    const { mark, limit } = processes;
    const record: TaskRecord = {
      ...{ id: newTaskId(), threadId, command, ...(workdir !== undefined && { workdir }), startedAt: new Date().toISOString() },
      ...{ boot, worker: processOf(process.pid), leader: noProcess, ...(confined && { confined: true as const }), mark, limit },
    };
    await this.#folder.prepare(record);
    // Before it starts: a command whose record can't be written is never started, so nobody is told that it failed while it runs.
    await this.#folder.add(record);
    const log = createWriteStream(this.#folder.logOf(record), { flags: 'wx', mode: 0o600 });
    const stop = new AbortController();
    log.once('error', () => stop.abort('log_failed'));
    const start = () =>
      startShell({
        ...{
          command,
          cwd,
          env,
          processes,
          limits,
          readersMemoryMb: backgroundReadersMb,
          maxOutputBytes: 0,
          signal: stop.signal,
          takesInput: true,
        },
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(confined && { confined }),
        onOutput: this.#writerOf(log, stop),
      });
    const shell = await startedOr(start, async () => {
      log.destroy();
      await this.#folder.remove(record);
    });
    this.#own.set(record.id, { threadId, stop, input: shell.input, ended: this.#untilEnd(record, { shell, log, stop }) });
    const begun = { ...record, leader: processOf(shell.pid ?? 0) };
    // Without its leader, another process still finds it by its marks.
    await this.#folder.add(begun).catch(nothing);
    return begun;
  }

  #writerOf(log: WriteStream, stop: AbortController): (chunk: Buffer) => void {
    let bytes = 0;
    return (chunk) => {
      const room = Math.max(0, Math.min(bounds.taskLogBytes - bytes, bounds.allTaskLogsBytes - this.#logBytes));
      const written = chunk.subarray(0, room);
      bytes += written.length;
      this.#logBytes += written.length;
      if (written.length > 0) log.write(written);
      if (written.length < chunk.length) stop.abort('too_much_output');
    };
  }

  async #untilEnd(task: TaskRecord, { shell, log, stop }: Running): Promise<void> {
    const how = await shell.ended.then(
      (result) => stateOf(result, stop.signal.reason),
      (): Pick<TaskEnd, 'state'> => ({ state: 'failed' }),
    );
    log.end();
    await finished(log).catch(nothing);
    const isCancelled = await this.#folder.isCancelled(task).catch(() => false);
    const end: TaskEnd = { ...how, ...(isCancelled && { state: 'cancelled' }), endedAt: new Date().toISOString() };
    // The folder is full or gone. For other processes, the task counts as lost as soon as this one ends.
    await this.#folder.end(task, end).catch(() => this.#unwritten.set(task.id, end));
    this.#own.delete(task.id);
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
   * Called by each worker of the process. Until the returned function is called, tasks end soon after their thread has ended; then all do whose thread
   * no other worker of the process has.
   */
  hold(isOpen: Holder['isOpen'], has: Holder['has'] = () => true): () => Promise<void> {
    const worker = { isOpen, has };
    this.#workers.add(worker);
    this.#check ??= setInterval(() => void this.#endOfClosedThreads(), checkEveryMs).unref();
    // A task that cannot be looked after now is looked after when the next task starts.
    void this.open().catch(() => undefined);
    return async () => {
      this.#workers.delete(worker);
      if (this.#workers.size === 0) {
        clearInterval(this.#check);
        this.#check = undefined;
      }
      await this.#endAll(({ threadId }) => this.#workersOf(threadId).length === 0);
    };
  }

  #workersOf(threadId: string): Holder[] {
    return [...this.#workers].filter(({ has }) => has(threadId));
  }

  async #endOfClosedThreads(): Promise<void> {
    for (const threadId of new Set([...this.#own.values()].map((own) => own.threadId))) {
      const answers = await Promise.allSettled(this.#workersOf(threadId).map(({ isOpen }) => isOpen(threadId)));
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
      if (end && Date.now() - Date.parse(end.endedAt) > keptMs) await this.#remove(task);
    }
  }

  /** Deletes the oldest tasks that have ended, and refuses another one if too many run, or if their logs take too much. */
  async #makeRoom(threadId: string): Promise<void> {
    const views = await this.list(threadId);
    const [running, ended] = [views.filter(({ end }) => !end), views.filter(({ end }) => end)];
    if (running.length >= bounds.threadTasks) {
      const names = running.map(({ task }) => task.id).join(', ');
      throw new Error(`${running.length} background tasks of this thread are running, the most there may be: ${names}. Cancel one first.`);
    }
    for (const { task } of ended.slice(0, Math.max(0, ended.length - bounds.keptTasks + 1))) await this.#remove(task);
    await this.#makeRoomForLog();
  }

  /** Logs are in the folder for temporary files, which others need as well, and which is memory on many machines. */
  async #makeRoomForLog(): Promise<void> {
    const views = await Promise.all((await this.#folder.all()).map((task) => this.view(task)));
    const mostBytes = bounds.allTaskLogsBytes - bounds.taskLogBytes;
    if (this.#logBytes <= mostBytes && performance.now() < this.#measureAt) return;
    let bytes = views.reduce((sum, { outputBytes }) => sum + outputBytes, 0);
    const byEnd = views.flatMap(({ task, end, outputBytes }) => (end ? [{ task, at: end.endedAt, outputBytes }] : []));
    for (const { task, outputBytes } of byEnd.sort((a, b) => a.at.localeCompare(b.at))) {
      if (bytes <= mostBytes) break;
      await this.#remove(task);
      bytes -= outputBytes;
    }
    this.#logBytes = bytes;
    this.#measureAt = performance.now() + measureEveryMs;
    if (bytes > mostBytes) {
      throw new Error(
        `The background tasks that are running have ${bytes} bytes of output, and another one needs room: at most ${mostBytes}. Cancel one first.`,
      );
    }
  }

  async #remove(task: TaskRecord): Promise<void> {
    await this.#folder.remove(task);
    this.#unwritten.delete(task.id);
  }

  async view(task: TaskRecord): Promise<TaskView> {
    const outputBytes = (await stat(this.#folder.logOf(task)).catch(() => undefined))?.size ?? 0;
    const isRunning = this.#own.has(task.id) || isAlive(task);
    // Read after that: the end may have been written just now.
    const end = (await this.#folder.endOf(task)) ?? this.#unwritten.get(task.id) ?? (isRunning ? undefined : await this.#lose(task));
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

/** Starts a command. If that throws, as a sandbox that is missing does, nothing is left of it. */
async function startedOr(start: () => RunningShell, undo: () => Promise<void>): Promise<RunningShell> {
  try {
    return start();
  } catch (error) {
    await undo();
    throw error;
  }
}

const noProcess: ProcessId = { pid: 0, since: '' };

function processOf(pid: number): ProcessId {
  return { pid, since: startOf(pid) ?? '' };
}

function stateOf({ exitCode, stopped, limit }: ShellResult, reason: unknown): Omit<TaskEnd, 'endedAt'> {
  if (stopped === 'timeout') return { state: 'timed_out', exitCode };
  if (stopped === 'abort') return { state: reason === 'too_much_output' || reason === 'log_failed' ? reason : 'cancelled', exitCode };
  return { state: exitCode === 0 && !stopped ? 'succeeded' : 'failed', exitCode, ...(limit !== undefined && { limit }) };
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
