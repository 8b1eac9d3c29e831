/** How long work may block the event loop before it yields. Heartbeats must go out every few seconds, also on a slow machine. */
const sliceMs = 20;

export interface TimeSlices {
  /** Whether the current slice has ended, so the work should yield. */
  isOver(): boolean;
  /** Yields to the event loop once. */
  next(): Promise<void>;
}

/** For work whose length the provider decides: it may send a hundred thousand events in one chunk. */
export function timeSlices(): TimeSlices {
  let began = performance.now();
  return {
    isOver: () => performance.now() - began > sliceMs,
    async next() {
      await new Promise<void>((resolve) => setImmediate(resolve));
      began = performance.now();
    },
  };
}
