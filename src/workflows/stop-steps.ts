import { CancellationScope, proxySinks } from '@temporalio/workflow';
import type { StoppedSteps, ThreadSinks } from '../contract/sinks';
import type { ThreadState } from '../core/state';

const { longhaul } = proxySinks<ThreadSinks>();

/**
 * A scope for steps of the run, whose cancel reaches those in this process at once. Whatever cancels it: a request, a message that can't
 * wait, Temporal's own cancel. The server tells the others, with the answer to their next heartbeat.
 */
export function stepScope(state: ThreadState, which: StoppedSteps): CancellationScope {
  const scope = new CancellationScope();
  scope.cancelRequested.catch(() => longhaul.stopSteps(state.run?.id ?? '', which));
  return scope;
}
