import type { Context } from '@temporalio/activity';
import type { StepProgress } from '../contract/activities';
import { pause } from './pause';

/** Where the server was heard so recently, it still is there: a call that is over at once costs no heartbeat more. */
const freshMs = 1_000;
const askWithinMs = 10_000;

/**
 * Keeps the end of a call that must not run twice until the server can be told of it. On a connection that died without a word the SDK notices
 * after 45 s, and by then has given up a completion that was under way for more than ten: the call would be told as unknown although it is over.
 */
export async function untilHeard(
  { client, info, cancellationSignal: signal }: Context,
  details: Partial<StepProgress>,
  heardAt: number,
): Promise<void> {
  if (info.heartbeatTimeoutMs === undefined || performance.now() - heardAt < freshMs) return;
  // A worker that shuts down tries what it can.
  while (!signal.aborted) {
    try {
      return await client.withDeadline(Date.now() + askWithinMs, () => client.activity.heartbeat(info.taskToken, details));
    } catch (error) {
      if (answers.includes((error as Error).name)) return;
    }
    await pause(250, signal);
  }
}

/** Of the client: the server wants the step stopped, or has ended it. */
const answers = ['ActivityCancelledError', 'ActivityPausedError', 'ActivityResetError', 'ActivityNotFoundError'];
