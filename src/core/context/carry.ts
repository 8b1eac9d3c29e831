import { excerpt } from '../json';
import { type Message, textOf } from '../message';

export interface Fitted {
  messages: Message[];
  prunedOutputs: number;
  droppedMessages: number;
  /** Of the result, as UTF-8 JSON. */
  bytes: number;
}

const cleared = '[Old tool result content cleared]';
/** Outputs this small are not worth clearing. */
const smallOutput = 200;

/**
 * Makes a transcript fit into `maxBytes`: clears the oldest tool outputs first, then drops the oldest whole turns. The first user message
 * (what the thread is for), the last one (what is being done) and the newest turn stay; a call and its results go together or not at all.
 * With `cut` even the texts that stay are shortened: for where the alternative is to lose the thread.
 * Returns undefined where it fits as it is.
 */
export function fit(messages: readonly Message[], maxBytes: number, { cut = false } = {}): Fitted | undefined {
  const sizes = messages.map(bytesOf);
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= maxBytes) return undefined;

  const kept = [...messages];
  let prunedOutputs = 0;
  for (let i = 0; i < kept.length && bytes > maxBytes; i++) {
    const message = kept[i];
    if (message?.role !== 'tool' || (sizes[i] ?? 0) <= smallOutput) continue;
    const short: Message = { ...message, content: cleared };
    bytes += bytesOf(short) - (sizes[i] ?? 0);
    kept[i] = short;
    prunedOutputs += 1;
  }

  let droppedMessages = 0;
  for (let at = kept.findIndex((m) => m.role === 'user') + 1; bytes > maxBytes; ) {
    const end = endOfBlock(kept, at);
    if (end >= kept.length) break;
    if (at === kept.findLastIndex((m) => m.role === 'user')) {
      at = end;
      continue;
    }
    for (const gone of kept.splice(at, end - at)) bytes -= bytesOf(gone);
    droppedMessages += end - at;
  }
  if (cut && bytes > maxBytes) bytes = cutTexts(kept, bytes, maxBytes);
  return { messages: kept, prunedOutputs, droppedMessages, bytes };
}

/** Where the block that begins at `start` ends: one message, or an answer with the results of its calls. */
function endOfBlock(messages: readonly Message[], start: number): number {
  let end = start + 1;
  while (messages[end]?.role === 'tool') end += 1;
  return end;
}

/** Texts this short are not worth cutting. */
const shortText = 2_000;

/** Halves the longest text again and again, in place, until all fits or all are short. Returns the bytes then. */
function cutTexts(messages: Message[], before: number, maxBytes: number): number {
  let bytes = before;
  while (bytes > maxBytes) {
    const sizes = messages.map((m) => bytesOf(m.content));
    const at = sizes.indexOf(Math.max(...sizes));
    const message = messages[at];
    if (!message || (sizes[at] ?? 0) <= shortText) break;
    const text = typeof message.content === 'string' ? message.content : textOf(message.content);
    const short = { ...message, content: text === '' ? '[Image cleared]' : excerpt(text, Math.ceil(text.length / 2)) } as Message;
    bytes += bytesOf(short) - bytesOf(message);
    messages[at] = short;
  }
  return bytes;
}

export function bytesOf(value: unknown): number {
  return utf8Length(JSON.stringify(value) ?? '');
}

/** Bytes of a text in UTF-8, without an encoder: the workflow sandbox has none. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) bytes += code > 0x7ff ? 2 : 1;
    // A pair of surrogates is four bytes; one alone is written as the three of the replacement character.
    if (code >= 0xd800 && code <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i += 1;
  }
  return bytes;
}
