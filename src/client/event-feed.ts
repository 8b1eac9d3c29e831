import type { Client } from '@temporalio/client';
import { queries } from '../contract/requests';
import type { EventsPage } from '../contract/thread';
import { type AgentEvent, type DurableEvent, isTerminal } from '../core/event';
import type { StreamBus } from '../stream/stream-bus';
import { messageOf } from './decode';
import { Heartbeats } from './heartbeats';
import type { Closed, Seen } from './history-view';
import { askPage, noWorkerMs, pagesFrom } from './log-pages';
import { askWorkflow } from './query';
import { Alarm, SideChannel } from './side-channel';
import { explain, noWorker } from './thread-errors';
import { type ThreadWatch, watchThread } from './thread-watch';

export interface EventsOptions {
  /** The first seq to read. Default 1: the whole log. */
  from?: number | undefined;
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** Include deltas, retries and progress. Default true. */
  live?: boolean | undefined;
}

interface Feed {
  client: Client;
  threadId: string;
  bus: StreamBus | undefined;
}

/** While a thread works, its workflow tasks follow each other quickly. Their events are read with one query, because queries are billed. */
const settleMs = 200;
/** Longer than any workflow task takes, unless it is lost. */
const longestDoubtMs = 15_000;
/** A run's first step follows its preparation soon, so the events of both are read together. */
const prepareMs = 1_000;

/**
 * Yields a thread's events in order, from `from` on, as they arrive, with live events in between. Ends after a run's terminal event that no other
 * event follows. Waits for an unavailable server without a limit. Rejects with `no-worker` when work has waited half a minute for a worker.
 */
export async function* readEvents(feed: Feed, { from = 1, signal, live = true }: EventsOptions): AsyncGenerator<AgentEvent> {
  const { client, threadId, bus } = feed;
  const began = Date.now();
  const alarm = new Alarm();
  const side = new SideChannel(live ? bus : undefined, threadId, alarm.call);
  const heartbeats = live && !bus ? new Heartbeats(client, threadId, signal) : undefined;
  const position: Position = { next: from };
  const { watch, release } = watchThread(client, threadId, alarm.call);
  signal?.addEventListener('abort', alarm.call);
  const unread = new Unread();
  try {
    while (!signal?.aborted) {
      const seen = watch.seen();
      const dueAt = seen ? unread.dueAt(seen, side.heldUntil()) : Number.POSITIVE_INFINITY;
      if (seen && dueAt <= Date.now()) {
        unread.read(seen);
        const done = side.reading();
        for await (const event of eventsFrom(watch, position, seen.execution, unread.trusts, signal)) {
          // The live text of the step that this event ends comes first.
          if (endsStep(event)) yield* side.take();
          side.told(event);
          yield event;
        }
        // An event that was left out may be the one that a step began.
        if (!position.doubted) done();
        unread.doubt(position.doubted);
        const ended = !seen.closed && !position.doubted && (position.end || position.skipped);
        if (ended && (position.idle ?? (await isIdle(watch, position, signal)))) {
          yield* side.take();
          return;
        }
        continue;
      }
      if (seen?.closed && dueAt === Number.POSITIVE_INFINITY) {
        yield* side.take();
        if (!position.end) yield* closedFromOutside(threadId, seen.closed, position);
        return;
      }
      yield* side.take();
      if (!seen) {
        await alarm.until(side.heldUntil());
        continue;
      }
      // Only when the log is read to its end: a step's text follows the event that the step began.
      const lookAt = dueAt === Number.POSITIVE_INFINITY && heartbeats ? heartbeats.nextAt(seen) : Number.POSITIVE_INFINITY;
      if (heartbeats && lookAt <= Date.now()) yield* await abortable(signal, () => heartbeats.look());
      else await alarm.until(Math.min(dueAt, lookAt, side.heldUntil(), await mustGoOn(watch, seen, began)));
    }
  } catch (error) {
    if (!signal?.aborted) throw explain(threadId, 'reading events', error);
  } finally {
    signal?.removeEventListener('abort', alarm.call);
    side.close();
    release();
  }
}

/** Decides whether and when to read the log. */
class Unread {
  #tasks = 0;
  #noticedAt = 0;
  #noticed = 0;
  #doubtedSince: number | undefined;

