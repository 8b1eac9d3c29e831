import { findCall, isCarriedOut } from '../core/calls';
import { beforeCall, limitWords, type RunEnd } from '../core/decide';
import { excessCalls, type Reached, reached } from '../core/spent';
import { type CallState, inForce, type RunState } from '../core/state';
import { askForApprovals } from './ask-for-approvals';
import { skipCalls } from './finish-call';
import { atLimit } from './gates';
import type { ThreadContext } from './thread-context';

/** Applies the agent's `atLimit` to calls that a limit forbids: skips them, hands them out, or asks. Returns how the run ends, if it does. */
export async function limitCalls(thread: ThreadContext, run: RunState): Promise<RunEnd | 'carry-over' | undefined> {
  const { state } = thread;
  const now = Date.now();
  const spentUp = beforeCall(state, now);
  const noRound = run.roundOf === run.turn ? undefined : reached(state, now, ['toolRounds']);
  // A call that runs again with answers to its questions was counted when it began.
  const open = run.calls.filter(({ phase, verdict, answers }) => phase === 'ready' && isCarriedOut(verdict) && !answers);
  const { excess, at } = excessCalls(state, now, open, noRound ?? spentUp);
  if (!at || excess.length === 0) return run.limitAsk ? atLimit(thread, undefined) : undefined;

  // A limit on cost, tokens or time can't be met by handing calls out: executing them outside uses it up, too.
  if (inForce(state).atLimit === 'hand-out' && at !== spentUp) {
    await handOut(thread, run, excess, at);
    return undefined;
  }
  const end = await atLimit(thread, at);
  if (!end) return limitCalls(thread, run);
  if (end !== 'carry-over') skipCalls(thread, `of a limit: ${limitWords(at).replace(/\.$/, '')}`, ({ id }) => excess.includes(id));
  return end;
}

/** Hands calls out for execution outside the worker. Calls of external tools are not included: their own tool hands them out. */
async function handOut(thread: ThreadContext, run: RunState, excess: readonly string[], at: Reached): Promise<void> {
  const handed = (toolCallIds: string[]) => {
    if (toolCallIds.length > 0) thread.record('agent.limit.handed_out', { ...at, toolCallIds });
  };
  if (!thread.state.facts?.judgesDecisions) return handed([...excess]);
  const ours = () => excess.filter((id) => isOpenHere(findCall(run, id)));
  // Approvals come first: the people who must approve a call are also those who may submit its output.
  await askForApprovals(thread, run, ours());
  handed(ours());
}

function isOpenHere(call: CallState | undefined): boolean {
  return call?.verdict.kind === 'run' && call.phase !== 'done';
}
