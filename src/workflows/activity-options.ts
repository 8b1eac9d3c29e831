import type { ActivityOptions } from '@temporalio/workflow';
import { ActivityCancellationType } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import type { Verdict } from '../core/tool';

// A cancelled step is waited for, so that its end is known and nothing of it goes on behind a finished run.
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/**
 * For calls that must not run twice a false alarm costs a person's time, so a longer silence is borne: longer than a worker takes to notice
 * that its connection is dead (the SDK's keepalive: 30 s, and 15 s for the answer), and to make itself heard on a new one.
 */
const patientHeartbeatMs = 60_000;

/** Attempts of one scheduling. Those that are left after them, and how the next differ, is up to `schedule-step.ts`. */
const attemptsAtOnce = 5;

/**
 * An ordinary activity, although it only looks into the worker's memory: a local one would make the workflow's clock differ on replay. It has
 * no heartbeat, so the timeout is what a worker's death costs here. A worker without the agent is told apart, and waited out visibly.
 */
export const resolveAgentOptions: ActivityOptions = {
  startToCloseTimeout: '4s',
  retry: { initialInterval: '200ms', maximumInterval: '10s', nonRetryableErrorTypes: [failureTypes.unknownAgent] },
};

/** Tried again on whatever worker takes it: a deploy may be about to bring one that has the agent. */
export function awaitAgentOptions(waitMs: number): ActivityOptions {
  return {
    startToCloseTimeout: '4s',
    scheduleToCloseTimeout: waitMs,
    // Not to the worker that holds the thread, which does not have it: the server's choice from the first attempt on.
    allowEagerDispatch: false,
    retry: { initialInterval: '500ms', maximumInterval: '5s' },
  };
}

export const checkArgumentsOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

/** Of whoever verifies signatures, which may be a service elsewhere. */
export const verifyDecisionOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

export const requestCancelOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 10 },
};

/** Code of the user's, which has timeouts of its own: these bound a worker that is lost, and every hook of a name together. */
export const runHooksOptions: StepOptions = {
  startToCloseTimeout: '10m',
  cancellationType,
  retry: { initialInterval: '200ms', maximumInterval: '10s', maximumAttempts: attemptsAtOnce },
};

export const rememberRulesOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

export const callModelOptions: StepOptions = {
  // The longest answers of reasoning models take tens of minutes; a stalled stream is ended by the activity's own idle timeout.
  startToCloseTimeout: '1h',
  cancellationType,
  // The activity counts the provider's failures itself, against the agent's policy, and ends the retries. What it can't count are
  // attempts that died with their worker.
  retry: { initialInterval: '200ms', maximumInterval: '10s', maximumAttempts: attemptsAtOnce },
};

/** Time for the tool to notice that its own timeout has passed, and for the outcome to travel. */
const graceMs = 15_000;

export function runToolOptions(verdict: Extract<Verdict, { kind: 'run' }>): StepOptions {
  const { effect, timeoutMs, retry } = verdict;
  const startToCloseTimeout = timeoutMs + graceMs;
  if (effect === 'once')
    return { startToCloseTimeout, heartbeatTimeout: patientHeartbeatMs, cancellationType, retry: { maximumAttempts: 1 } };
  return {
    startToCloseTimeout,
    cancellationType,
    retry: {
      initialInterval: retry?.initialMs ?? 500,
      // Never below the first interval: the server would refuse the command, and with it the workflow task, again and again.
      maximumInterval: retry?.maxMs ?? Math.max(30_000, retry?.initialMs ?? 0),
      // As for model calls: throws are counted by the activity.
      maximumAttempts: (retry?.maxAttempts ?? 1) + attemptsAtOnce - 1,
    },
  };
}

/** Of a step with heartbeats. Their timeout follows from the takeover that the worker promises, where it is not set here. */
export type StepOptions = ActivityOptions & { retry: { maximumAttempts: number }; heartbeatTimeout?: number };
