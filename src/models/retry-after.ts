/**
 * How long the provider asks us to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds (fractions too) or as an HTTP date.
 * `undefined` where nothing usable is said. A date in the past is 0. `now` is in epoch milliseconds.
 */
export function retryAfterMs(headers: { get(name: string): string | null } | undefined, now: number): number | undefined {
  const ms = amount(headers?.get('retry-after-ms'));
  if (ms !== undefined) return Math.round(ms);
  const value = headers?.get('retry-after');
  const seconds = amount(value);
  if (seconds !== undefined) return Math.round(seconds * 1_000);
  // A date has letters in it; a bare negative number, which `Date.parse` would take for a year, has none.
  const date = value && /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function amount(value: string | null | undefined): number | undefined {
  const text = value?.trim() ?? '';
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
