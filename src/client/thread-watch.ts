import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { grpc, grpcCode } from './errors';
import { type Closed, HistoryView, type Seen } from './history-view';
import { pause, persist } from './persist';
import { awayAt } from './reach';

/** The server answers an empty poll after 20 to 29 s, as its `history.longPollExpirationInterval` says. */
const pollDeadlineMs = 45_000;
/** The pause between two polls that return nothing: with a server that holds a poll for 29 s, this makes two polls a minute. */
const restBetweenPollsMs = 1_100;
const pageSize = 1_000;
/** A number of events. A thread with more has certainly recorded something. */
const shortHistory = 100;

const watches = new WeakMap<Client, Map<string, ThreadWatch>>();

/** Follows a thread for a reader. All readers of a thread in this process share one watch. Call `release` when done. */
export function watchThread(client: Client, threadId: string, onChange: () => void): { watch: ThreadWatch; release(): void } {
  const all = watches.get(client) ?? new Map<string, ThreadWatch>();
  watches.set(client, all);
  const known = all.get(threadId);
  // A thread that was seen closed may have been reopened since.
  const watch = known && !known.isOver ? known : new ThreadWatch(client, threadId);
  all.set(threadId, watch);
  const unsubscribe = watch.subscribe(onChange);
  return {
    watch,
    release: () => {
      if (unsubscribe() === 0 && all.get(threadId) === watch) all.delete(threadId);
    },
  };
}

/** Stops all readers, because their long polls would keep a closed connection open. */
export function stopWatching(client: Client): void {
  for (const watch of watches.get(client)?.values() ?? []) watch.fail(new Error('The client was closed while events were read'));
  watches.delete(client);
}

/**
 * Long-polls a thread's history. The poll returns when something happens, and otherwise two or three times a minute. The history is read once and not
 * kept: it shows that the log may have grown, and the log is then read by query.
 */
export class ThreadWatch {
  readonly #listeners = new Set<{ call(): void }>();
  readonly #shared = new Map<string, Promise<unknown>>();
  readonly #closing = new AbortController();
  #call: AbortController | undefined;
  #seen: Seen | undefined;
  #view: HistoryView | undefined;
  /** The history of the newest execution was read to its end. */
  #caughtUp = false;
  #error: unknown;

  constructor(
    readonly client: Client,
    readonly threadId: string,
  ) {
    void this.#follow();
  }

  get isOver(): boolean {
    return this.#error !== undefined || this.#seen?.closed !== undefined;
  }

  /** Undefined before the first answer. @throws the error that ended the watch */
  seen(): Seen | undefined {
    if (this.#error !== undefined) throw this.#error;
    return this.#seen;
  }

  /**
   * Whether events of time `at`, in a query answer that was requested at `askedAt` (by `performance.now()`), are permanently in the execution's history.
   * A worker may have answered from a workflow task that was not completed yet. The attempt that completes the task may record other events, also
   * with the same time. `undefined`: not known yet.
   */
  isRecorded(execution: string, at: number, askedAt: number): boolean | undefined {
    if (this.#seen?.closed) return true;
    if (!this.#view) return undefined;
    // An execution that has ended has recorded all of its log.
    if (this.#view.execution !== execution || this.#view.wasRecorded(at, askedAt)) return true;
    return this.#caughtUp ? false : undefined;
  }

  /** When the server was last found unavailable, in milliseconds since 1970. */
  awayAt(): number {
    return awayAt(this.client.connection);
  }

  /** Returns a function that unsubscribes and returns the number of remaining readers. The watch ends with the last one. */
  subscribe(onChange: () => void): () => number {
    const listener = { call: onChange };
    this.#listeners.add(listener);
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#stop();
      return this.#listeners.size;
    };
  }

  fail(error: unknown): void {
    this.#stop();
    this.#error = error;
    this.#notify();
  }

  /** Does something once for all readers that request it at the same time. */
  share<T>(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#shared.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const promise = work().finally(() => this.#shared.delete(key));
    this.#shared.set(key, promise);
    return promise;
  }

  get #tasks(): number {
    return this.#seen?.tasks ?? 0;
  }

  async #follow(): Promise<void> {
    try {
      while (await this.#followNewest());
    } catch (error) {
      if (!this.#closing.signal.aborted) this.fail(error);
    }
  }

  #stop(): void {
    this.#closing.abort();
    this.#call?.abort();
  }

  /** Follows the chain of executions from the newest on, until it is closed. Returns whether a reset may have created a newer chain. */
  async #followNewest(): Promise<boolean> {
    const now = await this.#describe();
    const closed = closedOf(now);
    // The log of a long history can be read immediately, while the rest of the history is still being read.
    const long = now.historyLength > shortHistory;
    const view = new HistoryView(long ? now.historyLength : 0);
    if (long) {
      const { pendingWorkflowTask: pending, pendingActivities } = now.raw;
      this.#tell({
        execution: now.runId,
        tasks: this.#tasks + 1,
        ...(pending && { task: { state: pending.startedTime ? 'started' : 'scheduled', since: Date.now() } }),
        ...(pendingActivities?.length && { working: { since: 0 } }),
        ...(closed && { closed }),
      });
      if (closed) return false;
    }
    try {
      await this.#followChain(now.runId, view);
    } catch (error) {
      // What was known of the history is no longer valid: the server lost the end of it, or deleted it.
      if (this.#closing.signal.aborted || grpcCode(error) === undefined || !view.begun) throw error;
      return true;
    }
    const last = await this.#describe();
    const end = closedOf(last);
    if (!end || last.runId !== view.execution) return true;
    if (view.worked) this.#tell({ execution: last.runId, tasks: this.#tasks, closed: end });
    // It ended before it recorded anything: the log, if there is one, ends in the previous execution.
    else this.#tell({ execution: view.before ?? reopenedBy(last), tasks: this.#tasks + 1, closed: end });
    return false;
  }

