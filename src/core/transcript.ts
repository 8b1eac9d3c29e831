import type { Message } from './message';

/**
 * A reference to the transcript, which is in the workflow's state. Activities receive only the reference, and read the messages from their
 * worker's cache or query the workflow. It identifies one state of the transcript exactly: same epoch, length and hash mean the same messages.
 */
export interface TranscriptRef {
  /** Number of rewrites so far: each compaction begins a new epoch. */
  epoch: number;
  length: number;
  hash: string;
  /** Tokens of the messages from the last answer on, oldest first. They give the order in which a worker adds its own messages to its cache. */
  recent: string[];
}

export const emptyHash = '0';

/** Workflow code looks a global up at each use, which takes longer than the multiplication. */
const { imul } = Math;

/** Returns a text that identifies a message uniquely: two attempts at an answer share the id, but not the token. */
export function tokenOf(message: Message): string {
  return message.role === 'assistant' ? `${message.id}.${message.token ?? message.attempt}${message.revised ? 'r' : ''}` : message.id;
}

/**
 * Extends a rolling hash by one token. 53 bits (two multiply-and-shift lanes) are enough: ids are random, so collisions happen only by chance,
 * within one thread with a probability of about 1 in 10^15. Plain arithmetic, so that the result is the same inside and outside the sandbox.
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
