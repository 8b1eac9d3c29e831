/**
 * The wait that the provider requests, in milliseconds: `retry-after-ms`, or `retry-after` in seconds (fractions too) or as an HTTP date.
 * `undefined` without a usable value. A date in the past is 0. `now` is in epoch milliseconds.
 */
export function retryAfterMs(headers: { get(name: string): string | null } | undefined, now: number): number | undefined {
  const ms = amount(headers?.get('retry-after-ms'));
  // Azure sends 0 here together with `retry-after: 1`.
  if (ms) return Math.round(ms);
  const value = headers?.get('retry-after');
  const seconds = amount(value);
  if (seconds !== undefined) return Math.round(seconds * 1_000);
  // A date has letters; a negative number, which `Date.parse` would read as a year, has none.
  const date = value && /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? ms : Math.max(0, date - now);
}

function amount(value: string | null | undefined): number | undefined {
  const text = value?.trim() ?? '';
  // Hundreds of digits would become Infinity, which JSON can't represent.
  return /^\d+(\.\d+)?$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined;
}
