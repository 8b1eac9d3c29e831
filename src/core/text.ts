import { utf8Length } from './context/carry';
import { excerpt, isBytes } from './json';

/** Workflow code looks a global up at each use, which takes longer than the work done with it. */
const { isArray } = Array;
const { isFinite: isFiniteNumber } = Number;
const { getPrototypeOf, keys: keysOf, values: valuesOf } = Object;

/** Whether a text can be encoded as UTF-8, because it has no lone surrogates. */
export function isWellFormed(text: string): boolean {
  return (text as unknown as WellFormed).isWellFormed();
}

/** Replaces each lone surrogate by U+FFFD, as encoders do. */
export function wellFormed(text: string): string {
  return (text as unknown as WellFormed).toWellFormed();
}

/** Strings have these methods since Node 20, also in the workflow sandbox, but the compiler's `lib` does not declare them yet. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

/** Returns a well-formed text of at most `max` characters, with an ellipsis if it was cut. */
export function shortText(text: string, max: number): string {
  // Cut first, so that only the kept part of a long text is processed.
  return wellFormed(excerpt(text, max));
}

/**
 * Appends a piece to a text and keeps the end: at least the last `max` characters and at most twice as many. It is not cut with each piece,
 * because each cut copies everything that is kept.
 */
export function grownText(text: string, piece: string, max: number): string {
  const whole = text + piece;
  return whole.length > 2 * max ? whole.slice(-max) : whole;
}

/** Number of bytes of a text as UTF-8 JSON, without its quotes. */
export function jsonBytes(text: string): number {
  return utf8Length(JSON.stringify(text)) - 2;
}

/**
 * Makes a JSON value valid for a thread: texts and keys are made well formed, and infinite numbers become null. Returns the value itself if
 * nothing has to change, which is nearly always the case. Throws `RangeError` if it is nested deeper than `maxDepth`.
 */
export function wellFormedJson<T>(value: T, maxDepth: number): T {
  if (typeof value === 'string') return wellFormed(value) as T;
  // JSON can contain a number such as 1e999, which is parsed as Infinity and can't be serialized again.
  if (typeof value === 'number') return (isFiniteNumber(value) ? value + 0 : null) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (maxDepth <= 0) throw new RangeError('it is nested too deeply');
  if (isArray(value)) {
    let copy: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const item = wellFormedJson(value[i], maxDepth - 1);
      if (item !== value[i]) (copy ??= [...value])[i] = item;
    }
    return (copy ?? value) as T;
  }
  // Bytes and other objects that are not JSON stay unchanged.
  const prototype = getPrototypeOf(value);
  if (prototype !== null && getPrototypeOf(prototype) !== null) return value;
  const object = value as Record<string, unknown>;
  const keys = keysOf(object);
  let copy: [string, unknown][] | undefined;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    const before = object[key];
    const [name, item] = [wellFormed(key), wellFormedJson(before, maxDepth - 1)];
    if (name !== key || item !== before) copy ??= keys.slice(0, i).map((one) => [one, object[one]]);
    copy?.push([name, item]);
  }
  return copy ? (Object.fromEntries(copy) as T) : value;
}

/** Whether objects and lists in a value are nested deeper than `max`. Looks no deeper than that. */
export function isDeeperThan(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (max <= 0) return true;
  if (isBytes(value)) return false;
  for (const item of isArray(value) ? value : valuesOf(value)) if (isDeeperThan(item, max - 1)) return true;
  return false;
}
