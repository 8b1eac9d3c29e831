import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { StepProgress } from '../contract/activities';
import { queries } from '../contract/requests';
import type { EventsPage } from '../contract/thread';
import { type AgentEvent, type DurableEvent, type EphemeralEvent, isTerminal } from '../core/event';
import type { StreamBus } from '../stream/stream-bus';
import { grpc, grpcCode } from './errors';
import { persist } from './persist';
import { askWorkflow } from './query';
import { explain } from './thread-errors';

export interface EventsOptions {
  /** First seq wanted. Default 1: everything there is. */
  from?: number;
  /** Ends the iteration without an error. */
  signal?: AbortSignal;
  /** Also deltas, retries and progress. Default true. */
  live?: boolean;
}

interface Feed {
  client: Client;
  threadId: string;
  bus: StreamBus | undefined;
}

/** How often a reader without a side channel looks: about twice a second, at the server only, so that waiting costs no worker anything. */
const lookMs = 400;
const soonMs = 10;
const noWorkerMs = 30_000;

/**
 * A thread's events in order, from `from` on, as they come; live ones in between. Ends with the run: after the terminal event that
 * nothing follows. Outlives restarts of the server; rejects with `no-worker` when nobody has answered for half a minute.
 */
export async function* readEvents(feed: Feed, { from = 1, signal, live = true }: EventsOptions): AsyncGenerator<AgentEvent> {
  const inbox = openInbox(feed, live && feed.bus !== undefined);
  const heartbeats = new Snapshots(feed.threadId);
  const position: Position = { next: from };
  let seen = '';
  let pauseMs = 0;
  let lookedAt = 0;
  try {
    while (!signal?.aborted) {
      const grown = inbox.grown();
      // The word comes a moment before the log has grown, so the next looks follow each other quickly until it has.
      if (grown) pauseMs = soonMs;
      if (grown || Date.now() - lookedAt >= pauseMs) {
        const now = await describe(feed);
        lookedAt = Date.now();
        pauseMs = Math.min(Math.max(pauseMs, soonMs) * 2, lookMs);
        const state = `${now.runId}/${now.historyLength}`;
        const changed = state !== seen;
        if (changed) {
          for await (const event of eventsFrom(feed, position, now.runId)) {
            // What it is the end of was written before it.
            if (endsStep(event)) yield* inbox.take();
            yield event;
            pauseMs = lookMs;
          }
          seen = state;
        }
        const over = now.status.name !== 'RUNNING';
        if (over || (changed && (position.end || position.skipped) && (await isAtRest(feed, position.next)))) {
          yield* inbox.take();
          const end = over && !position.end && closedFromOutside(feed.threadId, now, position);
          if (end) yield end;
          return;
        }
        if (live && !feed.bus) yield* heartbeats.of(now);
      }
      yield* inbox.take();
      await inbox.wait(lookedAt + pauseMs - Date.now(), signal);
    }
  } catch (error) {
    throw explain(feed.threadId, 'reading events', error);
  } finally {
    inbox.close();
  }
}

/** The durable events there are, oldest first. `missing`: of the oldest the server has none any more. */
export async function readLog(feed: Feed): Promise<{ events: DurableEvent[]; missing: boolean }> {
  try {
    const events: DurableEvent[] = [];
    let missing = false;
    for await (const page of pagesFrom(feed, 1, (await describe(feed)).runId)) {
      events.push(...page.events);
      missing ||= 'skipped' in page;
    }
    return { events, missing };
  } catch (error) {
    throw explain(feed.threadId, 'reading events', error);
  }
}

/** How far a reader is. */
interface Position {
  next: number;
  /** The run that the last event read belongs to. */
  runId?: string | null;
  /** The last run's end, while nothing has begun after it. What else is recorded at rest (a refused signal, the close) leaves it so. */
  end?: DurableEvent;
  /** Events wanted were in executions that the server has deleted, the end of the last run perhaps among them. */
  skipped?: boolean;
}

async function* eventsFrom(feed: Feed, position: Position, execution: string): AsyncGenerator<DurableEvent> {
  for await (const page of pagesFrom(feed, position.next, execution)) {
    for (const event of page.events) {
      if (isTerminal(event)) position.end = event;
      else if (event.type === 'agent.run.created' || event.type === 'thread.message.queued') delete position.end;
      position.runId = event.runId;
      yield event;
    }
    position.next = page.next;
    if ('skipped' in page) position.skipped = true;
  }
}

function endsStep({ type }: DurableEvent): boolean {
  return type === 'thread.message.completed' || type === 'agent.tool.execution.completed';
}

/** What the side channel brought since the reader last looked. */
function openInbox({ bus, threadId }: Feed, live: boolean) {
  let events: EphemeralEvent[] = [];
  let grown = false;
  let wake: () => void = () => undefined;
  const begun = new Set<string>();
  const stop = bus?.subscribe(threadId, (item) => {
    if (item.kind === 'grown') grown = true;
    else if (live) {
      // The first that is heard of a step: the log has its beginning by now.
      const of = stepOf(item.event);
      if (of && !begun.has(of)) grown = true;
      if (of) begun.add(of);
      events.push(item.event);
    }
    wake();
  });
  return {
    take: () => events.splice(0),
    grown: () => {
      const was = grown;
      grown = false;
      return was;
    },
    wait(ms: number, signal?: AbortSignal): Promise<void> {
      if (events.length > 0 || grown || ms <= 0 || signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          wake = () => undefined;
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener('abort', done, { once: true });
        wake = done;
      });
    },
    close: () => {
      events = [];
      stop?.();
    },
  };
}

