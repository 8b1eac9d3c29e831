import { callById, runOf } from '../core/calls';
import type { RunEnd } from '../core/decide';
import type { RunState } from '../core/state';
import { askForApprovals } from './ask-for-approvals';
import { finishCall, skipCalls } from './finish-call';
import { followCalls, mustNotFail } from './follow-calls';
import { limitCalls } from './limit-calls';
import type { ThreadContext } from './thread-context';

/**
 * Runs the calls of the last answer until each has its outcome. Some of them may be done already, if an earlier execution carried them over.
 * Returns how the run ends, if a limit ends it.
 */
export async function runCalls(thread: ThreadContext): Promise<RunEnd | 'carry-over' | undefined> {
  const run = runOf(thread.state);
  rejectCalls(thread, run);
  const end = await limitCalls(thread, run);
  if (end === 'carry-over') return end;
  await askForApprovals(thread, run);
  if ((await followCalls(thread, run)) === 'carry-over') return 'carry-over';
  for (const { id, verdict } of run.calls) {
    if (verdict.kind === 'done') finishCall(thread, id, { status: 'success', output: 'Task complete' });
  }
  return end;
}

/** Records the outcomes of calls that can't run, and of those after a `done` call. */
function rejectCalls(thread: ThreadContext, run: RunState): void {
  const done = run.calls.findIndex(({ verdict }) => verdict.kind === 'done');
  const behind = new Set(done === -1 ? [] : run.calls.slice(done + 1).map(({ id }) => id));
  skipCalls(thread, 'the model called `done` before it', ({ id }) => behind.has(id));
  for (const { id } of run.calls) {
    const { phase, verdict } = callById(run, id);
    if (phase === 'done' || verdict.kind !== 'reject') continue;
    const { error } = verdict;
    const status = error.name === 'PermissionDeniedError' ? 'denied' : 'rejected';
    finishCall(thread, id, { status, output: `Error: ${error.message}`, error });
  }
  mustNotFail(thread, run);
  if (run.stopped) skipCalls(thread, 'a refusal ended the run');
}