  /** Follows executions until one closes that no other one continues. */
  async #followChain(execution: string, view: HistoryView): Promise<void> {
    view.begin(execution);
    this.#view = view;
    this.#caughtUp = false;
    let token: Uint8Array | undefined;
    for (;;) {
      const page = await this.#poll(view.execution, token);
      const events = page.history?.events ?? [];
      const changed = view.take(events);
      if (view.continuedAs) {
        view.begin(view.continuedAs);
        this.#caughtUp = false;
        token = undefined;
        continue;
      }
      this.#caughtUp = events.length < pageSize;
      if (changed) this.#tell(view.seen(this.#tasks));
      if (view.isOver || !page.nextPageToken?.length) return;
      token = page.nextPageToken;
      if (events.length === 0) await pause(restBetweenPollsMs, this.#closing.signal);
    }
  }

  async #poll(execution: string, nextPageToken: Uint8Array | undefined) {
    const { client, threadId } = this;
    const request = {
      namespace: client.options.namespace,
      execution: { workflowId: threadId, runId: execution },
      maximumPageSize: pageSize,
      waitNewEvent: true,
      ...(nextPageToken && { nextPageToken }),
    };
    for (;;) {
      try {
        return await this.#persist(() => client.workflowService.getWorkflowExecutionHistory(request), pollDeadlineMs);
      } catch (error) {
        // The namespace has more concurrent polls than the server allows (1,200 by default): this one retries now and then, until there is room.
        if (grpcCode(error) !== grpc.resourceExhausted) throw error;
        await pause(2_000 + Math.random() * 3_000, this.#closing.signal);
      }
    }
  }

  #describe(): Promise<WorkflowExecutionDescription> {
    return this.#persist(() => this.client.workflow.getHandle(this.threadId).describe(), 10_000);
  }

  #persist<T>(request: () => Promise<T>, deadlineMs: number): Promise<T> {
    const { connection } = this.client;
    const action = () => {
      // Each call has its own signal, because its listeners are never removed.
      this.#call = new AbortController();
      return connection.withAbortSignal(this.#call.signal, request);
    };
    const { signal } = this.#closing;
    return persist(connection, 'reading events', action, { deadlineMs, awayMs: Number.POSITIVE_INFINITY, signal });
  }

  #tell(seen: Seen): void {
    this.#seen = seen;
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener.call();
  }
}

/** The execution that this one reopened, as its starter noted. */
function reopenedBy({ memo }: WorkflowExecutionDescription): string {
  return typeof memo?.reopens === 'string' ? memo.reopens : '';
}

function closedOf({ status, closeTime }: WorkflowExecutionDescription): Closed | undefined {
  return status.name === 'RUNNING' ? undefined : { status: status.name, at: closeTime ?? new Date() };
}
