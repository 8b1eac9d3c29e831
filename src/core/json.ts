/** Values that survive `JSON.stringify` and cross continue-as-new unchanged. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Bytes and the like, which look like objects and have as many keys as they have items. */
export function isBytes(value: unknown): boolean {
  return ArrayBuffer.isView(value);
}

/** Parses a JSON object; anything else (also valid JSON of another kind) is `undefined`. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Follows the nesting of a JSON text that comes in pieces. Looks at each character once, and builds nothing: a text that is as deep as it
 * is long can be parsed, but what comes of it can't be written again.
 */
export class JsonNesting {
  /** The most levels so far. */
  deepest = 0;
  /** The outermost object or list has ended. */
  hasEnded = false;
  #depth = 0;
  #inString = false;
  /** The text so far ended in a backslash that escapes what comes. */
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

  /** Where the quote is that ends the string; the length of the text where the string goes on. */
  #endOfString(text: string, from: number): number {
    for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
      if (!isEscaped(text, from, end)) return end;
    }
    this.#escaped = isEscaped(text, from, text.length);
    return text.length;
  }
}

/** Whether an odd number of backslashes stands before a place. */
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

/** Whether objects and lists are nested deeper than `max` in a JSON text. */
export function isDeepJson(text: string, max: number): boolean {
  const nesting = new JsonNesting();
  nesting.add(text);
  return nesting.deepest > max;
}

/** JSON with its keys in order, so that equal values are equal texts. */
export function sortedJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_, v: unknown) =>
    isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v,
  );
}

/** Cuts a text for a place with a limit (an event, a summary line), and says that it did. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  // A cut between the halves of a surrogate pair would leave an unprintable half.
  const end = /[\uD800-\uDBFF]/.test(text[max - 2] ?? '') ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`;
}
