import type { Extra } from '../core/evolve';
import type { CancelRequest } from '../core/requests';
import { activeRun } from '../core/state';
import type { ThreadContext } from './thread-context';

/** Cancels the active run, or the next one if none is active. A second cancel only records that it was accepted. */
export function cancelRun(thread: ThreadContext, { reason, by }: CancelRequest, extra: Extra = {}): void {
  const words = { ...(reason && { reason }), ...(by && { by }) };
  const accept = () => extra.request && thread.record('agent.request.accepted', { request: 'cancel', ...words }, extra);
  if (thread.cancelled) return void accept();
  thread.cancelled = words;
  // The pause belongs to the cancelled run and must not delay the next one.
  if (thread.state.paused) thread.record('agent.run.resumed', { ...(by && { by }), reason: 'cancelled' });
  if (activeRun(thread.state)) changeStatus(thread, 'cancelling', reason, extra);
  else accept();
  thread.scope.cancel();
}

export function changeStatus(
  { state, record }: ThreadContext,
  status: 'queued' | 'in_progress' | 'requires_action' | 'suspended' | 'cancelling',
  details?: string,
  extra: Extra = {},
): void {
  record('agent.run.status.changed', { status, previousStatus: state.run?.status ?? null, ...(details && { details }) }, extra);
}
