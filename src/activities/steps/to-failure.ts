import { ApplicationFailure } from '@temporalio/activity';
import { backoffMs, type FailedAttempt, isRetryable, type RetryPolicy } from '../../core/failure';
import type { Waste } from '../../core/waste';
import type { ModelFailure } from '../../models/model';

export interface FailureContext {
  policy: RetryPolicy;
  /** Attempts that failed before this one. */
  before: readonly FailedAttempt[];
  /** Milliseconds since the first attempt began. */
  elapsedMs: number;
  /** In [0, 1). */
  random: number;
  /** Whether readers saw a part of the failed answer. */
  partial?: boolean;
}

export interface JudgedFailure {
  attempt: FailedAttempt;
  /** Whether another attempt follows, after `attempt.waitMs`. */
  again: boolean;
  message: string;
  /** The policy's maximum number of attempts. */
  maxAttempts: number;
}

/** Decides whether a failed model call is tried again, and when. */
export function judgeFailure(failure: ModelFailure, { policy, before, elapsedMs, random, partial }: FailureContext): JudgedFailure {
  const { kind, message, details } = failure;
  const attempt: FailedAttempt = { kind, message, ...(details.status !== undefined && { status: details.status }) };
  const made = before.length + 1;
  const asked = details.retryAfterMs;
  const final = (why: string): JudgedFailure => ({
    attempt: { ...attempt, ...(asked !== undefined && isRetryable(kind) && { retryAfterMs: asked }) },
    again: false,
    message: why,
    maxAttempts: policy.maxAttempts,
  });
  if (!isRetryable(kind)) return final(message);
  if (partial && !policy.afterPartial) return final(`${message} (part of the answer was shown, and retry.afterPartial is false)`);
  if (made >= policy.maxAttempts) return final(`${message} (attempt ${made} of ${policy.maxAttempts}, none left)`);
  if (asked !== undefined && asked > policy.retryAfterCeilingMs) {
    return final(
      `${message} (the provider asks for a wait of ${Math.round(asked / 1000)} s, above the ceiling of ${policy.retryAfterCeilingMs / 1000} s)`,
    );
  }
  const waitMs = Math.round(asked ?? backoffMs(policy, made, random));
  if (elapsedMs + waitMs > policy.windowMs)
    return final(`${message} (no attempt begins later than ${policy.windowMs / 1000} s after the first)`);
  return {
    attempt: { ...attempt, waitMs, waitSource: asked === undefined ? 'backoff' : 'retry-after' },
    again: true,
    message,
    maxAttempts: policy.maxAttempts,
  };
}

/** Creates the failure for Temporal, retryable or not. Its type is the failure kind, so that the history shows what happened. */
export function toFailure(
  { attempt, again, message, maxAttempts }: JudgedFailure,
  { before, model, wasted }: { before: readonly FailedAttempt[]; model: string; wasted?: Waste | undefined },
): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: attempt.kind,
    nonRetryable: !again,
    // Temporal adds no jitter to an explicit delay and does not cap it, so each wait is set explicitly. Zero is not allowed.
    ...(again && { nextRetryDelay: Math.max(1, attempt.waitMs ?? 1) }),
    details: [
      {
        model,
        ...(attempt.status !== undefined && { status: attempt.status }),
        attempts: [...before, attempt],
        maxAttempts,
      },
      // A second detail, because the first becomes the `details` of the run's end.
      ...(wasted ? [{ wasted }] : []),
    ],
  });
}
