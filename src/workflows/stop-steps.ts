import { CancellationScope, proxySinks } from '@temporalio/workflow';
import type { StoppedSteps, ThreadSinks } from '../contract/sinks';
import type { RunState } from '../core/state';

const { longhaul } = proxySinks<ThreadSinks>();

/**
 * Returns a scope for steps of the run. When it is cancelled (by a request, a message that can't wait, or Temporal's own cancellation), steps
 * in this process stop immediately. Steps elsewhere learn of it from the server, with the response to their next heartbeat.
 */
export function stepScope(state: { run: Pick<RunState, 'id'> | null }, which: StoppedSteps): CancellationScope {
  const scope = new CancellationScope();
  scope.cancelRequested.catch(() => longhaul.stopSteps(state.run?.id ?? '', which));
  return scope;
}
