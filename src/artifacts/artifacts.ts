import { createHash } from 'node:crypto';
import { bounds } from '../core/bounds';
import type { OutputRef } from '../core/message';
import { countLines } from '../core/text';
import { messageOfThrown } from '../core/thrown';
import { type ArtifactStore, isArtifactId } from './artifact-store';

/** How long the store may take. A tool call waits for it, and must not time out because of it. */
const writeMs = 5_000;
const readMs = 15_000;
/** After a write took too long, the store gets this time to recover: otherwise each call would wait for it again. */
const restMs = 30_000;

/** An artifact can't be read. The message is for the model and for people. */
class ArtifactError extends Error {
  override readonly name = 'ArtifactError';
}

/** Reads and writes artifacts through a store that is not relied on: bounded in time, with the bytes checked against their hash. */
export class Artifacts {
  #restsUntil = 0;

  /** `warn` receives a sentence when something could not be stored. */
  constructor(
    readonly store: ArtifactStore,
    private readonly warn: (words: string) => void = () => undefined,
  ) {}

  /** Stores bytes for a thread. Never rejects: returns undefined if they could not be stored. */
  async keep(threadId: string, bytes: Uint8Array, mediaType: string): Promise<OutputRef | undefined> {
    if (bytes.length > bounds.artifactBytes || performance.now() < this.#restsUntil) return undefined;
    const id = idOf(bytes);
    try {
      await withinTime(writeMs, (signal) => this.store.put({ threadId, id, bytes }, signal));
      return { id, bytes: bytes.length, lines: mediaType.startsWith('text/') ? countLines(bytes) : 0, mediaType };
    } catch (error) {
      if (error instanceof TooSlow) this.#restsUntil = performance.now() + restMs;
      this.warn(`An output of ${bytes.length} bytes could not be stored: ${messageOfThrown(error)}`);
      return undefined;
    }
  }

  /** Returns a thread's artifact. Rejects with an `ArtifactError` that says why it can't be read. */
  async read(threadId: string, id: string): Promise<Buffer> {
    const found = isArtifactId(id) ? await this.#get(threadId, id) : undefined;
    if (!found) {
      throw new ArtifactError(
        `This thread has no stored output with ref '${id.slice(0, 100)}'. It may have been deleted, or be in another worker's store. Call the tool again to get it anew.`,
      );
    }
    const bytes = Buffer.from(found.buffer, found.byteOffset, found.byteLength);
    if (idOf(bytes) === id) return bytes;
    throw new ArtifactError(`The stored output with ref '${id}' is damaged: its bytes have changed. Call the tool again to get it anew.`);
  }

  async #get(threadId: string, id: string): Promise<Uint8Array | undefined> {
    try {
      return await withinTime(readMs, (signal) => this.store.get({ threadId, id }, signal));
    } catch (error) {
      throw new ArtifactError(`The stored output with ref '${id}' can't be read now: ${messageOfThrown(error)}. Try again later.`);
    }
  }
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

function idOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}
