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
