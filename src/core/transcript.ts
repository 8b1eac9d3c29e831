import type { Message } from './message';

/**
 * The transcript lives in the workflow; activities receive only a reference to it and find the messages in their worker's cache,
 * or ask the workflow. A reference names a state of the transcript exactly: same epoch, length and hash, same messages.
 */
export interface TranscriptRef {
  /** Rewrites so far: pruning and compaction begin a new epoch. */
  epoch: number;
  length: number;
  hash: string;
  /** Tokens of the messages since the last model call, oldest first: the order in which deposits of this worker join what it has. */
  recent: string[];
}

export const emptyHash = '0';

/** In workflow code a global is looked up anew at each use, which takes longer than the multiplication. */
const { imul } = Math;

/** What tells a message from every other: two attempts at an answer share the id, not the token. */
export function tokenOf(message: Message): string {
  return message.role === 'assistant' ? `${message.id}.${message.token ?? message.attempt}${message.revised ? 'r' : ''}` : message.id;
}

/**
 * Extends a rolling hash by one token. 53 bits (two multiply-and-shift lanes) are enough: ids are random, so a collision is an accident,
 * and within one thread an accident of one in 10^15. Plain arithmetic, so that it is the same in the workflow sandbox and outside.
 */
export function extendHash(hash: string, token: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  const text = `${hash}/${token}`;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = imul(a ^ code, 2654435761);
    b = imul(b ^ code, 1597334677);
  }
  a = imul(a ^ (a >>> 16), 2246822507) ^ imul(b ^ (b >>> 13), 3266489909);
  b = imul(b ^ (b >>> 16), 2246822507) ^ imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}

export function hashOf(messages: readonly Message[]): string {
  return messages.reduce((hash, message) => extendHash(hash, tokenOf(message)), emptyHash);
}
