import { createHash, type Hash, type Hmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { bounds } from '../core/bounds';
import { LineIndex } from '../core/line-index';
import type { OutputRef } from '../core/message';
import { messageOfThrown } from '../core/thrown';
import { ArtifactError, damaged } from './artifact-error';
import { type ArtifactKey, type ArtifactStore, isArtifactId } from './artifact-store';
import { noKeys, type SealingKeys, seal, sealedId, sealedWith, unseal } from './sealing';
import { Turns } from './turns';

/** How long the store may take. A tool call waits for it, and must not time out because of it. */
const writeMs = 5_000;
const readMs = 15_000;
/** After a write took too long, the store gets this time to recover: otherwise each call would wait for it again. */
const restMs = 30_000;
/** How long the output that was read last is kept in memory for the next page of it. */
const rereadMs = 5_000;
/** What is hashed and counted at once, before the process does other work. */
const sliceBytes = 1024 * 1024;

/** One for the process: each work may take the memory of a whole output. */
const turns = new Turns();

/** A stored output, with its bytes checked. */
export interface StoredOutput {
  bytes: Buffer;
  lines: LineIndex;
}

/**
 * Reads and writes artifacts through a store that is not relied on: bounded in time, with the bytes checked against their hash, and encrypted if there
 * are keys.
 */
export class Artifacts {
  #restsUntil = 0;
  #lastRead: { threadId: string; id: string; output: StoredOutput } | undefined;

  /** `warn` receives a sentence when something could not be stored. */
  constructor(
    readonly store: ArtifactStore,
    private readonly warn: (words: string) => void = () => undefined,
    private readonly keys: SealingKeys = noKeys,
  ) {}

  /** Stores bytes for a thread. Never rejects: returns undefined if they could not be stored. */
  async keep(threadId: string, bytes: Uint8Array, mediaType: string): Promise<OutputRef | undefined> {
    if (bytes.length > bounds.artifactBytes || performance.now() < this.#restsUntil) return undefined;
    try {
      const by = await this.keys.current();
      const { id, lines } = await identify(bytes, by ? sealedId(by.key, threadId) : createHash('sha256'));
      const stored = by ? await seal({ threadId, id }, bytes, by) : bytes;
      await withinTime(writeMs, (signal) => this.store.put({ threadId, id, bytes: stored }, signal));
      return { id, bytes: bytes.length, lines: mediaType.startsWith('text/') ? lines.total : 0, mediaType };
    } catch (error) {
      if (error instanceof TooSlow) this.#restsUntil = performance.now() + restMs;
      this.warn(`An output of ${bytes.length} bytes could not be stored: ${messageOfThrown(error)}`);
      return undefined;
    }
  }

  /** Returns a thread's artifact. Rejects with an `ArtifactError` that says why it can't be read. */
  async read(threadId: string, id: string): Promise<Buffer> {
    return (await this.#verified(threadId, id)).bytes;
  }

  /**
   * Reads a thread's artifact and does something with it, when all earlier such work of this process is done: a model can ask for a hundred pages at
   * once, and each would otherwise hold a whole output. Rejects if `signal` was aborted while it waited.
   */
  use<T>(threadId: string, id: string, signal: AbortSignal, work: (output: StoredOutput) => Promise<T>): Promise<T> {
    return turns.run(threadId, async () => {
      // Lets the process do other work between two uses of an output that is in memory.
      await setImmediate();
      signal.throwIfAborted();
      return work(await this.#recent(threadId, id));
    });
  }

  /** As `read`, from memory if it was read last. */
  async #recent(threadId: string, id: string): Promise<StoredOutput> {
    if (this.#lastRead?.threadId === threadId && this.#lastRead.id === id) return this.#lastRead.output;
    // Before the next one is read, so that there are never two in memory.
    this.#lastRead = undefined;
    const lastRead = { threadId, id, output: await this.#verified(threadId, id) };
    this.#lastRead = lastRead;
    setTimeout(() => {
      if (this.#lastRead === lastRead) this.#lastRead = undefined;
    }, rereadMs).unref();
    return lastRead.output;
  }

  async #verified(threadId: string, id: string): Promise<StoredOutput> {
    const found = isArtifactId(id) ? await this.#get(threadId, id) : undefined;
    if (!found) {
      throw new ArtifactError(
        'missing',
        `This thread has no stored output with ref '${id.slice(0, 100)}'. It may have been deleted, or be in another worker's store. Call the tool again to get it anew.`,
      );
    }
    const output = await this.#opened({ threadId, id }, Buffer.from(found.buffer, found.byteOffset, found.byteLength));
    if (output) return output;
    throw damaged(id);
  }

  /** Returns undefined if the bytes are not those that were stored. What was stored before there were keys is still read: its id is its hash. */
  async #opened(key: ArtifactKey, stored: Buffer): Promise<StoredOutput | undefined> {
    const keyId = sealedWith(stored);
    const secret = keyId === undefined ? undefined : await this.keys.byId(keyId).catch(unreadable(key.id));
    const bytes = secret ? await unseal(key, stored, secret) : stored;
    if (!bytes) return undefined;
    const { id, lines } = await identify(bytes, secret ? sealedId(secret, key.threadId) : createHash('sha256'));
    return id === key.id ? { bytes, lines } : undefined;
  }

  async #get(threadId: string, id: string): Promise<Uint8Array | undefined> {
    return withinTime(readMs, (signal) => this.store.get({ threadId, id }, signal)).catch(unreadable(id));
  }
}

/** The store is away, or this process lacks a key; or the store found the artifact damaged. */
function unreadable(id: string): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof ArtifactError) throw cause;
    const message = `The stored output with ref '${id}' can't be read now: ${messageOfThrown(cause)}. Try again later.`;
    throw new ArtifactError('away', message, { cause });
  };
}

class TooSlow extends Error {
  constructor(ms: number) {
    super(`the store did not answer within ${ms / 1_000} s`);
  }
}

/** Rejects after `ms`, also if the store ignores its signal. What the store does later is ignored. */
async function withinTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TooSlow(ms));
      controller.abort();
    }, ms);
  });
  try {
    return await Promise.race([(async () => work(controller.signal))(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Hashes bytes and counts their lines, slice by slice: 64 MB at once would block the process for half a second. */
async function identify(bytes: Uint8Array, hash: Hash | Hmac): Promise<{ id: string; lines: LineIndex }> {
  const lines = new LineIndex();
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    if (at > 0) await setImmediate();
    const slice = bytes.subarray(at, at + sliceBytes);
    hash.update(slice);
    lines.add(slice);
  }
  return { id: hash.digest('hex').slice(0, 32), lines };
}
