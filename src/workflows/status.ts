import type { CancelRequest } from '../core/requests';
import { activeRun } from '../core/state';
import type { Thread } from './thread';

/** Ends the run under way, or the next one where none is. Asked twice, it is done once. */
export function cancelRun(thread: Thread, { reason, by }: CancelRequest): void {
  if (thread.cancelled) return;
  thread.cancelled = { ...(reason && { reason }), ...(by && { by }) };
  // A pause is of the run that is cancelled; left there, it would hold up the next.
  if (thread.state.paused) thread.record('agent.run.resumed', { ...(by && { by }), reason: 'cancelled' });
  if (activeRun(thread.state)) changeStatus(thread, 'cancelling', reason);
  thread.scope.cancel();
}

export function changeStatus(
  { state, record }: Thread,
  status: 'in_progress' | 'requires_action' | 'suspended' | 'cancelling',
  details?: string,
): void {
  record('agent.run.status.changed', { status, previousStatus: state.run?.status ?? null, ...(details && { details }) });
}
