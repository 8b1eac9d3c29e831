import { utf8Length } from './context/carry';
import { excerpt } from './json';

/** Whether a text can be written as UTF-8: no half of a surrogate pair stands alone in it. */
export function isWellFormed(text: string): boolean {
  return (text as unknown as WellFormed).isWellFormed();
}

/** The text with each lone surrogate replaced by U+FFFD, as encoders do that replace anything at all. */
export function wellFormed(text: string): string {
  return (text as unknown as WellFormed).toWellFormed();
}

/** Every string has these from Node 20 on, also in the workflow sandbox; the language level that we compile for does not know them yet. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

/** A text for a place with a limit: well formed, at most `max` characters, and saying so where it was cut. */
export function shortText(text: string, max: number): string {
  // Cut first, so that little is looked at of what is long.
  return wellFormed(excerpt(text, max));
}

/**
 * The end of a text that grows, at least its last `max` characters and at most twice as many. Only now and then is it cut: a cut with each
 * piece would copy all that is kept for each piece.
 */
export function grownText(text: string, piece: string, max: number): string {
  const whole = text + piece;
  return whole.length > 2 * max ? whole.slice(-max) : whole;
}

/** Of UTF-8 JSON, without its quotes. */
export function jsonBytes(text: string): number {
  return utf8Length(JSON.stringify(text)) - 2;
}

/**
 * A value out of JSON as it may stand in a thread: its texts and keys well formed, its numbers finite, and no deeper than `maxDepth`. Returns the value itself
 * where nothing is wrong with it, which is nearly always. Throws `RangeError` where it is too deep.
 */
export function wellFormedJson<T>(value: T, maxDepth: number): T {
  if (typeof value === 'string') return wellFormed(value) as T;
  // A number above all numbers can be written in JSON, and read, but not written again.
  if (typeof value === 'number') return (Number.isFinite(value) ? value + 0 : null) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (maxDepth <= 0) throw new RangeError('it is nested too deeply');
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const item = wellFormedJson(value[i], maxDepth - 1);
      if (item !== value[i]) (copy ??= [...value])[i] = item;
    }
    return (copy ?? value) as T;
  }
  // Bytes and other objects that are no JSON stay as they are.
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return value;
  let changed = false;
  const entries = Object.entries(value).map(([key, item]) => {
    const entry: [string, unknown] = [wellFormed(key), wellFormedJson(item, maxDepth - 1)];
    changed ||= entry[0] !== key || entry[1] !== item;
    return entry;
  });
  return changed ? (Object.fromEntries(entries) as T) : value;
}

/** Whether objects and lists are nested deeper in a value than `max`. Looks no deeper than that. */
export function isDeeperThan(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return max <= 0 || Object.values(value).some((item) => isDeeperThan(item, max - 1));
}