function stepOf({ type, data }: EphemeralEvent): string | undefined {
  if (type === 'thread.message.delta') return data.messageId;
  return type === 'agent.tool.progress' ? data.toolCallId : undefined;
}

function describe({ client, threadId }: Feed): Promise<WorkflowExecutionDescription> {
  return persist(client.connection, 'reading events', () => client.workflow.getHandle(threadId).describe());
}

/** Every page from a seq on, oldest execution of the thread first. */
async function* pagesFrom(feed: Feed, from: number, execution: string): AsyncGenerator<EventsPage | Skipped> {
  let next = from;
  for (;;) {
    const page = await ask(feed, execution, next);
    if (page.earlier) {
      // The beginning stands in executions before this one, which still answer under their own ids.
      const { execution: before, before: bound } = page.earlier;
      try {
        for await (const older of pagesFrom(feed, next, before)) {
          yield older;
          next = older.next;
        }
      } catch (error) {
        // Longer closed than the namespace retains: the thread lives on without that part of its log.
        if (!isGone(error)) throw error;
        yield { events: [], next: bound, skipped: true };
      }
      next = Math.max(next, bound);
      continue;
    }
    yield page;
    next = page.next;
    if (!page.more) return;
  }
}

interface Skipped {
  events: DurableEvent[];
  next: number;
  skipped: true;
}

function isGone(error: unknown): boolean {
  return (error as Error).name === 'WorkflowNotFoundError' || grpcCode(error) === grpc.notFound;
}

function ask({ client, threadId }: Feed, execution: string, from: number): Promise<EventsPage> {
  return askWorkflow(client, {
    threadId,
    execution,
    query: queries.events,
    args: [{ from }],
    what: 'reading events',
    patienceMs: noWorkerMs,
  });
}

/** Whether a conversation waits for its next message, and everything before `next` was all that it has told. */
async function isAtRest({ client, threadId }: Feed, next: number): Promise<boolean> {
  const { mode, status, seq } = await askWorkflow(client, {
    threadId,
    query: queries.status,
    args: [],
    what: 'reading events',
    patienceMs: noWorkerMs,
  });
  return mode === 'conversation' && status === 'idle' && seq < next;
}

/** A workflow that was terminated or timed out records nothing; so that a reader's loop still ends with the run, the end is told here. */
function closedFromOutside(
  threadId: string,
  now: WorkflowExecutionDescription,
  { next, runId = null }: Position,
): DurableEvent | undefined {
  const name = now.status.name;
  if (name !== 'TERMINATED' && name !== 'TIMED_OUT') return undefined;
  const reason = name === 'TERMINATED' ? 'terminated' : 'timed-out';
  return {
    seq: next,
    type: 'thread.run.expired',
    timestamp: (now.closeTime ?? new Date()).toISOString(),
    threadId,
    runId,
    data: {
      reason,
      message: `Thread "${threadId}" was ${reason === 'terminated' ? 'terminated' : 'ended by its timeout'} from outside; what it was doing is not finished.`,
    },
  };
}

/** The growing text, and what failed, from the heartbeats of the steps under way: for readers in another process than the worker. */
class Snapshots {
  readonly #seen = new Map<string, string>();
  readonly #retries = new Map<string, number>();

  constructor(readonly threadId: string) {}

  *of(now: WorkflowExecutionDescription): Generator<EphemeralEvent> {
    for (const activity of now.raw.pendingActivities ?? []) {
      const progress = decode(activity.heartbeatDetails?.payloads?.[0]);
      if (!progress) continue;
      yield* this.#retriesOf(progress);
      if (!progress.text) continue;
      const key = `${progress.messageId ?? progress.toolCallId}.${progress.attempt}`;
      if (this.#seen.get(key) === progress.text) continue;
      this.#seen.set(key, progress.text);
      yield this.#grown(progress, progress.text);
    }
  }

  /** Each failed attempt once. */
  *#retriesOf(progress: StepProgress): Generator<EphemeralEvent> {
    const { messageId = '', turn = 0, failed = [], maxAttempts = 0 } = progress;
    const told = this.#retries.get(messageId) ?? 0;
    for (const [i, { kind, message, waitMs = 0, waitSource = 'backoff' }] of failed.entries()) {
      if (i < told) continue;
      const attempts = { nextAttempt: i + 2, maxAttempts: Math.max(maxAttempts, i + 2) };
      const data = { turn, ...attempts, delayMs: waitMs, delaySource: waitSource, failureKind: kind, message };
      yield { ...this.#envelope(progress), type: 'agent.llm.retry', data };
    }
    if (failed.length > told) this.#retries.set(messageId, failed.length);
  }

  #grown(progress: StepProgress, text: string): EphemeralEvent {
    const { messageId = '', toolCallId, name = '', turn = 0, attempt } = progress;
    const envelope = this.#envelope(progress);
    return toolCallId
      ? { ...envelope, type: 'agent.tool.progress', data: { toolCallId, name, attempt, message: text } }
      : { ...envelope, type: 'thread.message.delta', data: { messageId, turn, attempt, index: 0, contentChunk: text, snapshot: true } };
  }

  #envelope({ runId = null }: { runId?: string | null }): { timestamp: string; threadId: string; runId: string | null } {
    return { timestamp: new Date().toISOString(), threadId: this.threadId, runId };
  }
}

function decode(payload: Payload | undefined | null): StepProgress | undefined {
  try {
    return payload ? defaultPayloadConverter.fromPayload<StepProgress>(payload) : undefined;
  } catch {
    // An encrypted heartbeat of a client without the key: the text is then shown when it is whole.
    return undefined;
  }
}
