import type { Extra } from '../core/evolve';
import type { CancelRequest } from '../core/requests';
import { activeRun } from '../core/state';
import type { Thread } from './thread';

/** Ends the run under way, or the next one where none is. Asked twice, it is done once. */
export function cancelRun(thread: Thread, { reason, by }: CancelRequest, extra: Extra = {}): void {
  const words = { ...(reason && { reason }), ...(by && { by }) };
  const accept = () => extra.request && thread.record('agent.request.accepted', { request: 'cancel', ...words }, extra);
  if (thread.cancelled) return void accept();
  thread.cancelled = words;
  // A pause is of the run that is cancelled; left there, it would hold up the next.
  if (thread.state.paused) thread.record('agent.run.resumed', { ...(by && { by }), reason: 'cancelled' });
  if (activeRun(thread.state)) changeStatus(thread, 'cancelling', reason, extra);
  else accept();
  thread.scope.cancel();
}

export function changeStatus(
  { state, record }: Thread,
  status: 'queued' | 'in_progress' | 'requires_action' | 'suspended' | 'cancelling',
  details?: string,
  extra: Extra = {},
): void {
  record('agent.run.status.changed', { status, previousStatus: state.run?.status ?? null, ...(details && { details }) }, extra);
}
