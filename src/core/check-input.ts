import { bounds } from './bounds';
import { bytesOf } from './context/carry';
import { isBytes, isObject } from './json';
import type { Part } from './message';
import { isDeeperThan, shortText } from './text';

/** Workflow code looks a global up at each use, which takes longer than the work done with it. */
const { isArray } = Array;
const { keys: keysOf } = Object;

/** Returns why a value can't be a message's content, or undefined. */
export function checkInput(input: unknown): string | undefined {
  if (typeof input === 'string') {
    if (input.trim() === '') return 'the input is empty: give a text, or parts with a text, an image or a file';
  } else if (!Array.isArray(input)) {
    return `the input must be a string or a list of parts ({ type: "text", text }, { type: "image", url } or { type: "file", url, mediaType }); it is ${show(input)}`;
  } else {
    if (input.length === 0) return 'the input is empty: give a text, or parts with a text, an image or a file';
    const wrong = input.map(checkPart).find((reason) => reason !== undefined);
    if (wrong) return wrong;
  }
  const bytes = bytesOf(input);
  return bytes > bounds.messageBytes
    ? `the input has ${bytes} bytes; at most ${bounds.messageBytes} fit into a message: store it where the agent's tools can read it and send a reference`
    : undefined;
}

/** Whether a text is a media type of a file, without parameters. */
function isMediaType(text: string): boolean {
  return text.length <= bounds.nameChars && /^[a-z]+\/[\w.+-]+$/i.test(text);
}

function checkPart(part: unknown, i: number): string | undefined {
  const known = part as Part;
  if (!isObject(part)) return `part ${i} of the input must be an object; it is ${show(part)}`;
  switch (known.type) {
    case 'text':
      return typeof known.text === 'string' ? undefined : `part ${i} of the input has no text`;
    case 'image':
      return typeof known.url === 'string' && /^(https?:\/\/|data:image\/)/.test(known.url)
        ? undefined
        : `part ${i} of the input is an image without a usable url (https: or data:image/…)`;
    case 'file':
      if (typeof known.mediaType !== 'string' || !isMediaType(known.mediaType)) {
        return `part ${i} of the input is a file without a mediaType, as in "application/pdf"`;
      }
      if (known.name !== undefined && (typeof known.name !== 'string' || known.name.length > bounds.nameChars)) {
        return `part ${i} of the input is a file whose name is no text of at most ${bounds.nameChars} characters`;
      }
      return typeof known.url === 'string' && /^(https?:\/\/|data:)/.test(known.url)
        ? undefined
        : `part ${i} of the input is a file without a usable url (https: or data:…)`;
    default:
      return `part ${i} of the input has the type ${show(part.type)}; known are "text", "image" and "file"`;
  }
}

/** Formats a value for an error message, with at most 120 characters. */
export function show(value: unknown): string {
  return shortText(asJson(value) ?? 'what can not be shown', 120);
}

function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(beginningOf(value, { parts: 100 })) ?? String(value);
  } catch {
    // Not JSON (circular, a bigint, or nested too deeply), but the message still names it.
    return typeof value === 'object' ? undefined : String(value);
  }
}

/** Returns the beginning of a value, as much as may be shown. A request may have megabytes, so the rest is not serialized. */
function beginningOf(value: unknown, left: { parts: number }): unknown {
  if (typeof value === 'string') return value.slice(0, 200);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  if (isBytes(value)) return 'bytes';
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let i = 0; i < value.length && left.parts-- > 0; i++) items.push(beginningOf(value[i], left));
    return items;
  }
  const parts: [string, unknown][] = [];
  for (const key in value) {
    if (left.parts-- <= 0) break;
    if (Object.hasOwn(value, key)) parts.push([key.slice(0, 200), beginningOf((value as Record<string, unknown>)[key], left)]);
  }
  return Object.fromEntries(parts);
}

/** Returns what is wrong with a name or another short text, or undefined. */
export function checkName(field: string, value: unknown, max: number = bounds.nameChars): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return `${field} must be a string that is not blank; it is ${show(value)}`;
  return value.length > max ? `${field} has ${value.length} characters; at most ${max}` : undefined;
}

/** Returns what is wrong with a thread id that a caller chose, or undefined. */
export function checkThreadId(id: unknown): string | undefined {
  if (typeof id !== 'string' || id.trim() === '') return 'the id is blank; leave it out to have one made';
  if (/[\p{Surrogate}\p{Cc}]/u.test(id)) return `the id must be well-formed text without control characters; it is ${show(id)}`;
  return id.length > bounds.threadIdChars ? `the id has ${id.length} characters; at most ${bounds.threadIdChars}` : undefined;
}

/** Returns what is wrong with the id of something that exists already, or undefined. Any text that is not blank may be such an id. */
export function checkGivenId(what: string, id: unknown): string | undefined {
  return typeof id === 'string' && id.trim() !== '' ? undefined : `${what} is blank`;
}

/** Returns what is wrong with fields that must be short texts, or undefined. */
export function checkWords(words: Record<string, unknown>): string | undefined {
  for (const [name, value] of Object.entries(words)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return `\`${name}\` must be a string; it is ${show(value)}`;
    const max = name === 'reason' ? bounds.wordsChars : bounds.nameChars;
    if (value.length > max) return `\`${name}\` has ${value.length} characters; at most ${max}`;
  }
  return undefined;
}

/** Returns an error if a value is nested too deeply, or undefined. */
export function checkDepth(what: string, value: unknown): string | undefined {
  return isDeeperThan(value, bounds.jsonDepth) ? tooDeep(what) : undefined;
}

/**
 * Returns why a request is too large or nested too deeply, or undefined. This is the first check of a request, and it stops at the limit. It
 * bounds the time of all further work on a request, because one workflow task may have to handle many of them.
 */
export function checkExtent(what: string, value: unknown): string | undefined {
  if (isBytes(value)) return `${what} is bytes, not JSON`;
  return exceeded(value, bounds.jsonDepth, { values: bounds.requestValues, chars: bounds.requestChars })?.(what);
}

function exceeded(value: unknown, depth: number, left: { values: number; chars: number }): ((what: string) => string) | undefined {
  if (--left.values < 0) return tooManyValues;
  if (typeof value === 'string' && !hasRoomFor(value, left)) return tooManyChars;
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth <= 0) return tooDeep;
  if (isArray(value)) {
    for (const item of value) {
      const wrong = exceeded(item, depth - 1, left);
      if (wrong) return wrong;
    }
    return undefined;
  }
  for (const key of keysOf(value)) {
    if (!hasRoomFor(key, left)) return tooManyChars;
    const wrong = exceeded((value as Record<string, unknown>)[key], depth - 1, left);
    if (wrong) return wrong;
  }
  return undefined;
}

function hasRoomFor(text: string, left: { chars: number }): boolean {
  left.chars -= text.length;
  return left.chars >= 0;
}

const tooDeep = (what: string) => `${what} is nested deeper than ${bounds.jsonDepth} levels`;
const tooManyValues = (what: string) =>
  `${what} has more than ${bounds.requestValues} values; send them as one text, or store them elsewhere and send a reference`;
const tooManyChars = (what: string) =>
  `${what} has texts of more than ${bounds.requestChars} characters; store what is large elsewhere and send a reference`;
