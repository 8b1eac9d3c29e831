import type { EphemeralEvent } from '../core/event';
import { StepsUnderWay } from './steps-under-way';

/**
 * An item of the side channel: a live event, or `grown`, a notice that the log may have new events. `ended` is the message or tool call whose
 * step is over. A lost item loses no recorded information.
 */
export type StreamItem = { kind: 'event'; event: EphemeralEvent } | { kind: 'grown'; threadId: string; ended?: string };

export interface StreamBus {
  publish(item: StreamItem): void;
  /**
   * Calls `listener` with each item of a thread from now on. A bus that has the text of running steps begins with it, as snapshots. Returns a
   * function that ends the subscription.
   */
  subscribe(threadId: string, listener: (item: StreamItem) => void): () => void;
}

type Listener = (item: StreamItem) => void;

/** A bus for a worker and readers in one process. Keeps the growing text of running steps, for readers that join later. */
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
        // After a second call, `own` may be an old set that another one has replaced.
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
