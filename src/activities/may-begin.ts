import { ApplicationFailure, type Context } from '@temporalio/activity';
import { failureTypes, type StepProgress } from '../contract/activities';
import { confirmCancel } from './confirm-cancel';

/**
 * Rejects where the attempt is over for the server already. A frozen process that goes on, or a connection that was cut off and heals,
 * brings tasks that were handed out long ago: the workflow may have told their outcome, and another attempt may be under way.
 *
 * The server is asked, with a heartbeat, where the attempt is older than its heartbeat timeout by this machine's clock, or an
 * attempt before it was lost: then the way to the server may take longer than the timeout, and the work would be done in vain. Before a
 * call that must not run twice it is asked always, because clocks differ. The answer counts from when it was asked for: whoever is frozen in between
 * asks again.
 */
export async function mayBegin(context: Context, details: Partial<StepProgress>, { always }: { always: boolean }): Promise<void> {
  const { heartbeatTimeoutMs: timeoutMs, startToCloseTimeoutMs, currentAttemptScheduledTimestampMs: scheduledAt } = context.info;
  if (timeoutMs === undefined) return;
  if (!always && Date.now() - scheduledAt < timeoutMs) return;
  const safeMs = Math.min(timeoutMs, startToCloseTimeoutMs) / 2;
  for (;;) {
    const askedAt = performance.now();
    await ask(context, details, safeMs);
    if (performance.now() - askedAt < safeMs) return;
  }
}

/** `details`: what the attempt before left, or it would be lost with this one. */
async function ask(context: Context, details: Partial<StepProgress>, withinMs: number): Promise<void> {
  const { client, info } = context;
  try {
    await client.withDeadline(Date.now() + withinMs, () => client.activity.heartbeat(info.taskToken, details));
  } catch (error) {
    const { name, message } = error as Error;
    // The worker has to hear of it in its own way, or it would report the step as failed.
    if (stops.includes(name) && (await confirmCancel(context, () => context.heartbeat(details)))) {
      throw context.cancellationSignal.reason;
    }
    const why =
      name === 'ActivityNotFoundError' ? 'the attempt was over' : `it could not be asked whether the attempt is over (${message})`;
    throw ApplicationFailure.retryable(`The step was not begun: ${why}`, failureTypes.beganTooLate);
  }
}

/** Of the client: somebody wants the step stopped. */
const stops = ['ActivityCancelledError', 'ActivityPausedError', 'ActivityResetError'];
