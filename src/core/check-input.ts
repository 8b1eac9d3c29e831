import { bounds } from './bounds';
import { bytesOf } from './context/carry';
import { isObject } from './json';
import type { Part } from './message';
import { isDeeperThan, shortText } from './text';

/** Why this can't be a message, or undefined. */
export function checkInput(input: unknown): string | undefined {
  if (typeof input === 'string') {
    if (input.trim() === '') return 'the input is empty: give a text, or parts with a text or an image';
  } else if (!Array.isArray(input)) {
    return `the input must be a text or a list of parts ({ type: "text", text } or { type: "image", url }); it is ${show(input)}`;
  } else {
    if (input.length === 0) return 'the input is empty: give a text, or parts with a text or an image';
    const wrong = input.map(checkPart).find((reason) => reason !== undefined);
    if (wrong) return wrong;
  }
  const bytes = bytesOf(input);
  return bytes > bounds.messageBytes
    ? `the input has ${bytes} bytes; at most ${bounds.messageBytes} fit into a message: store it where the agent's tools can read it and send a reference`
    : undefined;
}

function checkPart(part: unknown, i: number): string | undefined {
  const known = part as Part;
  if (!isObject(part)) return `part ${i} of the input must be an object; it is ${show(part)}`;
  if (known.type === 'text') return typeof known.text === 'string' ? undefined : `part ${i} of the input has no text`;
  if (known.type !== 'image') return `part ${i} of the input has the type ${show(part.type)}; known are "text" and "image"`;
  return typeof known.url === 'string' && /^(https?:\/\/|data:image\/)/.test(known.url)
    ? undefined
    : `part ${i} of the input is an image without a usable url (https: or data:image/…)`;
}

/** A value as it can stand in an error message. */
export function show(value: unknown): string {
  return shortText(asJson(value) ?? 'what can not be shown', 120);
}

function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(beginningOf(value, { parts: 100 })) ?? String(value);
  } catch {
    // A circle, a bigint, or nested too deeply: not JSON, and still to be named.
    return typeof value === 'object' ? undefined : String(value);
  }
}

/** As much of a value as may be shown: what is cut anyway need not be written whole, and a request may have megabytes. */
function beginningOf(value: unknown, left: { parts: number }): unknown {
  if (typeof value === 'string') return value.slice(0, 200);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  const parts: [string, unknown][] = [];
  for (const key in value) {
    if (left.parts-- <= 0) break;
    if (Object.hasOwn(value, key)) parts.push([key.slice(0, 200), beginningOf((value as Record<string, unknown>)[key], left)]);
  }
  return Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}

/** What is wrong with a name, or with any other short text, or undefined. */
export function checkName(field: string, value: unknown, max: number = bounds.nameChars): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return `${field} must be a text with words in it; it is ${show(value)}`;
  return value.length > max ? `${field} has ${value.length} characters; at most ${max}` : undefined;
}

/** What is wrong with the id that a caller chose for a thread, or undefined. */
export function checkThreadId(id: unknown): string | undefined {
  if (typeof id !== 'string' || id.trim() === '') return 'the id is blank; leave it out to have one made';
  if (/[\p{Surrogate}\p{Cc}]/u.test(id)) return `the id must be of whole characters, without control characters; it is ${show(id)}`;
  return id.length > bounds.threadIdChars ? `the id has ${id.length} characters; at most ${bounds.threadIdChars}` : undefined;
}

/** What is wrong with an id of what is there already, or undefined. Any that is not blank may be somebody's. */
export function checkGivenId(what: string, id: unknown): string | undefined {
  return typeof id === 'string' && id.trim() !== '' ? undefined : `${what} is blank`;
}

/** What is wrong with how deep a value is nested, or undefined. */
export function checkDepth(what: string, value: unknown): string | undefined {
  return isDeeperThan(value, bounds.jsonDepth) ? `${what} is nested deeper than ${bounds.jsonDepth} levels` : undefined;
}
