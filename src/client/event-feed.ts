import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { StepProgress } from '../contract/activities';
import { queries } from '../contract/requests';
import type { EventsPage } from '../contract/thread';
import { type AgentEvent, type DurableEvent, type EphemeralEvent, isTerminal } from '../core/event';
import type { StreamBus } from '../stream/stream-bus';
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
const noWorkerMs = 30_000;

/**
 * A thread's events in order, from `from` on, as they come; live ones in between. Ends with the run: after the terminal event that
 * nothing follows. Outlives restarts of the server; rejects with `no-worker` when nobody has answered for half a minute.
 */
export async function* readEvents(feed: Feed, { from = 1, signal, live = true }: EventsOptions): AsyncGenerator<AgentEvent> {
  const inbox = openInbox(feed, live && feed.bus !== undefined);
  const heartbeats = new Snapshots(feed.threadId);
  let next = from;
  let seen = '';
  let last: DurableEvent | undefined;
  try {
    while (!signal?.aborted) {
      yield* inbox.take();
      const now = await describe(feed);
      const { historyLength, runId } = now;
      const state = `${runId}/${historyLength}`;
      const grown = state !== seen || inbox.grown();
      if (grown) {
        for await (const page of pagesFrom(feed, next, runId)) {
          for (const event of page.events) {
            yield event;
            last = event;
          }
          next = page.next;
        }
        seen = state;
      }
      if (last && isTerminal(last) && (now.status.name !== 'RUNNING' || (await isAtRest(feed)))) return;
      if (now.status.name !== 'RUNNING' && grown) {
        const end = closedFromOutside(feed.threadId, now, next, last);
        if (end) yield end;
        return;
      }
      if (live && !feed.bus) yield* heartbeats.of(now);
      await inbox.wait(lookMs, signal);
    }
  } catch (error) {
    throw explain(feed.threadId, 'reading events', error);
  } finally {
    inbox.close();
  }
}

/** What the side channel brought since the reader last looked. */
function openInbox({ bus, threadId }: Feed, live: boolean) {
  let events: EphemeralEvent[] = [];
  let grown = false;
  let wake: () => void = () => undefined;
  const stop = bus?.subscribe(threadId, (item) => {
    if (item.kind === 'grown') grown = true;
    else if (live) events.push(item.event);
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
      if (events.length > 0 || signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          wake = () => undefined;
          resolve();
        };
        const timer = setTimeout(done, grown ? Math.min(ms, 20) : ms);
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

function describe({ client, threadId }: Feed): Promise<WorkflowExecutionDescription> {
  return persist(client.connection as never, 'reading events', () => client.workflow.getHandle(threadId).describe());
}

/** Every page from a seq on, oldest execution of the thread first. */
async function* pagesFrom(feed: Feed, from: number, execution: string): AsyncGenerator<EventsPage> {
  let next = from;
  for (;;) {
    const page = await ask(feed, execution, next);
    if (page.earlier) {
      // The beginning stands in executions before this one, which still answer under their own ids.
      const { execution: before, before: bound } = page.earlier;
      for await (const older of pagesFrom(feed, next, before)) {
        yield older;
        next = older.next;
      }
      next = Math.max(next, bound);
      continue;
    }
    yield page;
    next = page.next;
    if (!page.more) return;
  }
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

async function isAtRest({ client, threadId }: Feed): Promise<boolean> {
  const { mode, status } = await askWorkflow(client, {
    threadId,
    query: queries.status,
    args: [],
    what: 'reading events',
    patienceMs: noWorkerMs,
  });
  return mode === 'conversation' && status === 'idle';
}

/** A workflow that was terminated or timed out records nothing; so that a reader's loop still ends with the run, the end is told here. */
function closedFromOutside(
  threadId: string,
  now: WorkflowExecutionDescription,
  seq: number,
  last: DurableEvent | undefined,
): DurableEvent | undefined {
  const name = now.status.name;
  if (name !== 'TERMINATED' && name !== 'TIMED_OUT') return undefined;
  const reason = name === 'TERMINATED' ? 'terminated' : 'timed-out';
  return {
    seq,
    type: 'thread.run.expired',
    timestamp: (now.closeTime ?? new Date()).toISOString(),
    threadId,
    runId: last?.runId ?? null,
    data: {
      reason,
      message: `Thread "${threadId}" was ${reason === 'terminated' ? 'terminated' : 'ended by its timeout'} from outside; what it was doing is not finished.`,
    },
  };
}

/** The growing text, from the heartbeats of the steps under way: for readers in another process than the worker. */
class Snapshots {
  readonly #seen = new Map<string, string>();

  constructor(readonly threadId: string) {}

  *of(now: WorkflowExecutionDescription): Generator<EphemeralEvent> {
    for (const activity of now.raw.pendingActivities ?? []) {
      const progress = decode(activity.heartbeatDetails?.payloads?.[0]);
      if (!progress?.text) continue;
      const key = `${progress.messageId ?? progress.toolCallId}.${progress.attempt}`;
      if (this.#seen.get(key) === progress.text) continue;
      this.#seen.set(key, progress.text);
      yield this.#event(progress, progress.text);
    }
  }

  #event({ messageId, toolCallId, turn = 0, attempt }: StepProgress, text: string): EphemeralEvent {
    const envelope = { timestamp: new Date().toISOString(), threadId: this.threadId, runId: null };
    return toolCallId
      ? { ...envelope, type: 'agent.tool.progress', data: { toolCallId, name: '', attempt, message: text } }
      : {
          ...envelope,
          type: 'thread.message.delta',
          data: { messageId: messageId ?? '', turn, attempt, index: 0, contentChunk: text, snapshot: true },
        };
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
