import type { TranscriptPage, TranscriptRequest } from '../../contract/thread';
import type { Message } from '../../core/message';
import { emptyHash, extendHash, hashOf, type TranscriptRef, tokenOf } from '../../core/transcript';

/** Queries the thread's workflow. May throw if the workflow can't be queried now. */
export type AskThread = (request: TranscriptRequest) => Promise<TranscriptPage>;

export type Found = { messages: Message[] } | { missingFrom: number };

interface Entry {
  epoch: number;
  messages: Message[];
  /** `hashes[i]` is the transcript's hash after `i` messages. */
  hashes: string[];
  /** Messages made on this worker that no reference has included yet, by token. */
  loose: Map<string, Message>;
  size: number;
}

/**
 * The transcripts that this worker has seen, within a size budget, least recently used first. Messages are used only if the reference's hash
 * confirms them. So messages may be deposited in any order, twice, or by attempts whose result was not recorded.
 */
export class TranscriptCache {
  readonly #entries = new Map<string, Entry>();
  #size = 0;

  /** `maxSize` is in characters of JSON, which is about the size in bytes. 0 disables the cache. */
  constructor(readonly maxSize = 256_000_000) {}

  /** Adds a message that an activity of this worker has just made. */
  deposit(threadId: string, message: Message): void {
    if (this.maxSize === 0) return;
    const entry = this.#open(threadId);
    this.#discard(entry, tokenOf(message));
    entry.loose.set(tokenOf(message), message);
    this.#grow(entry, sizeOf(message));
    this.#trim(threadId);
  }

  /**
   * Returns the messages of a reference, or the position of the first missing one if the workflow could not supply them. `inline`: messages that
   * came with the request.
   */
  async read(threadId: string, ref: TranscriptRef, ask: AskThread, inline?: { from: number; messages: Message[] }): Promise<Found> {
    const entry = this.#open(threadId);
    if (entry.epoch !== ref.epoch) this.#reset(entry, ref.epoch);
    if (inline) this.#place(entry, inline.from, inline.messages);
    if (entry.hashes[ref.length] !== ref.hash) this.#placeLoose(entry, ref);

    if (entry.hashes[ref.length] === ref.hash) {
      // Messages in the transcript need no second copy. A repeated attempt deposits the messages of its request again.
      for (const token of ref.recent) this.#discard(entry, token);
      const messages = entry.messages.slice(0, ref.length);
      this.#trim(threadId);
      return { messages };
    }
    const known = entry.messages.slice(0, this.#trusted(entry, ref));
    this.#trim(threadId);

    // During the queries, other steps deposit, read and evict. So the entry is changed only after all messages are here and confirmed.
    const wrong = (all: Message[]) => all.length === ref.length && hashOf(all) !== ref.hash;
    let messages = await gather(known, ref, ask);
    // The cached messages did not belong to the reference: query all of them.
    if (wrong(messages) && known.length > 0) messages = await gather([], ref, ask);
    if (wrong(messages)) messages = [];
    this.#keep(threadId, ref.epoch, messages);
    if (messages.length === ref.length) return { messages };
    return { missingFrom: this.maxSize === 0 ? 0 : messages.length };
  }

  #keep(threadId: string, epoch: number, messages: readonly Message[]): void {
    if (this.maxSize === 0) return;
    const entry = this.#open(threadId);
    if (entry.epoch !== epoch) this.#reset(entry, epoch);
    const differ = messages.findIndex((message, i) => entry.messages[i] !== message);
    if (differ !== -1) this.#place(entry, differ, messages.slice(differ));
    this.#trim(threadId);
  }

  #open(threadId: string): Entry {
    const entry = this.#entries.get(threadId) ?? { epoch: 0, messages: [], hashes: [emptyHash], loose: new Map(), size: 0 };
    this.#entries.delete(threadId);
    this.#entries.set(threadId, entry);
    return entry;
  }

  /** Returns how many cached messages belong to the reference: those that give its hash together with its newest tokens. */
  #trusted(entry: Entry, ref: TranscriptRef): number {
    const known = Math.min(entry.messages.length, ref.length);
    for (let base = known; base >= ref.length - ref.recent.length && base >= 0; base--) {
      const rest = ref.recent.slice(ref.recent.length - (ref.length - base));
      if (rest.reduce(extendHash, entry.hashes[base] ?? '') === ref.hash) return base;
    }
    // The cache ends before the reference's newest tokens begin. Its messages are checked against the hash once the rest has arrived.
    return known < ref.length - ref.recent.length ? known : 0;
  }

  /** Appends deposited messages to the transcript, in the order of the reference's tokens, as far as they are present. */
  #placeLoose(entry: Entry, ref: TranscriptRef): void {
    let base = this.#trusted(entry, ref);
    const first = ref.length - ref.recent.length;
    if (base < first) return;
    for (
      let message = entry.loose.get(ref.recent[base - first] ?? '');
      message;
      message = entry.loose.get(ref.recent[base - first] ?? '')
    ) {
      this.#discard(entry, tokenOf(message));
      this.#place(entry, base, [message]);
      base += 1;
    }
  }

  /** Replaces all messages from a position on. */
  #place(entry: Entry, from: number, messages: readonly Message[]): void {
    if (from > entry.messages.length) return;
    const dropped = entry.messages.splice(from);
    entry.hashes.length = from + 1;
    for (const message of messages) {
      entry.messages.push(message);
      entry.hashes.push(extendHash(entry.hashes.at(-1) ?? emptyHash, tokenOf(message)));
      this.#discard(entry, tokenOf(message));
    }
    this.#grow(entry, sum(messages) - sum(dropped));
  }

  #discard(entry: Entry, token: string): void {
    const loose = entry.loose.get(token);
    if (!loose) return;
    entry.loose.delete(token);
    this.#grow(entry, -sizeOf(loose));
  }

  #reset(entry: Entry, epoch: number): void {
    this.#grow(entry, -entry.size);
    Object.assign(entry, { epoch, messages: [], hashes: [emptyHash], loose: new Map() });
  }

  #drop(threadId: string): void {
    const entry = this.#entries.get(threadId);
    if (!entry) return;
    this.#size -= entry.size;
    this.#entries.delete(threadId);
  }

  #grow(entry: Entry, by: number): void {
    entry.size += by;
    this.#size += by;
  }

  /** Drops the least recently used threads. */
  #trim(inUse: string): void {
    if (this.maxSize === 0) return this.#drop(inUse);
    for (const threadId of this.#entries.keys()) {
      if (this.#size <= this.maxSize || threadId === inUse) return;
      this.#drop(threadId);
    }
  }
}

/** Queries the messages after `known`, page by page, until they are complete or a query fails. */
async function gather(known: Message[], { epoch, length }: TranscriptRef, ask: AskThread): Promise<Message[]> {
  const messages = [...known];
  while (messages.length < length) {
    const page = await ask({ epoch, from: messages.length, length }).catch(() => undefined);
    if (!page || 'stale' in page || page.messages.length === 0) break;
    messages.push(...page.messages.slice(0, length - messages.length));
  }
  return messages;
}

/** Each message is counted when it is deposited, placed and dropped. */
const sizes = new WeakMap<Message, number>();

function sizeOf(message: Message): number {
  const size = sizes.get(message) ?? JSON.stringify(message).length;
  sizes.set(message, size);
  return size;
}

function sum(messages: readonly Message[]): number {
  return messages.reduce((size, message) => size + sizeOf(message), 0);
}