  /** Milliseconds since 1970; infinite while everything is read, or while a workflow task waits for a worker. */
  dueAt({ execution, tasks, task, working, closed }: Seen, heldUntil: number): number {
    if (tasks === this.#tasks && this.#doubtedSince !== undefined) return this.#doubtedSince + longestDoubtMs;
    if (tasks === this.#tasks || execution === '') return Number.POSITIVE_INFINITY;
    if (closed) return 0;
    // No query is answered before the task completes, and then there are more events.
    if (task?.state === 'scheduled') return Number.POSITIVE_INFINITY;
    if (this.#noticed === this.#tasks) this.#noticedAt = Date.now();
    this.#noticed = tasks;
    if (Number.isFinite(heldUntil) || !(task || working)) return 0;
    return this.#noticedAt + (working?.preparing ? prepareMs : settleMs);
  }

  /** Whether events were left out because they may not last. They are read again with the next workflow task, or after `longestDoubtMs`. */
  doubt(is: boolean | undefined): void {
    this.#doubtedSince = is ? (this.#doubtedSince ?? Date.now()) : undefined;
  }

  get trusts(): boolean {
    return this.#doubtedSince !== undefined && Date.now() >= this.#doubtedSince + longestDoubtMs;
  }

  read({ tasks }: Seen): void {
    this.#tasks = tasks;
    this.#noticed = tasks;
  }
}

/** A reader's position in the log. */
interface Position {
  next: number;
  /** The run that the last event read belongs to. */
  runId?: string | null;
  /** The terminal event of the last run, while no new run has begun. Other events between runs (a refused signal, the close) don't reset it. */
  end?: DurableEvent;
  /** Some requested events were in executions that the server has deleted, perhaps including the terminal event of the last run. */
  skipped?: boolean;
  /** Events of the last page were left out because they may not last. */
  doubted?: boolean;
  /** Whether the thread was an idle conversation when it was last read. Undefined if its worker does not report it. */
  idle?: boolean | undefined;
}

async function* eventsFrom(
  watch: ThreadWatch,
  position: Position,
  execution: string,
  trusts: boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<DurableEvent> {
  const ask = askPage(watch.client, watch.threadId, Number.POSITIVE_INFINITY);
  position.doubted = false;
  const shared = async (of: string, from: number) => {
    const asked = async () => {
      const askedAt = performance.now();
      return { askedAt, page: await ask(of, from) };
    };
    const { askedAt, page } = await abortable(signal, () => watch.share(`${of}/${from}`, asked));
    const lasting = of !== execution || trusts ? page : lastingPart(watch, of, page, askedAt);
    position.doubted ||= lasting !== page;
    return lasting;
  };
  for await (const page of pagesFrom(shared, position.next, execution)) {
    for (const event of page.events) {
      if (isTerminal(event)) position.end = event;
      else if (event.type === 'agent.run.created' || event.type === 'thread.message.queued') delete position.end;
      position.runId = event.runId;
      yield event;
    }
    position.next = page.next;
    if ('skipped' in page) position.skipped = true;
    else position.idle = page.idle;
  }
}

/**
 * A page without the events at its end that may not last: see `ThreadWatch.isRecorded`. If the history is not read to its end yet, those are the
 * newest events, of one workflow task.
 */
function lastingPart(watch: ThreadWatch, execution: string, page: EventsPage, askedAt: number): EventsPage {
  const newest = page.more ? undefined : page.events.at(-1)?.timestamp;
  const first = page.events.findIndex(({ timestamp }) => {
    const recorded = watch.isRecorded(execution, Date.parse(timestamp), askedAt);
    return recorded === false || (recorded === undefined && timestamp === newest);
  });
  if (first === -1) return page;
  const { idle: _, ...rest } = page;
  return { ...rest, events: page.events.slice(0, first), next: page.events[first]?.seq ?? page.next, more: false };
}

function endsStep({ type }: DurableEvent): boolean {
  return type === 'thread.message.completed' || type === 'agent.tool.execution.completed';
}

/** Whether a conversation is idle and its log ends before `next`. */
async function isIdle(watch: ThreadWatch, { next }: Position, signal: AbortSignal | undefined): Promise<boolean> {
  const { client, threadId } = watch;
  const ask = () =>
    askWorkflow(client, {
      threadId,
      query: queries.status,
      args: [],
      what: 'reading events',
      patienceMs: noWorkerMs,
      awayMs: Number.POSITIVE_INFINITY,
    });
  const { mode, status, seq } = await abortable(signal, () => watch.share('status', ask));
  return mode === 'conversation' && status === 'idle' && seq < next;
}

/** Rejects as soon as the signal is aborted. The work itself continues, because other readers may share it. */
async function abortable<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (!signal) return work();
  signal.throwIfAborted();
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Resolves with until when to wait for a workflow task that no worker takes or that fails repeatedly. Rejects when that time has passed. */
async function mustGoOn(watch: ThreadWatch, { task, closed }: Seen, began: number): Promise<number> {
  if (task?.state !== 'scheduled' || closed) return Number.POSITIVE_INFINITY;
  const until = Math.max(task.since, began, watch.awayAt()) + noWorkerMs;
  if (Date.now() < until) return until;
  const failure = task.failure && (await messageOf(watch.client, task.failure));
  throw noWorker(watch.threadId, 'reading events', { failure });
}

/** A workflow that was terminated or timed out records no terminal event. Readers get this one instead, so that their loops end. */
function closedFromOutside(threadId: string, { status, at }: Closed, { next, runId = null }: Position): DurableEvent[] {
  if (status !== 'TERMINATED' && status !== 'TIMED_OUT') return [];
  const reason = status === 'TERMINATED' ? 'terminated' : 'timed-out';
  return [
    {
      seq: next,
      type: 'thread.run.expired',
      timestamp: at.toISOString(),
      threadId,
      runId,
      data: {
        reason,
        message: `Thread "${threadId}" was ${reason === 'terminated' ? 'terminated' : 'ended by its timeout'} from outside; its current step did not finish.`,
      },
    },
  ];
}
