/** Kinds of trouble with a model provider. Each is the `type` of the failure that the activity raises, so it is what the history shows. */
export const retryableKinds = ['rate-limit', 'overloaded', 'server', 'timeout', 'connection', 'truncated-stream', 'empty'] as const;
export const finalKinds = [
  'auth',
  'permission',
  'bad-request',
  'context-length',
  'quota',
  'content-filter',
  'not-found',
  /** It sent more than a call takes, and would send it again. */
  'too-large',
] as const;

export type FailureKind = (typeof retryableKinds)[number] | (typeof finalKinds)[number];

export function isRetryable(kind: FailureKind): boolean {
  return (retryableKinds as readonly string[]).includes(kind);
}

/** One failed attempt at a model call, as it stands in the step's event. `waitMs`: what it waited before the next. */
export interface FailedAttempt {
  kind: FailureKind;
  message: string;
  status?: number;
  waitMs?: number;
  /** Where the wait came from: the provider's Retry-After, or our own backoff. */
  waitSource?: 'retry-after' | 'backoff';
  /** Of the last attempt: the wait that the provider asked for, in milliseconds, though no other followed. */
  retryAfterMs?: number;
}

/**
 * How a model call is retried. Waits are in milliseconds.
 * `exponential`: base, 2·base, 4·base…; `linear`: base, 2·base, 3·base…; both at most `maxMs`, then times a random 0.5 to 1 unless `jitter` is false.
 */
export interface RetryPolicy {
  /** Requests in all, the first included. */
  maxAttempts: number;
  baseMs: number;
  maxMs: number;
  backoff: 'exponential' | 'linear';
  jitter: boolean;
  /** No new attempt begins later than this after the first; an attempt under way is never cut. */
  windowMs: number;
  /** A Retry-After above this ends the call at once. */
  retryAfterCeilingMs: number;
  /** Whether an attempt that broke after readers were shown part of its answer is followed by another, which begins the answer anew. */
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

/** Fills in a partial policy; a value that makes no sense falls back to its default. */
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

/** The wait before attempt `attempt + 1`, in milliseconds. `random` is in [0, 1). */
export function backoffMs(policy: RetryPolicy, attempt: number, random: number): number {
  const steps = policy.backoff === 'linear' ? attempt : 2 ** (attempt - 1);
  const wait = Math.min(policy.baseMs * steps, policy.maxMs);
  return Math.round(policy.jitter ? wait * (0.5 + random / 2) : wait);
}
