import { isBytes } from '../core/json';
import type { ThreadState } from '../core/state';

/**
 * An estimate of the history that this execution has written. It decides when the thread continues as new. It counts only what workflow code
 * does and receives, so a replay counts the same. What the SDK reports about the history may differ between an execution and its replay.
 */
export interface Growth {
  events: number;
  bytes: number;
}

export const noGrowth: Readonly<Growth> = { events: 0, bytes: 0 };

/** Events counted for one activity: scheduled, started and completed, and the three events of the workflow task that follows. */
export const activityEvents = 6;
/** Events counted for one timer: started and fired, and the three events of the workflow task that follows. */
export const timerEvents = 5;
/** Events counted for one request: a signal, or an update accepted and completed, and the three events of its workflow task. */
export const requestEvents = 5;

/** Events counted for one background call: initiated, started and completed, and the three events of the workflow task after each of the last two. */
export const backgroundEvents = 9;

/**
 * Far below the limits of a server, which terminates an execution at 51,200 events or 50 MB, and accepts 10,000 signals and 2,000 updates. A worker
 * that does not have a thread must replay its whole execution within one workflow task of 5 s, also on a slow machine.
 */
export const defaultCarryAfter: Readonly<Growth> = { events: 2_500, bytes: 4_000_000 };

/** Adds what is about to be written or was just received. `values` are arguments or results that the history contains. */
export function grow(growth: Growth, events: number, ...values: unknown[]): void {
  growth.events += events;
  for (const value of values) growth.bytes += weightOf(value);
}

export function isGrown(growth: Growth, state: ThreadState): boolean {
  const { events, bytes } = state.facts?.carryAfter ?? defaultCarryAfter;
  return growth.events >= events || growth.bytes >= bytes;
}

/** An execution that has written this many times the carry-over threshold refuses requests that can be sent again. */
const overgrown = 8;

/** Whether carry-over has been overdue for long, because a steady stream of requests prevented it. */
export function isOvergrown(growth: Growth, state: ThreadState): boolean {
  return isGrown({ events: growth.events / overgrown, bytes: growth.bytes / overgrown }, state);
}

/** Workflow code looks a global up at each use, which takes longer than the work done with it. */
const { isArray } = Array;
const { keys: keysOf } = Object;

/** Approximate size of a value as JSON in bytes, without serializing it, because every step calls this. A character may take up to six bytes. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  if (isBytes(value)) return weightOfBytes((value as Uint8Array).length);
  let weight = 2;
  if (isArray(value)) for (const inner of value) weight += 1 + weightOf(inner);
  else for (const key of keysOf(value)) weight += key.length + 4 + weightOf((value as Record<string, unknown>)[key]);
  return weight;
}

/** Bytes count as an object with one number per byte, as they always have: an execution and its replay must count the same. */
function weightOfBytes(length: number): number {
  let weight = 2 + 8 * length;
  for (let digits = 1, from = 0; from < length; digits++) {
    const to = Math.min(length, 10 ** digits);
    weight += digits * (to - from);
    from = to;
  }
  return weight;
}
