import type { ThreadState } from '../core/state';

/**
 * An estimate of the history that this execution has written: it decides when the thread continues as new. It counts only what workflow
 * code does and receives, so a replay counts the same; what the SDK reports about the history may differ between an execution and its replay.
 */
export interface Growth {
  events: number;
  bytes: number;
}

export const noGrowth: Readonly<Growth> = { events: 0, bytes: 0 };

/** What is counted for one activity: scheduled, started and completed, and the three events of the workflow task that follows. */
export const activityEvents = 6;
/** A request: a signal, or an update accepted and completed, and the three events of its workflow task. */
export const requestEvents = 5;

/**
 * Far below the limits of a server, which ends an execution at 51,200 events, 50 MB, 10,000 signals or 2,000 updates. A worker that does not have a
 * thread replays all of its execution within one workflow task, which may take 5 s, also on a slow machine.
 */
export const defaultCarryAfter: Readonly<Growth> = { events: 2_000, bytes: 4_000_000 };

/** Counts what is about to be written, or was just received. `values` are the arguments or results that the history holds. */
export function grow(growth: Growth, events: number, ...values: unknown[]): void {
  growth.events += events;
  for (const value of values) growth.bytes += weightOf(value);
}

export function isGrown(growth: Growth, state: ThreadState): boolean {
  const { events, bytes } = state.facts?.carryAfter ?? defaultCarryAfter;
  return growth.events >= events || growth.bytes >= bytes;
}

/** About the bytes of a value as JSON, without making the JSON: it is asked for at every step. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let weight = 2;
  for (const [key, inner] of Object.entries(value)) weight += (Array.isArray(value) ? 1 : key.length + 4) + weightOf(inner);
  return weight;
}
