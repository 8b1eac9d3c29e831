import type { Context } from '@temporalio/activity';
import { pause } from './pause';

/** Longer than a workflow task may take, so that a second one can bring the cancel where the first was lost. */
const patienceMs = 15_000;

/**
 * Asks the server, with heartbeats, whether it has a cancel that the workflow has told of: it takes a cancelled completion only then.
 * Quickly at first: the workflow task is about to be completed. False where nobody confirms it, or the worker shuts down meanwhile.
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
