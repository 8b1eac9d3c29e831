import type { Context } from '@temporalio/activity';
import type { StepProgress } from '../../contract/activities';
import { pause } from './pause';

/** If the server answered this recently, it is assumed to be reachable, so that a short call costs no extra heartbeat. */
const freshMs = 1_000;
const askWithinMs = 10_000;

/**
 * Waits, at the end of a call that must not run twice, until the server can be reached. The SDK notices a silently dead connection only after 45 s,
 * and gives up a completion after 10 s: the outcome would be recorded as `unknown` although the call is over.
 */
export async function untilHeard(
  { client, info, cancellationSignal: signal }: Context,
  details: Partial<StepProgress>,
  heardAt: number,
): Promise<void> {
  if (info.heartbeatTimeoutMs === undefined || performance.now() - heardAt < freshMs) return;
  // A worker that shuts down stops waiting and tries to complete the activity.
  while (!signal.aborted) {
    try {
      return await client.withDeadline(Date.now() + askWithinMs, () => client.activity.heartbeat(info.taskToken, details));
    } catch (error) {
      if (answers.includes((error as Error).name)) return;
    }
    await pause(250, signal);
  }
}

/** Errors of Temporal's client for a step that was cancelled, paused, reset, or is over for the server. */
const answers = ['ActivityCancelledError', 'ActivityPausedError', 'ActivityResetError', 'ActivityNotFoundError'];
