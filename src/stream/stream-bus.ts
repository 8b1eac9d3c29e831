import type { EphemeralEvent } from '../core/event';
import { StepsUnderWay } from './steps-under-way';

/**
 * What rides beside the log: an ephemeral event, or word that the log may have grown, with the message or tool call whose step is over.
 * Losing any of it loses nothing.
 */
export type StreamItem = { kind: 'event'; event: EphemeralEvent } | { kind: 'grown'; threadId: string; ended?: string };

export interface StreamBus {
  publish(item: StreamItem): void;
  /**
   * Items of one thread from now on. A bus that knows what the steps under way have said so far begins with that, as snapshots. Returns how
   * to stop.
   */
  subscribe(threadId: string, listener: (item: StreamItem) => void): () => void;
}

type Listener = (item: StreamItem) => void;

/** For worker and readers in one process. Keeps the growing text of the steps under way, for readers that come later. */
export function inProcessBus(): StreamBus {
  const listeners = new Map<string, Set<Listener>>();
  const steps = new StepsUnderWay();
  return {
    publish(item) {
      if (item.kind === 'event') steps.add(item.event);
      else if (item.ended !== undefined) steps.end(item.threadId, item.ended);
      const threadId = item.kind === 'event' ? item.event.threadId : item.threadId;
      for (const listener of listeners.get(threadId) ?? []) tell(listener, item);
    },
    subscribe(threadId, listener) {
      const own = listeners.get(threadId) ?? new Set();
      listeners.set(threadId, own.add(listener));
      for (const event of steps.of(threadId)) tell(listener, { kind: 'event', event });
      return () => {
        own.delete(listener);
        // Stopped twice, this may be a set that nobody has any more, and another one has taken its place.
        if (own.size === 0 && listeners.get(threadId) === own) listeners.delete(threadId);
      };
    },
  };
}

/** A reader that throws must not fail the model call that it watches. */
function tell(listener: Listener, item: StreamItem): void {
  try {
    listener(item);
  } catch {}
}
