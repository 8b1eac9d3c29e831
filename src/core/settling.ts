import { bounds } from './bounds';
import { findCall, isCarriedOut, whyTooMuch } from './calls';
import { checkWords, show } from './check-input';
import { type Checked, no, refused, yes } from './checked';
import { bytesOf } from './context/carry';
import { checkDecider, notEntitled, notWaitingFor, of, type Verified } from './decisions';
import { type PendingCall, type Settlement, settlements } from './event';
import { isObject } from './json';
import { refusal } from './refusal';
import type { SettleRequest } from './requests';
import { activeRun, type ThreadState } from './state';
import { toContent } from './tool';
import { checkedCall } from './views';

/** Checks a `settle` request. `verified`: as for `checkSubmit`. */
export function checkSettle(state: ThreadState, payload: unknown, verified?: Verified): Checked<SettleRequest> {
  if (!isObject(payload) || typeof payload.toolCallId !== 'string') {
    return no(`settle takes { toolCallId, outcome, output?, reason?, by?, expect? }; it was given ${show(payload)}`);
  }
  const { toolCallId, outcome, output, reason, expect } = payload;
  if (!settlements.includes(outcome as Settlement)) {
    return no(`settle: \`outcome\` must be ${settlements.map((one) => `"${one}"`).join(', ')}; it is ${show(outcome)}`);
  }
  const who = checkDecider(state, 'settle', payload, verified);
  if (!who.ok) return who;
  const words = checkWords({ reason });
  if (words) return no(`settle: ${words}`);
  if (outcome === 'done' ? output === undefined : output !== undefined) {
    return no('settle: `output` is what the tool would have returned; it belongs to the outcome "done", and to no other');
  }
  if (outcome === 'failed' && !reason) return no('settle: the outcome "failed" needs a `reason`, which the model is told');
  if (bytesOf(toContent(output)) > bounds.messageBytes) {
    return no(`settle: the output is larger than ${bounds.messageBytes} bytes; store it elsewhere and give a reference`);
  }
  const tooMuch = whyTooMuch(state.run, bytesOf(toContent(output)));
  if (tooMuch) return no(`settle: ${tooMuch}`);
  const wrong =
    notWaitingFor(state, toolCallId, 'unsettled') ??
    notEntitled(state, toolCallId, who.request, verified) ??
    (outcome === 'not-done' ? notAlone(state, toolCallId) : undefined) ??
    notExpected(state, toolCallId, expect);
  if (wrong) return refused(of('settle', wrong));
  return yes({
    toolCallId,
    outcome: outcome as Settlement,
    ...(output !== undefined && { output }),
    ...(reason ? { reason: reason as string } : {}),
    ...(expect !== undefined && { expect: expect as string }),
    ...who.request,
  });
}

/**
 * Identifies what people are shown of an unknown outcome: the call with its arguments, and since when its outcome is unknown. A call that runs again and
 * is lost again is another one. A call without a digest is identified by the time alone: with its id, that is unique in the thread.
 */
export function outcomeMark({ digest, since }: Pick<PendingCall, 'digest' | 'since'>): string {
  return [digest, since].filter(Boolean).join('@');
}

/** Returns a refusal if the waiting outcome is not the one that the person was shown (`expect`). */
function notExpected(state: ThreadState, id: string, expect: unknown) {
  if (expect === undefined) return undefined;
  if (typeof expect !== 'string') return refusal(`\`expect\` must be a string; it is ${show(expect)}`);
  const call = findCall(activeRun(state), id);
  const { digest } = call ? checkedCall(call) : {};
  const mark = outcomeMark({ ...(digest && { digest }), ...(call?.ask && { since: new Date(call.ask.since).toISOString() }) });
  if (expect === mark) return undefined;
  const words = `what waits as "${id}" (${call?.name}) is ${mark}, and ${show(expect)} was expected; look at it again before you settle it`;
  return refusal(words, 'not-as-expected');
}

/** Returns a refusal if one person can't let a call run again, because several had to approve it. */
function notAlone(state: ThreadState, id: string) {
  const call = findCall(activeRun(state), id);
  const { approvers = 1 } = (call && isCarriedOut(call.verdict) && call.verdict.approval) || {};
  if (approvers < 2) return undefined;
  const reason = `"${id}" (${call?.name}) needs ${approvers} people to agree each time it runs; settle it as "failed", and the model can call it again`;
  return refusal(reason, 'not-entitled');
}
