import { bounds } from '../core/bounds';

/**
 * Keeps what does not fit into a thread's history: long outputs of tools, images and files. An artifact is identified by its content: `id` is
 * the beginning of a hash, as 32 hexadecimal digits. Each thread has artifacts of its own; artifacts of several threads with the same id may be
 * stored once, for as long as one of them has it.
 *
 * A store may fail, be slow or lose something: the engine bounds each operation in time, and checks the bytes it gets against the id. With encryption
 * keys, the engine gives the store only encrypted bytes. The same id can then come with other bytes of the same length, and either may be kept.
 */
export interface ArtifactStore {
  /**
   * Stores an artifact. May be repeated, also at the same time. An artifact is readable only once it is complete. What is there already under the id
   * may be damaged, and is then replaced.
   */
  put(artifact: ArtifactKey & { bytes: Uint8Array }, signal: AbortSignal): Promise<void>;
  /**
   * Returns the bytes; undefined if the thread has no such artifact. What has more than 64,100,000 bytes was not stored by the engine: a store should
   * reject instead of reading it into memory.
   */
  get(key: ArtifactKey, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Deletes the thread's artifacts. */
  deleteThread(threadId: string): Promise<void>;
  /** Deletes the artifacts of each thread that has stored nothing since `time`. Returns the number of these threads. */
  deleteUnusedSince(time: Date): Promise<number>;
  /** Closes connections. */
  close?(): Promise<void>;
}

export interface ArtifactKey {
  threadId: string;
  id: string;
}

export function isArtifactId(id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id);
}

/** The largest artifact, with what encryption adds to it. */
export const maxStoredBytes = bounds.artifactBytes + 100_000;
