import type { DecisionRequest, SendRequest, SubmitRequest } from './requests';
import { activeRun, type CallState, type ThreadState } from './state';
import type { DeadlineAction } from './tool';
import { askPolicyOf } from './views';

/**
 * A deadline counts from its moment on, by the thread's own clock, also where no worker was up then: the thread can't know when a signal was
 * sent, so what it takes in at or after the deadline is late. One thing holds all the same, a refusal: nothing that a person said no to is
 * run because the deadline said yes.
 */

/** What the policy says for the deadline that is next. Fails closed: where nothing more is said, the answer is no. */
export function actionAt(actions: readonly DeadlineAction[], passed: number): DeadlineAction {
  return actions[passed] ?? (actions.at(-1) === 'ask-again' ? 'ask-again' : 'deny');
}

/** Why a decision comes too late, or undefined. */
export function lateDecision(state: ThreadState, { toolCallId, approved = true }: DecisionRequest, now: number): string | undefined {
  return approved ? late(state, 'approve', toolCallId, now) : undefined;
}

/** Why outputs or an answer come too late, or undefined. */
export function lateOutputs(state: ThreadState, { outputs }: SubmitRequest, now: number): string | undefined {
  return outputs.map(({ toolCallId }) => late(state, 'submitToolOutputs', toolCallId, now)).find((reason) => reason !== undefined);
}

/** Why a reply comes too late, or undefined. A message that does not say what it replies to is never late. */
export function lateReply(state: ThreadState, { correlationId }: SendRequest, now: number): string | undefined {
  const suspension = activeRun(state)?.suspension;
  if (correlationId === undefined || suspension?.correlationId !== correlationId || now < suspension.expiresAt) return undefined;
  return `sendMessage: a reply to "${correlationId}" was waited for until ${iso(suspension.expiresAt)}; the run ends as expired`;
}

function late(state: ThreadState, request: string, id: string, now: number): string | undefined {
  const call = activeRun(state)?.calls.find((one) => one.id === id);
  if (call?.ask?.dueAt === undefined || now < call.ask.dueAt || isAskedAgain(call)) return undefined;
  return `${request}: the deadline of "${id}" (${call.name}) passed at ${iso(call.ask.dueAt)}, before the thread took this in; what was said for the deadline is done`;
}

/** The same people would be asked the same again: what they answered meanwhile is as good. */
function isAskedAgain({ verdict, phase, ask }: CallState): boolean {
  return actionAt(askPolicyOf(verdict, phase)?.onDeadline ?? [], ask?.passed ?? 0) === 'ask-again';
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
