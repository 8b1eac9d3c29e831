import { isObject, type JsonObject } from './json';
import { stateFormat, type ThreadState } from './state';

/** Upgrades a state from one format to the next, in place. The upgrade from a format stays as long as released code may have carried it over. */
const upgrades: Record<number, (state: JsonObject) => void> = {
  1(state) {
    const { compact, delivered } = state;
    if (compact === true) state.compact = {};
    else delete state.compact;
    state.told = { events: Number(delivered ?? 0), compactions: 0 };
    delete state.delivered;
    // Early executions of this format did not remember requests.
    state.requests ??= {};
  },
  2(state) {
    rename(state, 'told', 'delivered');
    if (!isObject(state.run)) return;
    rename(state.run, 'restedMs', 'waitedMs');
    rename(state.run, 'restingSince', 'waitingSince');
    rename(state.run, 'suspendAsked', 'suspendRequested');
  },
};

function rename(object: JsonObject, from: string, to: string): void {
  const value = object[from];
  if (value === undefined) return;
  object[to] = value;
  delete object[from];
}

/**
 * Returns a carried-over state in this release's format, whichever release wrote it. Throws for the format of a later release: that fails the
 * workflow task, not the thread, and a worker of the later release can continue it.
 */
export function readCarried(carried: unknown): ThreadState {
  const state = isObject(carried) ? (carried as JsonObject) : {};
  for (let format = state.format; format !== stateFormat; format = state.format) {
    const upgrade = typeof format === 'number' && Object.hasOwn(upgrades, format) ? upgrades[format] : undefined;
    if (!upgrade || typeof format !== 'number') {
      throw new Error(
        `The state of thread "${state.threadId}" has format ${JSON.stringify(format)}; this worker reads formats 1 to ${stateFormat}. Run a newer worker.`,
      );
    }
    upgrade(state);
    state.format = format + 1;
  }
  return state as unknown as ThreadState;
}
