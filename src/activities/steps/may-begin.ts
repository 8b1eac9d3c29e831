import { ApplicationFailure, type Context } from '@temporalio/activity';
import { failureTypes, type StepProgress } from '../../contract/activities';
import { confirmCancel } from './confirm-cancel';

/**
 * Rejects if the attempt is already over for the server. After a frozen process or a broken connection resumes, tasks arrive that were dispatched
 * long ago: the workflow may have recorded their outcome, and another attempt may be running.
 *
 * The server is asked with a heartbeat if the attempt is older than its heartbeat timeout by this machine's clock, or if an earlier attempt was
 * lost: heartbeats may then take longer than the timeout, and the work would be wasted. Before a call that must not run twice, the server is always
 * asked, because clocks differ. The answer is valid from the time of the question, so a process that was frozen in between asks again.
 *
 * Returns a function to call at the moment of the effect: if the answer is too old by then, it asks again, and returns the promise.
 */
export async function mayBegin(context: Context, details: Partial<StepProgress>, { always }: { always: boolean }): Promise<MayStart> {
  const { heartbeatTimeoutMs: timeoutMs, startToCloseTimeoutMs, currentAttemptScheduledTimestampMs: scheduledAt } = context.info;
  if (timeoutMs === undefined) return () => undefined;
  const safeMs = Math.min(timeoutMs, startToCloseTimeoutMs) / 2;
  let askedAt = performance.now();
  if (always || Date.now() - scheduledAt >= timeoutMs) {
    do {
      askedAt = performance.now();
      await ask(context, details, safeMs);
    } while (performance.now() - askedAt >= safeMs);
  }
  return () => (performance.now() - askedAt < safeMs ? undefined : mayBegin(context, details, { always: true }));
}

export type MayStart = () => Promise<unknown> | undefined;

/** `details`: the progress of earlier attempts, which the heartbeat would otherwise overwrite. */
async function ask(context: Context, details: Partial<StepProgress>, withinMs: number): Promise<void> {
  const { client, info } = context;
  try {
    await client.withDeadline(Date.now() + withinMs, () => client.activity.heartbeat(info.taskToken, details));
  } catch (error) {
    const { name, message } = error as Error;
    // The worker must receive the cancellation itself, or it would report the step as failed.
    if (stops.includes(name) && (await confirmCancel(context, () => context.heartbeat(details)))) {
      throw context.cancellationSignal.reason;
    }
    const why =
      name === 'ActivityNotFoundError' ? 'the attempt was over' : `the server could not be asked whether the attempt is over (${message})`;
    throw ApplicationFailure.retryable(`The step was not begun: ${why}`, failureTypes.beganTooLate);
  }
}

/** Errors of Temporal's client for a step that was cancelled, paused or reset. */
const stops = ['ActivityCancelledError', 'ActivityPausedError', 'ActivityResetError'];
