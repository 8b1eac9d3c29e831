/** Kinds of model provider failures. The kind is the `type` of the activity's failure, so the history shows it. */
export const retryableKinds = ['rate-limit', 'overloaded', 'server', 'timeout', 'connection', 'truncated-stream', 'empty'] as const;
export const finalKinds = [
  'auth',
  'permission',
  'bad-request',
  'context-length',
  'quota',
  'content-filter',
  'not-found',
  /** The response is larger than allowed, and a retry would be too. */
  'too-large',
] as const;

export type FailureKind = (typeof retryableKinds)[number] | (typeof finalKinds)[number];

export function isRetryable(kind: FailureKind): boolean {
  return (retryableKinds as readonly string[]).includes(kind);
}

const passedOn: readonly FailureKind[] = [...retryableKinds, 'quota', 'not-found'];

/** Whether a fallback model may succeed after a failure of this kind. Not for a wrong request or key, which would fail again. */
export function isPassedOn(kind: string, { contentFilter = false }: { contentFilter?: boolean } = {}): boolean {
  return (passedOn as readonly string[]).includes(kind) || (contentFilter && kind === 'content-filter');
}

/** One failed attempt at a model call, as recorded in the step's event. `waitMs`: the wait before the next attempt. */
export interface FailedAttempt {
  kind: FailureKind;
  message: string;
  status?: number;
  waitMs?: number;
  /** The source of the wait: the provider's Retry-After, or the retry policy's backoff. */
  waitSource?: 'retry-after' | 'backoff';
  /** On the last attempt: the wait that the provider requested, in milliseconds, although no attempt followed. */
  retryAfterMs?: number;
}

/**
 * How a model call is retried. Waits are in milliseconds.
 * `exponential`: base, 2·base, 4·base…; `linear`: base, 2·base, 3·base…; both at most `maxMs`, then times a random 0.5 to 1 unless `jitter` is false.
 */
export interface RetryPolicy {
  /** Total number of requests, including the first. */
  maxAttempts: number;
  baseMs: number;
  maxMs: number;
  backoff: 'exponential' | 'linear';
  jitter: boolean;
  /** No attempt begins later than this after the first one. A running attempt is never aborted. */
  windowMs: number;
  /** A Retry-After above this fails the call immediately. */
  retryAfterCeilingMs: number;
  /** Whether an attempt that failed after readers saw a part of its answer is retried, which starts the answer again. */
  afterPartial: boolean;
}

export const defaultRetry: RetryPolicy = {
  maxAttempts: 5,
  baseMs: 1_000,
  maxMs: 60_000,
  backoff: 'exponential',
  jitter: true,
  windowMs: 20 * 60_000,
  retryAfterCeilingMs: 60_000,
  afterPartial: true,
};

/** Completes a partial policy with defaults. Invalid values are replaced by their defaults. */
export function retryPolicy(partial: Partial<RetryPolicy> = {}): RetryPolicy {
  const positive = (value: unknown, otherwise: number) =>
    typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : otherwise;
  return {
    maxAttempts: Math.max(1, Math.floor(positive(partial.maxAttempts, defaultRetry.maxAttempts))),
    baseMs: positive(partial.baseMs, defaultRetry.baseMs),
    maxMs: positive(partial.maxMs, defaultRetry.maxMs),
    backoff: partial.backoff === 'linear' ? 'linear' : 'exponential',
    jitter: partial.jitter !== false,
    windowMs: positive(partial.windowMs, defaultRetry.windowMs),
    retryAfterCeilingMs: positive(partial.retryAfterCeilingMs, defaultRetry.retryAfterCeilingMs),
    afterPartial: partial.afterPartial !== false,
  };
}

/** Returns the wait before attempt `attempt + 1` in milliseconds. `random` is in [0, 1). */
export function backoffMs(policy: RetryPolicy, attempt: number, random: number): number {
  const steps = policy.backoff === 'linear' ? attempt : 2 ** (attempt - 1);
  const wait = Math.min(policy.baseMs * steps, policy.maxMs);
  return Math.round(policy.jitter ? wait * (0.5 + random / 2) : wait);
}
