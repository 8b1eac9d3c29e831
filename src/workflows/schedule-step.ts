import { TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, sleep, TimeoutFailure } from '@temporalio/workflow';
import { type EarlierAttempts, failureTypes, type StepProgress } from '../contract/activities';
import type { AgentFacts } from '../core/agent';
import { heartbeatTimeoutOf } from '../core/takeover';
import type { StepOptions } from './activity-options';
import { type AgentWait, agentPauses, isUnknownAgent } from './await-agent';
import { activityEvents, type Growth, grow } from './growth';

/** What scheduling a step needs of the workflow that does it: a thread, or a background call. */
export interface StepContext extends AgentWait {
  state: { facts: Pick<AgentFacts, 'takeoverMs' | 'lostAfterMs'> | null };
  growth: Growth;
  /** How often heartbeats arrived too late. Each time lengthens the heartbeat timeout of the next steps. */
  alarms: number;
}

/** How often a step is scheduled. A few deploys in a row must not end a run; a step whose every attempt kills its worker must. */
const most = 6;

/** The longest wait before a step is tried again on a worker that may have the key that the last one lacked. Each try adds six events to history. */
const longestKeyWaitMs = 10 * 60_000;

/** The longest heartbeat timeout: a worker that is silent for so long is considered lost. */
const longestTimeoutMs = 60_000;

/**
 * Schedules a step until it has a result. The server retries by itself, and quickly, but always with the same heartbeat timeout: if heartbeats
 * take longer than that, every attempt times out. So a step that the server gave up on is scheduled again with a heartbeat timeout four times
 * as long, which also applies to the run's next steps. Throws the last error after `most` schedulings, or if another attempt can't help.
 */
export async function scheduleStep<R extends { earlier?: EarlierAttempts }, T>(
  thread: StepContext,
  options: StepOptions,
  request: R,
  schedule: (options: StepOptions, request: R) => Promise<T>,
): Promise<T> {
  const { maximumAttempts } = options.retry;
  const { takeoverMs, lostAfterMs } = thread.state.facts ?? {};
  const shortest = heartbeatTimeoutOf(takeoverMs);
  // An option without a heartbeat timeout has that of the takeover time.
  const patient = options.heartbeatTimeout && (lostAfterMs ?? options.heartbeatTimeout);
  let earlier: EarlierAttempts | undefined;
  let pauses: ReturnType<typeof agentPauses> | undefined;
  let keyless = 0;
  for (let times = 1; ; ) {
    const { alarms, growth } = thread;
    const heartbeatTimeout = patient ?? Math.min(shortest * 4 ** alarms, Math.max(shortest, longestTimeoutMs));
    try {
      grow(growth, activityEvents, request);
      const step = await schedule(
        { ...options, heartbeatTimeout, ...(!thread.eager && { allowEagerDispatch: false }) },
        { ...request, ...(earlier && { earlier }) },
      );
      grow(growth, 0, step);
      return step;
    } catch (error) {
      const lost = lostIn(error, maximumAttempts === 1);
      if (!lost) throw error;
      let { waitMs } = lost;
      if (isUnknownAgent(error)) {
        // That worker began nothing, so this is bounded by `agentWaitMs`, not by a number of schedulings.
        pauses ??= agentPauses(thread);
        const pauseMs = pauses();
        if (pauseMs === undefined) throw error;
        waitMs = pauseMs;
      } else if (lacksKey(error)) {
        // That worker began nothing either. It may be the only one until somebody gives it the key, and the run must not be lost until then.
        waitMs = Math.min(1_000 * 2 ** keyless++, longestKeyWaitMs);
      } else if (times++ === most) {
        throw error;
      }
      if (lost.silent) thread.alarms = Math.max(thread.alarms, alarms + 1);
      earlier = { attempts: (earlier?.attempts ?? 0) + maximumAttempts, left: { ...earlier?.left, ...lost.left } };
      if (waitMs > 0) await sleep(waitMs);
    }
  }
}

/** Failures of attempts that did nothing. */
const neverBegan: readonly string[] = [failureTypes.beganTooLate, failureTypes.unknownAgent, failureTypes.keyUnavailable];

function lacksKey(error: unknown): boolean {
  return error instanceof ActivityFailure && (error.cause as ApplicationFailure | undefined)?.type === failureTypes.keyUnavailable;
}

interface Lost {
  /** No heartbeat arrived in time. */
  silent: boolean;
  /** Milliseconds before the next attempt. */
  waitMs: number;
  left?: Partial<StepProgress>;
}

/** Returns how to try again after the server's last attempt, or undefined. A call that must not run twice is tried again only if it never began. */
function lostIn(error: unknown, isOnce: boolean): Lost | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  if (cause instanceof TimeoutFailure) {
    const { timeoutType, lastHeartbeatDetails } = cause;
    if (isOnce || timeoutType !== TimeoutType.HEARTBEAT) return undefined;
    return { silent: true, waitMs: 0, left: lastHeartbeatDetails as StepProgress | undefined };
  }
  if (!(cause instanceof ApplicationFailure) || cause.nonRetryable) return undefined;
  if (isOnce && !neverBegan.includes(cause.type ?? '')) return undefined;
  const {
    attempts: failed,
    throws,
    wasted,
    attempt,
  } = (cause.details?.[0] ?? {}) as Pick<StepProgress, 'throws' | 'wasted'> & {
    /** The last attempt, if it cost nothing. */
    attempt?: number;
  } & {
    attempts?: StepProgress['failed'];
  };
  return {
    silent: false,
    waitMs: failed?.at(-1)?.waitMs ?? 1_000,
    left: { ...(failed && { failed }), ...(throws !== undefined && { throws }), ...(wasted && { wasted }), ...(attempt && { attempt }) },
  };
}
