import { askedWith, mostApprovers, namesPeople } from '../core/ask-policy';
import { callById, isCarriedOut } from '../core/calls';
import type { RunState } from '../core/state';
import type { AskPolicy } from '../core/tool';
import { requestApproval } from './ask-people';
import { callOf, refuseCall } from './finish-call';
import { hasHook, runHook } from './hooks';
import type { ThreadContext } from './thread-context';

/** Asks for approval of these calls, by default of all calls of the last answer: hooks first, then people. */
export async function askForApprovals(thread: ThreadContext, run: RunState, ids = run.calls.map(({ id }) => id)): Promise<void> {
  if (!hasHook(thread, 'approve:tool') && !run.calls.some(({ verdict }) => 'approval' in verdict)) return;
  const mustAsk = (id: string) => {
    const { phase, verdict, approved, again } = callById(run, id);
    return phase === 'ready' && !approved && !again && isCarriedOut(verdict) ? verdict : undefined;
  };
  for (const id of ids) {
    const own = mustAsk(id)?.approval;
    if (!mustAsk(id)) continue;
    const answer = await runHook(thread, 'approve:tool', { call: callOf(thread, id), ...(own && { ask: own }) }, id);
    // Someone may have refused another call meanwhile and so ended the run.
    if (callById(run, id).phase !== 'ready') continue;
    if (answer?.approved === false) {
      const { reason = 'a hook refused it', stop } = answer;
      refuseCall(thread, id, { reason, source: 'hook', ...(stop && { stop: true }) });
    } else if (answer?.approved === true) {
      const { reason } = answer;
      thread.record('agent.approval.decided', { toolCallId: id, approved: true, ...(reason && { reason }), source: 'hook' });
    } else if (answer?.ask ?? own) {
      askPeople(thread, id, own, answer?.ask);
    }
  }
}

/** Asks people about a call, by the policy of its tool (`own`), of hooks, or both combined. Refuses the call if the two can't be combined. */
function askPeople(thread: ThreadContext, id: string, own: AskPolicy | undefined, hooks: AskPolicy | undefined): void {
  const policy = policyOf(thread, id, own, hooks);
  const { approvers = 1 } = policy;
  const most = thread.state.facts?.judgesDecisions ? mostApprovers(policy) : Number.POSITIVE_INFINITY;
  if (approvers <= most) return requestApproval(thread, id, policy);
  refuseCall(thread, id, { reason: `a hook wants ${approvers} people to agree, and its tool names ${most}`, source: 'hook' });
}

function policyOf({ state }: ThreadContext, id: string, own: AskPolicy | undefined, hooks: AskPolicy | undefined): AskPolicy {
  if (!state.facts?.judgesDecisions) return { ...(own?.remember && { remember: own.remember }), ...(hooks ?? own) };
  const policy = hooks ? askedWith(own, hooks) : { ...own };
  // The tool's `remember` rules were made for the model's arguments, and a tool without a policy of its own has none. Calls that named
  // people must approve are never remembered: those people are asked each time.
  const isAsOffered = own !== undefined && callById(state.run, id).editedArguments === undefined;
  return !namesPeople(policy) && (isAsOffered || hooks?.remember) ? policy : { ...policy, remember: [] };
}
