import { defaultTurns, type LimitName, type Limits, limitNames } from './agent';
import { inForce, type RunState, type ThreadState } from './state';

/** A limit that is reached. */
export interface Reached {
  limit: LimitName;
  max: number;
  scope: 'run' | 'thread';
}

type Amounts = Record<LimitName, number>;

/** Milliseconds that a run has worked until `now`, without the time in which it waited or was paused. */
export function workedMs(run: RunState, now: number): number {
  const until = run.endedAt ?? now;
  const waiting = run.waitingSince === undefined ? 0 : until - run.waitingSince;
  return Math.max(0, until - run.startedAt - run.waitedMs - waiting);
}

export function limitsOf(state: ThreadState): { run: Limits; thread: Limits } {
  const { limits, threadLimits } = inForce(state);
  return { run: { turns: defaultTurns, ...limits }, thread: threadLimits };
}

/** Amounts used by the run and by the whole thread. `now`: milliseconds since 1970. */
export function spent(state: ThreadState, now: number): { run: Amounts; thread: Amounts } {
  const { run, before, usage } = state;
  const ofRun: Amounts = {
    turns: run?.turn ?? 0,
    toolRounds: run?.toolRounds ?? 0,
    toolCalls: run?.toolCalls ?? 0,
    tokens: (run?.usage.inputTokens ?? 0) + (run?.usage.outputTokens ?? 0),
    costUsd: run?.costUsd ?? 0,
    wallClockMs: run ? workedMs(run, now) : 0,
    contextTokens: run?.context ?? 0,
  };
  const ofThread: Amounts = {
    turns: before.turns + ofRun.turns,
    toolRounds: before.toolRounds + ofRun.toolRounds,
    toolCalls: before.toolCalls + ofRun.toolCalls,
    tokens: usage.inputTokens + usage.outputTokens,
    costUsd: before.costUsd + ofRun.costUsd,
    wallClockMs: before.workedMs + ofRun.wallClockMs,
    contextTokens: ofRun.contextTokens,
  };
  return { run: ofRun, thread: ofThread };
}

/**
 * A sum of dollars as people and programs see it, to a billionth: 0.3 instead of 0.30000000000000004. Limits are checked against the sum itself, so that
 * a replay decides as the run did.
 */
export function shownUsd(sum: number): number {
  return Math.round(sum * 1e9) / 1e9;
}

/** `spent`, as it is shown. */
export function shownSpent(state: ThreadState, now: number): { run: Amounts; thread: Amounts } {
  const { run, thread } = spent(state, now);
  return { run: { ...run, costUsd: shownUsd(run.costUsd) }, thread: { ...thread, costUsd: shownUsd(thread.costUsd) } };
}

/** What is left of each limit. Limits that are not set are absent. */
export function remaining(state: ThreadState, now: number): { run: Limits; thread: Limits } {
  const limits = limitsOf(state);
  const amounts = spent(state, now);
  const left = (scope: 'run' | 'thread'): Limits =>
    Object.fromEntries(
      limitNames.flatMap((name) => {
        const max = limits[scope][name];
        return max === undefined ? [] : [[name, Math.max(0, max - amounts[scope][name])]];
      }),
    );
  return { run: left('run'), thread: left('thread') };
}

/** Returns the first of these limits that is reached, or undefined. */
export function reached(state: ThreadState, now: number, names: readonly LimitName[]): Reached | undefined {
  const limits = limitsOf(state);
  const amounts = spent(state, now);
  for (const scope of ['run', 'thread'] as const) {
    for (const limit of names) {
      const max = limits[scope][limit];
      if (max !== undefined && amounts[scope][limit] >= max) return { limit, max, scope };
    }
  }
  return undefined;
}

/**
 * Returns the ids of the calls that a limit forbids: all of them if a limit is already reached, otherwise those above the remaining `toolCalls`.
 */
export function excessCalls(
  state: ThreadState,
  now: number,
  calls: readonly { id: string }[],
  already: Reached | undefined,
): { excess: string[]; at?: Reached } {
  const ids = calls.map(({ id }) => id);
  if (already) return { excess: ids, at: already };
  const limits = limitsOf(state);
  const left = remaining(state, now);
  const scope = (left.thread.toolCalls ?? Number.POSITIVE_INFINITY) < (left.run.toolCalls ?? Number.POSITIVE_INFINITY) ? 'thread' : 'run';
  const max = limits[scope].toolCalls;
  if (max === undefined) return { excess: [] };
  return { excess: ids.slice(left[scope].toolCalls ?? 0), at: { limit: 'toolCalls', max, scope } };
}
