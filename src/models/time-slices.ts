/** How long work may keep the event loop before others have a turn. Heartbeats must go out every few seconds, also on a slow machine. */
const sliceMs = 20;

export interface TimeSlices {
  /** Whether the work should make room now. */
  isOver(): boolean;
  /** Lets the event loop turn once. */
  next(): Promise<void>;
}

/** For work whose length somebody else decides: a provider may send a hundred thousand events at once. */
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
