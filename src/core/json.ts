/** Values that survive `JSON.stringify` and cross continue-as-new unchanged. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Workflow code looks a global up at each use, which takes longer than the work done with it. */
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { getPrototypeOf, keys: keysOf } = Object;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !isArray(value);
}

/** Whether a value is a view of bytes, such as `Uint8Array`, which looks like an object with one key per item. */
export function isBytes(value: unknown): boolean {
  return isView(value);
}

/** Parses a JSON object. Returns `undefined` for anything else, also for valid JSON of another kind. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Tracks the nesting of a JSON text that arrives in pieces. It reads each character once and builds no value: an extremely deep text can be
 * parsed, but the result can't be serialized again.
 */
export class JsonNesting {
  /** The deepest level so far. */
  deepest = 0;
  /** Whether the outermost object or list has ended. */
  hasEnded = false;
  #depth = 0;
  #inString = false;
  /** Whether the text so far ended with a backslash that escapes the next character. */
  #escaped = false;

  add(text: string): void {
    if (text === '') return;
    let i = this.#escaped ? 1 : 0;
    this.#escaped = false;
    for (; i < text.length; i++) {
      if (this.#inString) {
        i = this.#endOfString(text, i);
        if (i >= text.length) return;
        this.#inString = false;
      } else this.#take(text.charCodeAt(i));
    }
  }

  #take(code: number): void {
    if (code === quote) this.#inString = true;
    else if (code === openBrace || code === openBracket) {
      this.#depth++;
      if (this.#depth > this.deepest) this.deepest = this.#depth;
    } else if (code === closeBrace || code === closeBracket) {
      this.#depth--;
      if (this.#depth === 0) this.hasEnded = true;
    }
  }

  /** Returns the position of the quote that ends the string, or the text's length if the string continues. */
  #endOfString(text: string, from: number): number {
    for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
      if (!isEscaped(text, from, end)) return end;
    }
    this.#escaped = isEscaped(text, from, text.length);
    return text.length;
  }
}

/** Whether an odd number of backslashes precedes a position. */
function isEscaped(text: string, from: number, at: number): boolean {
  let start = at;
  while (start > from && text.charCodeAt(start - 1) === backslash) start--;
  return (at - start) % 2 === 1;
}

const backslash = 0x5c;
const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Whether objects and lists in a JSON text are nested deeper than `max`. */
export function isDeepJson(text: string, max: number): boolean {
  const nesting = new JsonNesting();
  nesting.add(text);
  return nesting.deepest > max;
}

/** Serializes a value with sorted keys, so that equal values give equal texts. */
export function sortedJson(value: unknown): string | undefined {
  return JSON.stringify(inOrder(value, ''));
}

/** Returns the value with sorted keys in all objects; the value itself if they are sorted already. */
function inOrder(given: unknown, key: string | number): unknown {
  const value = wordsFor(given, key);
  if (isArray(value)) {
    let copy: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const item = inOrder(value[i], i);
      if (item !== value[i]) (copy ??= [...value])[i] = item;
    }
    return copy ?? value;
  }
  if (!isObject(value)) return value;
  const keys = keysOf(value);
  let isSame = value === given && isPlain(value) && keys.every((one, i) => i === 0 || (keys[i - 1] as string) < one);
  // Objects list integer keys first, in any order of insertion.
  const entries = (isSame ? keys : keys.sort()).map((one): [string, unknown] => {
    const item = inOrder(value[one], one);
    isSame &&= item === value[one];
    return [one, item];
  });
  // `toJSON` was already called, and must not be called again on the copy.
  return isSame ? value : Object.fromEntries(entries.filter(([one, item]) => one !== 'toJSON' || typeof item !== 'function'));
}

function wordsFor(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' && typeof value !== 'bigint') return value;
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value, String(key)) : value;
}

function isPlain(value: object): boolean {
  const prototype = getPrototypeOf(value);
  return prototype === null || getPrototypeOf(prototype) === null;
}

/** Cuts a text to at most `max` characters, with an ellipsis at the end if it was cut. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  // A cut between the halves of a surrogate pair would leave an unprintable half.
  const end = /[\uD800-\uDBFF]/.test(text[max - 2] ?? '') ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`;
}
