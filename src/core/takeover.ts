/** Default time until another worker takes over the steps of a worker that died, in milliseconds. */
export const defaultTakeoverMs = 5_000;

/** The server's part of it: its timers, and the wait before another attempt. Measured: 0.5 to 1.4 s. */
const serverMs = 2_000;

/** Returns the heartbeat timeout in milliseconds for a takeover time. */
export function heartbeatTimeoutOf(takeoverMs = defaultTakeoverMs): number {
  return takeoverMs - serverMs;
}

/** Returns the interval of heartbeats. A heartbeat may be delayed by the remaining 30% of the timeout and still arrive in time. */
export function heartbeatEvery(timeoutMs: number): number {
  return timeoutMs * 0.7;
}
