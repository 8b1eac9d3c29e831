import type { EphemeralEvent } from '../core/event';

/** What rides beside the log: an ephemeral event, or word that the log may have grown. Losing any of it loses nothing. */
export type StreamItem = { kind: 'event'; event: EphemeralEvent } | { kind: 'grown'; threadId: string };

export interface StreamBus {
  publish(item: StreamItem): void;
  /** Items of one thread from now on. Returns how to stop. */
  subscribe(threadId: string, listener: (item: StreamItem) => void): () => void;
}

/** For worker and readers in one process. */
export function inProcessBus(): StreamBus {
  const listeners = new Map<string, Set<(item: StreamItem) => void>>();
  return {
    publish(item) {
      const threadId = item.kind === 'event' ? item.event.threadId : item.threadId;
      for (const listener of listeners.get(threadId) ?? []) {
        // A reader that throws must not fail the model call that it watches.
        try {
          listener(item);
        } catch {}
      }
    },
    subscribe(threadId, listener) {
      const own = listeners.get(threadId) ?? new Set();
      listeners.set(threadId, own.add(listener));
      return () => {
        own.delete(listener);
        // Stopped twice, this may be a set that nobody has any more, and another one has taken its place.
        if (own.size === 0 && listeners.get(threadId) === own) listeners.delete(threadId);
      };
    },
  };
}
