import { findCall } from './calls';
import { type Refusal, refusal } from './refusal';
import type { AnswerRequest, DecisionRequest, SendRequest, SubmitRequest } from './requests';
import { activeRun, type CallState, type ThreadState } from './state';
import type { DeadlineAction } from './tool';
import { askPolicyOf } from './views';

/**
 * Deadlines use the thread's own clock, even if no worker was running when one passed: the thread can't know when a signal was sent, so an
 * answer that it takes in at or after the deadline is late. A late refusal still counts, so that a deadline with `approve` never runs a call
 * that a person has refused.
 */

/** Returns the policy's action for the next deadline. After the last action, the result is `deny`, unless the last one is `ask-again`. */
export function actionAt(actions: readonly DeadlineAction[], passed: number): DeadlineAction {
  return actions[passed] ?? (actions.at(-1) === 'ask-again' ? 'ask-again' : 'deny');
}

/** Returns why a decision is too late, or undefined. A refusal is never too late. */
export function lateDecision(state: ThreadState, { toolCallId, approved = true }: DecisionRequest, now: number): Refusal | undefined {
  return approved ? late(state, 'approve', toolCallId, now) : undefined;
}

/** Returns why outputs or an answer are too late, or undefined. */
export function lateOutputs(state: ThreadState, { outputs }: SubmitRequest, now: number): Refusal | undefined {
  return outputs.map(({ toolCallId }) => late(state, 'submitToolOutputs', toolCallId, now)).find((found) => found !== undefined);
}

/** Returns why an answer to a tool's question is too late, or undefined. */
export function lateAnswer(state: ThreadState, { toolCallId }: AnswerRequest, now: number): Refusal | undefined {
  return late(state, 'answerQuestion', toolCallId, now);
}

/** Returns why a reply is too late, or undefined. A message without a correlation id is never late. */
export function lateReply(state: ThreadState, { correlationId }: SendRequest, now: number): Refusal | undefined {
  const suspension = activeRun(state)?.suspension;
  if (correlationId === undefined || suspension?.correlationId !== correlationId || now < suspension.expiresAt) return undefined;
  const reason = `sendMessage: a reply to "${correlationId}" was waited for until ${iso(suspension.expiresAt)}; the run ends as expired`;
  return refusal(reason, 'deadline-passed');
}

function late(state: ThreadState, request: string, id: string, now: number): Refusal | undefined {
  const call = findCall(activeRun(state), id);
  if (call?.ask?.dueAt === undefined || now < call.ask.dueAt || isAskedAgain(call)) return undefined;
  const reason = `${request}: the deadline of "${id}" (${call.name}) passed at ${iso(call.ask.dueAt)}, before the thread received this; the deadline action of the policy applies`;
  return refusal(reason, 'deadline-passed');
}

/** Whether the next deadline only asks the same people again, so that a late answer still counts. */
function isAskedAgain({ verdict, phase, ask }: CallState): boolean {
  return actionAt(askPolicyOf(verdict, phase)?.onDeadline ?? [], ask?.passed ?? 0) === 'ask-again';
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
