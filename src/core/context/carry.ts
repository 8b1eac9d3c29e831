import type { Message } from '../message';

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
 * (what the thread is for) and everything from the last user message on stay; a call and its results go together or not at all.
 * Returns undefined where it fits as it is.
 */
export function fit(messages: readonly Message[], maxBytes: number): Fitted | undefined {
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

  const first = kept.findIndex((m) => m.role === 'user');
  let droppedMessages = 0;
  while (bytes > maxBytes) {
    const block = oldestBlock(kept, first + 1);
    if (block === 0) break;
    for (const gone of kept.splice(first + 1, block)) bytes -= bytesOf(gone);
    droppedMessages += block;
  }
  return { messages: kept, prunedOutputs, droppedMessages, bytes };
}

/** How many messages from `start` go together: one message, or an answer with the results of its calls. 0 where nothing may go. */
function oldestBlock(messages: Message[], start: number): number {
  const lastUser = messages.findLastIndex((m) => m.role === 'user');
  const first = messages[start];
  if (!first) return 0;
  let end = start + 1;
  while (messages[end]?.role === 'tool') end += 1;
  const isLatestRequest = start <= lastUser && lastUser < end;
  return isLatestRequest || end >= messages.length ? 0 : end - start;
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
    // Each half of a surrogate pair was counted as three bytes; the pair is four.
    if (code >= 0xd800 && code <= 0xdfff) bytes -= 1;
  }
  return bytes;
}
