import type { ArtifactStore } from './artifact-store';

interface Stored {
  artifacts: Map<string, Uint8Array>;
  lastPut: number;
}

/** Keeps artifacts in this process, until it ends. For tests, and for servers that keep their threads in memory, too. */
export function memoryArtifacts(): ArtifactStore {
  const threads = new Map<string, Stored>();
  return {
    async put({ threadId, id, bytes }) {
      const stored = threads.get(threadId) ?? { artifacts: new Map(), lastPut: 0 };
      threads.set(threadId, stored);
      stored.artifacts.set(id, Uint8Array.from(bytes));
      stored.lastPut = Date.now();
    },
    get: async ({ threadId, id }) => threads.get(threadId)?.artifacts.get(id),
    async deleteThread(threadId) {
      threads.delete(threadId);
    },
    async deleteUnusedSince(time) {
      const unused = [...threads].filter(([, { lastPut }]) => lastPut < time.getTime());
      for (const [threadId] of unused) threads.delete(threadId);
      return unused.length;
    },
  };
}
