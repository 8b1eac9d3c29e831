import fc from 'fast-check';
import { type FailureContext, judgeFailure, toFailure } from '../../src/activities/steps/to-failure';
import { type FailedAttempt, type FailureKind, finalKinds, retryableKinds, retryPolicy } from '../../src/core/failure';
import { ModelFailure } from '../../src/models/model';

const policy = retryPolicy({ jitter: false });
const context = (change: Partial<FailureContext> = {}): FailureContext => ({ policy, before: [], elapsedMs: 0, random: 0, ...change });
const attempts = (n: number): FailedAttempt[] => Array.from({ length: n }, () => ({ kind: 'server', message: 'it broke', waitMs: 1 }));
const rateLimit = (retryAfterMs?: number) =>
  new ModelFailure('rate-limit', 'too many requests', { status: 429, ...(retryAfterMs !== undefined && { retryAfterMs }) });

test.each(finalKinds)('[B82][B72] %s is never retried, and never waited for', (kind) => {
  const judged = judgeFailure(new ModelFailure(kind, 'no', { status: 400, retryAfterMs: 5_000 }), context());
  expect(judged).toMatchObject({ attempt: { kind, message: 'no', status: 400 }, again: false, message: 'no' });
  const failure = toFailure(judged, { before: [], model: 'openai/x' });
  expect(failure).toMatchObject({ type: kind, nonRetryable: true });
  expect(failure.nextRetryDelay).toBeFalsy();
});

test.each(retryableKinds)('[B73][B74] %s is retried after our own wait, whatever its message', (kind) => {
  const judged = judgeFailure(new ModelFailure(kind, 'quota? invalid? no.'), context({ before: attempts(1) }));
  expect(judged).toMatchObject({ again: true, attempt: { waitMs: 2_000, waitSource: 'backoff' } });
  expect(toFailure(judged, { before: attempts(1), model: 'openai/x' })).toMatchObject({
    type: kind,
    nonRetryable: false,
    nextRetryDelay: 2_000,
  });
});

test('[B81] the wait that the provider requests is used to the millisecond, up to the ceiling', () => {
  for (const wait of [0, 1, 1_500, 60_000]) {
    const judged = judgeFailure(rateLimit(wait), context());
    expect(judged).toMatchObject({ again: true, attempt: { waitMs: wait, waitSource: 'retry-after', status: 429 } });
    expect(toFailure(judged, { before: [], model: 'openai/x' }).nextRetryDelay).toBe(Math.max(1, wait));
  }
});

test('[B81] a wait above the ceiling ends the call immediately, and the message names the wait and the ceiling', () => {
  const judged = judgeFailure(rateLimit(61_000), context());
  expect(judged.again).toBe(false);
  expect(judged.attempt).toMatchObject({ retryAfterMs: 61_000 });
  expect(judged.message).toBe('too many requests (the provider asks for a wait of 61 s, above the ceiling of 60 s)');
});

test('[B75] there is no attempt after the last, and the message has their number', () => {
  expect(judgeFailure(rateLimit(), context({ before: attempts(3) })).again).toBe(true);
  const last = judgeFailure(rateLimit(), context({ before: attempts(4) }));
  expect(last).toMatchObject({ again: false, message: 'too many requests (attempt 5 of 5, none left)' });
});

test('[B80] no attempt begins later than the window after the first', () => {
  expect(judgeFailure(rateLimit(5_000), context({ elapsedMs: policy.windowMs - 5_000 })).again).toBe(true);
  const late = judgeFailure(rateLimit(5_000), context({ elapsedMs: policy.windowMs - 4_999 }));
  expect(late).toMatchObject({ again: false, message: 'too many requests (no attempt begins later than 1200 s after the first)' });
});

test('[B86] the final error has every attempt with its kind and wait, its type, and no cause', () => {
  const secret = new ModelFailure('auth', 'the key was refused', { status: 401 }, { cause: new Error('Bearer sk-secret') });
  const failure = toFailure(judgeFailure(secret, context({ before: attempts(2) })), { before: attempts(2), model: 'openai/x' });
  expect(failure.details).toEqual([
    {
      model: 'openai/x',
      status: 401,
      attempts: [...attempts(2), { kind: 'auth', message: 'the key was refused', status: 401 }],
      maxAttempts: 5,
    },
  ]);
  expect(JSON.stringify([failure.message, failure.details, failure.cause])).not.toContain('sk-secret');
});

test('the policy applies to every kind of failure and any number of attempts', () => {
  fc.assert(
    fc.property(
      fc.constantFrom<FailureKind>(...retryableKinds, ...finalKinds),
      fc.option(fc.nat(200_000), { nil: undefined }),
      fc.nat(8),
      fc.nat(3_000_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.record({ maxAttempts: fc.integer({ min: 1, max: 8 }), windowMs: fc.integer({ min: 1, max: 3_000_000 }) }),
      (kind, retryAfterMs, made, elapsedMs, random, partial) => {
        const policy = retryPolicy(partial);
        const judged = judgeFailure(new ModelFailure(kind, 'm', { retryAfterMs }), { policy, before: attempts(made), elapsedMs, random });
        if (!judged.again) return;
        expect(retryableKinds).toContain(kind);
        expect(made + 1).toBeLessThan(policy.maxAttempts);
        expect(judged.attempt.waitMs).toBeLessThanOrEqual(policy.retryAfterCeilingMs);
        expect(elapsedMs + (judged.attempt.waitMs ?? 0)).toBeLessThanOrEqual(policy.windowMs);
        const { nextRetryDelay } = toFailure(judged, { before: [], model: 'openai/x' });
        expect(Number.isInteger(nextRetryDelay) && Number(nextRetryDelay) > 0).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
