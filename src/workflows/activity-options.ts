import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';
import { ActivityCancellationType } from '@temporalio/workflow';
import type { Verdict } from '../core/tool';

// A cancelled step is waited for, so that its end is known and nothing of it goes on behind a finished run.
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

/** A dead worker is noticed this fast where trying again is free of harm; a server away for two seconds is not mistaken for it. */
const quickHeartbeat = '3s';
/** For calls that must not run twice a false alarm costs a person's time, so a longer silence is borne. */
const patientHeartbeat = '30s';

/** Local: it looks into the worker's own memory, so a place in the task queue and three more events would be all that it costs. */
export const resolveAgentOptions: LocalActivityOptions = {
  startToCloseTimeout: '4s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

export const checkArgumentsOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

export const requestCancelOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 10 },
};

/** Code of the user's, which has timeouts of its own: these bound a worker that is lost, and every hook of a name together. */
export const runHooksOptions: ActivityOptions = {
  startToCloseTimeout: '10m',
  heartbeatTimeout: quickHeartbeat,
  cancellationType,
  retry: { initialInterval: '200ms', maximumInterval: '10s', maximumAttempts: 20 },
};

export const rememberRulesOptions: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '200ms', maximumAttempts: 5 },
};

export const callModelOptions: ActivityOptions = {
  // The longest answers of reasoning models take tens of minutes; a stalled stream is ended by the activity's own idle timeout.
  startToCloseTimeout: '1h',
  heartbeatTimeout: quickHeartbeat,
  cancellationType,
  retry: {
    initialInterval: '200ms',
    maximumInterval: '10s',
    // The activity counts the provider's failures itself, against the agent's policy, and ends the retries. This bounds only what it
    // can't count: attempts that died with their worker. A few deploys in a row must not end a run; a worker that every answer kills must.
    maximumAttempts: 25,
  },
};

/** Time for the tool to notice that its own timeout has passed, and for the outcome to travel. */
const graceMs = 15_000;

export function runToolOptions(verdict: Extract<Verdict, { kind: 'run' }>): ActivityOptions {
  const { effect, timeoutMs, retry } = verdict;
  return {
    startToCloseTimeout: timeoutMs + graceMs,
    heartbeatTimeout: effect === 'once' ? patientHeartbeat : quickHeartbeat,
    cancellationType,
    retry:
      effect === 'once'
        ? { maximumAttempts: 1 }
        : {
            initialInterval: retry?.initialMs ?? 500,
            maximumInterval: retry?.maxMs ?? 30_000,
            // As for model calls: throws are counted by the activity, this bounds attempts that died with their worker.
            maximumAttempts: (retry?.maxAttempts ?? 1) + 20,
          },
  };
}
