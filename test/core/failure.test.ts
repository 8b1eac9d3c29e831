import fc from 'fast-check';
import { backoffMs, defaultRetry, finalKinds, isRetryable, type RetryPolicy, retryableKinds, retryPolicy } from '../../src/core/failure';

test('[B80] defaults: waits from 1 s to 60 s, randomized from half to the full wait, within 20 minutes', () => {
  const policy = retryPolicy();
  expect(policy).toEqual(defaultRetry);
  expect(policy).toMatchObject({ baseMs: 1_000, maxMs: 60_000, jitter: true, windowMs: 20 * 60_000 });
  expect(backoffMs(policy, 1, 0)).toBe(500);
  expect(backoffMs(policy, 1, 1)).toBe(1_000);
  expect(backoffMs(policy, 3, 1)).toBe(4_000);
  expect(backoffMs(policy, 30, 1)).toBe(60_000);
});

test('[B80] three attempts can be set, and invalid settings fall back to the defaults', () => {
  expect(retryPolicy({ maxAttempts: 3 })).toEqual({ ...defaultRetry, maxAttempts: 3 });
  const nonsense = [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, '5', null, {}];
  const keys = ['maxAttempts', 'baseMs', 'maxMs', 'windowMs', 'retryAfterCeilingMs'] as const;
  for (const key of keys) for (const value of nonsense) expect(retryPolicy({ [key]: value } as Partial<RetryPolicy>)).toEqual(defaultRetry);
  expect(retryPolicy({ backoff: 'random' as never, jitter: 'no' as never })).toEqual(defaultRetry);
  expect(retryPolicy({ maxAttempts: 2.9 }).maxAttempts).toBe(2);
  expect(retryPolicy({ maxAttempts: 0.5 }).maxAttempts).toBe(1);
});

test('[B75] five attempts with waits of 10, 20, 30 and 40 s can be configured', () => {
  const policy = retryPolicy({ maxAttempts: 5, backoff: 'linear', baseMs: 10_000, jitter: false });
  expect([1, 2, 3, 4].map((attempt) => backoffMs(policy, attempt, 0.3))).toEqual([10_000, 20_000, 30_000, 40_000]);
});

test('a wait is a whole number of milliseconds between half of its step and the maximum', () => {
  fc.assert(
    fc.property(
      fc.record({ baseMs: fc.integer({ min: 1, max: 90_000 }), maxMs: fc.integer({ min: 1, max: 90_000 }), jitter: fc.boolean() }),
      fc.constantFrom('linear' as const, 'exponential' as const),
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (partial, backoff, attempt, random) => {
        const policy = retryPolicy({ ...partial, backoff });
        const wait = backoffMs(policy, attempt, random);
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeLessThanOrEqual(policy.maxMs);
        expect(wait).toBeGreaterThanOrEqual(Math.floor(Math.min(policy.baseMs, policy.maxMs) / 2));
      },
    ),
  );
});

test('every kind of failure is either worth another attempt or final', () => {
  for (const kind of retryableKinds) expect(isRetryable(kind)).toBe(true);
  for (const kind of finalKinds) expect(isRetryable(kind)).toBe(false);
  expect(new Set([...retryableKinds, ...finalKinds]).size).toBe(retryableKinds.length + finalKinds.length);
});
