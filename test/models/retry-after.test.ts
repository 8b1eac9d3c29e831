import { retryAfterMs } from '../../src/models/wire/retry-after';

const now = Date.parse('2026-01-01T00:00:00Z');

test.each([
  [{ 'retry-after-ms': '1500' }, 1_500],
  [{ 'retry-after-ms': '20.6', 'retry-after': '9' }, 21],
  [{ 'retry-after-ms': '0', 'retry-after': '1' }, 1_000],
  [{ 'retry-after-ms': '0' }, 0],
  [{ 'retry-after': '2' }, 2_000],
  [{ 'retry-after': '0.25' }, 250],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
  [{ 'retry-after-ms': 'x', 'retry-after': '3' }, 3_000],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after-ms': '9'.repeat(400) }, Number.MAX_SAFE_INTEGER],
  [{}, undefined],
])('[B81] Retry-After in its three forms is read in milliseconds: %j', (headers, expected) => {
  expect(retryAfterMs(new Headers(headers as Record<string, string>), now)).toBe(expected);
});

test('without headers there is no wait', () => {
  expect(retryAfterMs(undefined, now)).toBeUndefined();
});
