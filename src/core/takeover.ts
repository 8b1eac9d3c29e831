/** How soon after a worker's death another has taken its steps over, unless workers are told otherwise. */
export const defaultTakeoverMs = 5_000;

/** The server's own share of it: its timers, and the wait before another attempt. Measured: 0.5 to 1.4 s. */
const serverMs = 2_000;

/** The heartbeat timeout that keeps such a promise. */
export function heartbeatTimeoutOf(takeoverMs = defaultTakeoverMs): number {
  return takeoverMs - serverMs;
}

/** Where a heartbeat may be as late as the rest of the timeout, and still be in time. */
export function heartbeatEvery(timeoutMs: number): number {
  return timeoutMs * 0.7;
}
