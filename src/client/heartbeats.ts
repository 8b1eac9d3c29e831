import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { StepProgress } from '../contract/activities';
import type { EphemeralEvent } from '../core/event';
import { decodePayload } from './decode';
import type { Seen } from './history-view';
import { persist } from './persist';

/** Delay before the first look at a step, which has nothing to show yet when it begins. */
const firstLookMs = 1_000;
/** The interval if heartbeats carry no text, to find failed attempts. */
const rareLookMs = 10_000;
/** The interval for a worker that puts text into heartbeats but does not report how often. */
const usualLookMs = 500;

/**
 * Reads the growing text and the failed attempts from the heartbeats of running steps, for readers in another process than the worker. It calls
 * `describe` (which is not billed) only while a step is running, at the interval that the worker reports.
 */
export class Heartbeats {
  readonly #texts = new Map<string, string>();
  readonly #retries = new Map<string, number>();
  #step: number | undefined;
  #nextAt = Number.POSITIVE_INFINITY;

  constructor(
    readonly client: Client,
    readonly threadId: string,
    readonly signal?: AbortSignal,
  ) {}

  /** When to look again, in milliseconds since 1970. Infinite if no step is running. */
  nextAt({ working, closed }: Seen): number {
    const step = closed ? undefined : working?.since;
    if (step === undefined) this.#nextAt = Number.POSITIVE_INFINITY;
    else if (step !== this.#step) this.#nextAt = step + firstLookMs;
    this.#step = step;
    return this.#nextAt;
  }

  async look(): Promise<EphemeralEvent[]> {
    const { client, threadId, signal } = this;
    const handle = client.workflow.getHandle(threadId);
    const patience = { awayMs: Number.POSITIVE_INFINITY, signal };
    const { raw } = await persist(client.connection, 'reading events', () => handle.describe(), patience);
    const told: EphemeralEvent[] = [];
    let everyMs = rareLookMs;
    for (const activity of raw.pendingActivities ?? []) {
      // A failure is reported by the attempt after it.
      if ((activity.attempt ?? 1) > 1) everyMs = Math.min(everyMs, Math.max(msUntil(activity.scheduledTime), 0) + firstLookMs);
      // Without the key, the text is shown when it is complete.
      const progress = (await decodePayload(client, activity.heartbeatDetails?.payloads?.[0])) as StepProgress | undefined;
      if (!progress) continue;
      everyMs = Math.min(everyMs, progress.liveMs ?? (progress.text ? usualLookMs : rareLookMs));
      told.push(...this.#retriesOf(progress), ...this.#grown(progress));
    }
    this.#nextAt = Date.now() + everyMs;
    return told;
  }

  /** Yields each failed attempt once. */
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

  *#grown(progress: StepProgress): Generator<EphemeralEvent> {
    const { messageId = '', toolCallId, name = '', turn = 0, attempt, text } = progress;
    const key = `${messageId || toolCallId}.${attempt}`;
    if (!text || this.#texts.get(key) === text) return;
    const restart = attempt > 1 && !this.#texts.has(key) && ({ restart: true } as const);
    this.#texts.set(key, text);
    const envelope = this.#envelope(progress);
    yield toolCallId
      ? { ...envelope, type: 'agent.tool.progress', data: { toolCallId, name, attempt, message: text } }
      : {
          ...envelope,
          type: 'thread.message.delta',
          data: { messageId, turn, attempt, index: 0, contentChunk: text, ...restart, snapshot: true },
        };
  }

  #envelope({ runId = null }: { runId?: string | null }): { timestamp: string; threadId: string; runId: string | null } {
    return { timestamp: new Date().toISOString(), threadId: this.threadId, runId };
  }
}

type Timestamp = NonNullable<NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]['scheduledTime']>;

function msUntil(time: Timestamp | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1_000 - Date.now();
}
