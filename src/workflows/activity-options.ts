import type { ActivityOptions } from '@temporalio/workflow';
import { ActivityCancellationType } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import { longestProbeMs } from '../core/probing';
import { compensationRetry, type SagaCall } from '../core/sagas';
import type { ToolRetry, Verdict } from '../core/tool';
import { unreachable } from '../core/unreachable';

// The workflow waits until a cancelled step has ended, so that its outcome is known and no step outlives its run.
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/**
 * A false heartbeat timeout of a call that must not run twice costs a person's time, so its timeout is longer: longer than a worker needs to
 * notice that its connection is dead (the SDK's keepalive: 30 s, and 15 s for the answer) and to send a heartbeat over a new one.
 */
const patientHeartbeatMs = 60_000;

/** Attempts per scheduling. `schedule-step.ts` decides whether a step is scheduled again, and with which options. */
const attemptsAtOnce = 5;

/**
 * An ordinary activity, although it only reads the worker's memory: a local activity would make the workflow's clock differ on replay. It has
 * no heartbeat, so a worker's death delays the run by the timeout. `UnknownAgent` is not retried here: the run then waits with status `queued`.
 */
export const resolveAgentOptions: ActivityOptions = {
  startToCloseTimeout: '4s',
  retry: { initialInterval: '200ms', maximumInterval: '10s', nonRetryableErrorTypes: [failureTypes.unknownAgent] },
};

/** For the wait for a worker that has the agent, such as one that a deploy is about to start. Any worker may take each attempt. */
export function awaitAgentOptions(waitMs: number): ActivityOptions {
  return {
    startToCloseTimeout: '4s',
    scheduleToCloseTimeout: waitMs,
    // Eager dispatch would give the first attempt to the worker that holds the thread, which does not have the agent.
    allowEagerDispatch: false,
    retry: { initialInterval: '500ms', maximumInterval: '5s' },
  };
}

export const checkArgumentsOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

/** For the verifier of signatures, which may call a remote service. */
export const verifyDecisionOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

export const requestCancelOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 10 },
};

/** User code with its own timeouts. The timeout here bounds a lost worker and all hooks of one name together. */
export const runHooksOptions: StepOptions = {
  startToCloseTimeout: '10m',
  cancellationType,
  retry: { initialInterval: '200ms', maximumInterval: '10s', maximumAttempts: attemptsAtOnce },
};

/** It replays the closed execution, on any worker that takes the query. Whatever else fails may pass: a thread that is not read is lost. */
export const readClosedOptions: ActivityOptions = {
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', maximumInterval: '10s', nonRetryableErrorTypes: [failureTypes.tooLarge] },
};

/** It only waits, for as long as the call takes, and begins again on another worker if its own is lost. Each heartbeat may be billed. */
export const awaitCallOptions: ActivityOptions = {
  startToCloseTimeout: '30 days',
  heartbeatTimeout: '60s',
  retry: { initialInterval: '200ms', maximumInterval: '10s' },
};

/** The store bounds itself. What can't be stored within this time is dropped all the same: the run waits. */
export const archiveMessagesOptions: ActivityOptions = {
  startToCloseTimeout: '20s',
  scheduleToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', maximumAttempts: 3 },
};

export const rememberRulesOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

export const callModelOptions: StepOptions = {
  // The longest answers of reasoning models take tens of minutes. The activity's own idle timeout ends a stalled stream.
  startToCloseTimeout: '1h',
  cancellationType,
  // The activity counts the provider's failures itself, against the agent's policy, and ends the retries. It can't count attempts that
  // died with their worker: those are bounded here.
  retry: { initialInterval: '200ms', maximumInterval: '10s', maximumAttempts: attemptsAtOnce },
};

/** Time for the tool to notice that its own timeout has passed, and for the outcome to reach the server. */
const graceMs = 15_000;

export function runToolOptions(verdict: Extract<Verdict, { kind: 'run' }>): StepOptions {
  const { effect, timeoutMs, retry } = verdict;
  const startToCloseTimeout = timeoutMs + graceMs;
  switch (effect) {
    case 'once':
    case 'saga':
      return { startToCloseTimeout, heartbeatTimeout: patientHeartbeatMs, cancellationType, retry: { maximumAttempts: 1 } };
    case 'pure':
    case 'keyed':
      return { startToCloseTimeout, cancellationType, retry: toolRetries(retry) };
    case 'verify':
      // While an earlier attempt is still running unnoticed, the probe would find nothing, and the call would run a second time.
      return {
        startToCloseTimeout: startToCloseTimeout + longestProbeMs,
        heartbeatTimeout: patientHeartbeatMs,
        cancellationType,
        retry: toolRetries(retry),
      };
    default:
      return unreachable(effect);
  }
}

/** It may run again with the same key, so another worker soon takes it over. */
export function compensateOptions({ timeoutMs, retry }: Pick<SagaCall, 'timeoutMs' | 'retry'>): StepOptions {
  return { startToCloseTimeout: timeoutMs + graceMs, cancellationType, retry: toolRetries(compensationRetry(retry)) };
}

function toolRetries({ maxAttempts = 1, initialMs = 500, maxMs }: Partial<ToolRetry> = {}): StepOptions['retry'] {
  return {
    initialInterval: initialMs,
    // Never below the first interval: the server would reject the command, and the workflow task would fail repeatedly.
    maximumInterval: maxMs ?? Math.max(30_000, initialMs),
    // As for model calls, the activity counts what the tool throws.
    maximumAttempts: maxAttempts + attemptsAtOnce - 1,
  };
}

/** Options of a step with heartbeats. Without `heartbeatTimeout` here, the timeout follows from the worker's takeover time (`takeoverMs`). */
export type StepOptions = ActivityOptions & { retry: { maximumAttempts: number }; heartbeatTimeout?: number };
