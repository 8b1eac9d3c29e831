import type { Context } from '@temporalio/activity';
import { pause } from './pause';

/** Longer than a workflow task may take, so that a second one can bring the cancel if the first was lost. */
const patienceMs = 15_000;

/**
 * Waits, with heartbeats, until the server has a cancel that the workflow has reported, because only then does it accept a cancelled completion.
 * The first heartbeats follow quickly, because the workflow task is about to complete. Returns false if the server does not confirm the cancel
 * within 15 s, or if the worker shuts down meanwhile.
 */
export async function confirmCancel(context: Context, beat: () => void): Promise<boolean> {
  const { cancellationSignal: signal } = context;
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = 15; !signal.aborted && performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    await pause(pauseMs, signal);
    if (!signal.aborted) beat();
  }
  return signal.aborted && context.cancellationDetails?.workerShutdown !== true;
}
