import { excerpt } from '../json';
import { type Message, textOf, withText } from '../message';
import type { ThreadState } from '../state';
import { clearOutput, smallOutput } from './shorten';

export interface Fitted {
  messages: Message[];
  prunedOutputs: number;
  droppedMessages: number;
  /** Size of the resulting messages as UTF-8 JSON. */
  bytes: number;
}

/** The `opening` that stays. Runs that began with earlier code keep only the last message with the role of a user. */
export function openingToKeep({ run, facts }: ThreadState): readonly string[] | undefined {
  return facts?.cutsMessages ? (run?.opening ?? []) : undefined;
}

export interface FitOptions {
  cut?: boolean;
  /** Calls of the last answer are not done, and need their arguments. */
  open?: boolean;
  opening?: readonly string[] | undefined;
}

/**
 * Makes a transcript fit into `maxBytes`: clears the oldest tool outputs first, then drops the oldest whole turns. The first user message (the
 * purpose of the thread), the last one (the current request), a summary and the newest turn stay. A call and its results are dropped together.
 * With `opening`, the ids of the messages that the current run began with, these stay too, and so does the last message of a person: what hooks, tools
 * and the engine say later has the role of a user. With `cut`, the remaining texts are shortened too, for cases in which the thread would otherwise be
 * lost. Returns undefined if the transcript fits unchanged.
 */
export function fit(
  messages: readonly Message[],
  maxBytes: number,
  { cut = false, open = false, opening }: FitOptions = {},
): Fitted | undefined {
  const sizes = messages.map(bytesOf);
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= maxBytes) return undefined;

  const kept = [...messages];
  let prunedOutputs = 0;
  for (let i = 0; i < kept.length && bytes > maxBytes; i++) {
    const message = kept[i];
    if (message?.role !== 'tool' || bytesOf(message.content) <= smallOutput) continue;
    const short = clearOutput(message);
    bytes += bytesOf(short) - (sizes[i] ?? 0);
    kept[i] = short;
    prunedOutputs += 1;
  }

  const stays = isKept(messages, opening);
  let droppedMessages = 0;
  for (let at = kept.findIndex((m) => m.role === 'user') + 1; bytes > maxBytes; ) {
    const end = endOfBlock(kept, at);
    if (end >= kept.length) break;
    if (stays(kept[at] as Message)) {
      at = end;
      continue;
    }
    for (const gone of kept.splice(at, end - at)) bytes -= bytesOf(gone);
    droppedMessages += end - at;
  }
  if (cut && bytes > maxBytes) bytes = cutTexts(kept, bytes, maxBytes);
  if (cut && !open && bytes > maxBytes) bytes = leaveOutArguments(kept, bytes, maxBytes);
  return { messages: kept, prunedOutputs, droppedMessages, bytes };
}

function isKept(messages: readonly Message[], opening: readonly string[] | undefined): (message: Message) => boolean {
  const last = messages.findLast(({ role }) => role === 'user');
  const ofPerson = opening && messages.findLast((message) => message.role === 'user' && message.origin === undefined && !message.summary);
  return (message) =>
    message === last ||
    message === ofPerson ||
    (message.role === 'user' && (message.summary === true || opening?.includes(message.id) === true));
}

/** Returns the end of the block that begins at `start`: one message, or an answer with the results of its calls. */
export function endOfBlock(messages: readonly Message[], start: number): number {
  let end = start + 1;
  while (messages[end]?.role === 'tool') end += 1;
  return end;
}

/** Texts this short are not worth cutting. */
const shortText = 2_000;

/** Halves the longest text repeatedly, or clears images and files, in place, until all messages fit or all texts are short. Returns the size then. */
function cutTexts(messages: Message[], before: number, maxBytes: number): number {
  let bytes = before;
  while (bytes > maxBytes) {
    const sizes = messages.map(cuttableBytes);
    const at = sizes.indexOf(Math.max(...sizes));
    const message = messages[at];
    if (!message || (sizes[at] ?? 0) <= shortText) break;
    const short = cutMessage(message);
    bytes += bytesOf(short) - bytesOf(message);
    messages[at] = short;
  }
  return bytes;
}

/** Leaves out long arguments of calls, in place, until all messages fit. Returns the size then. */
function leaveOutArguments(messages: Message[], before: number, maxBytes: number): number {
  let bytes = before;
  for (const [at, message] of messages.entries()) {
    if (bytes <= maxBytes) break;
    const short = withoutArguments(message);
    bytes += bytesOf(short) - bytesOf(message);
    messages[at] = short;
  }
  return bytes;
}

/** Replaces the arguments of an answer's calls, which are done, by their length. */
function withoutArguments(message: Message): Message {
  if (message.role !== 'assistant') return message;
  const content = message.content.map((part) => {
    if (part.type !== 'tool-call' || part.arguments.length <= shortText) return part;
    return { ...part, arguments: JSON.stringify({ left_out: `${part.arguments.length} characters` }) };
  });
  return { ...message, content };
}

/** Size of a message without an answer's calls, which must stay complete. */
function cuttableBytes(message: Message): number {
  return bytesOf(message.role === 'assistant' ? message.content.filter(({ type }) => type !== 'tool-call') : message.content);
}

function cutMessage(message: Message): Message {
  const text = textOf(message.content);
  const short = excerpt(text, Math.ceil(text.length / 2));
  if (message.role !== 'assistant') {
    // A text that takes little of the message stays whole: half of it might say the opposite.
    const isText = typeof message.content === 'string' || message.content.every(({ type }) => type === 'text');
    return { ...message, content: isText ? short : [text, '[Image or file cleared]'].filter(Boolean).join('\n\n') };
  }
  // The provider's other parts, such as signatures, are not valid for a text that was cut.
  const calls = message.content.filter(({ type }) => type === 'tool-call');
  return { ...message, content: withText(calls, short) };
}

export function bytesOf(value: unknown): number {
  return utf8Length(JSON.stringify(value) ?? '');
}

const sizes = new WeakMap<object, number>();

/** The size of an object that never changes, such as a message or an outcome. Measured once. */
export function fixedBytes(value: object): number {
  const size = sizes.get(value) ?? bytesOf(value);
  sizes.set(value, size);
  return size;
}

/** Number of UTF-8 bytes of a text. The workflow sandbox has no encoder. */
export function utf8Length(text: string): number {
  // Much faster than the loop, which matters for images.
  if (!/[\u0080-\uffff]/.test(text)) return text.length;
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) bytes += code > 0x7ff ? 2 : 1;
    // A surrogate pair takes four bytes; a lone surrogate is written as the replacement character, which takes three.
    if (code >= 0xd800 && code <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i += 1;
  }
  return bytes;
}
