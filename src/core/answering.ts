import { findCall } from './calls';
import { show } from './check-input';
import { type Checked, no, refused, yes } from './checked';
import { checkDecider, notEntitled, notWaitingFor, of, type Verified } from './decisions';
import { isObject, type JsonObject } from './json';
import { type AnswerAction, answerActions, problemOfContent, problemOfSize } from './questions';
import { type Refusal, refusal } from './refusal';
import type { AnswerRequest } from './requests';
import { activeRun, type CallState, type ThreadState } from './state';

/** Checks an `answerQuestion` request. `verified`: as for `checkSubmit`. */
export function checkAnswer(state: ThreadState, payload: unknown, verified?: Verified): Checked<AnswerRequest> {
  if (!isObject(payload) || typeof payload.toolCallId !== 'string') {
    return no(`answerQuestion takes { toolCallId, action?, content?, questionId?, by? }; it was given ${show(payload)}`);
  }
  const { toolCallId, questionId, action = 'accept', content } = payload;
  if (!answerActions.includes(action as AnswerAction)) {
    return no(`answerQuestion: \`action\` must be ${answerActions.map((one) => `"${one}"`).join(', ')}; it is ${show(action)}`);
  }
  if (content !== undefined && !isObject(content)) return no(`answerQuestion: \`content\` must be an object; it is ${show(content)}`);
  if (content !== undefined && action !== 'accept') return no('answerQuestion: `content` belongs to the action "accept"');
  if (questionId !== undefined && typeof questionId !== 'string') {
    return no(`answerQuestion: \`questionId\` must be a string; it is ${show(questionId)}`);
  }
  if (state.facts?.signedDecisions && questionId === undefined) {
    return no('answerQuestion: a signed answer must name its question; send `questionId`');
  }
  const who = checkDecider(state, 'answerQuestion', payload, verified);
  if (!who.ok) return who;
  const wrong = notWaitingFor(state, toolCallId, 'awaiting-answer') ?? notEntitled(state, toolCallId, who.request, verified);
  if (wrong) return refused(of('answerQuestion', wrong));
  const call = findCall(activeRun(state), toolCallId);
  const unfit = notAsked(call, questionId) ?? (action === 'accept' ? notFitting(call, content as JsonObject | undefined) : undefined);
  if (unfit) return refused(of('answerQuestion', unfit));
  return yes({
    toolCallId,
    action: action as AnswerAction,
    ...(questionId !== undefined && { questionId }),
    ...(content !== undefined && { content: content as JsonObject }),
    ...who.request,
  });
}

function notAsked(call: CallState | undefined, questionId: string | undefined): Refusal | undefined {
  const asked = call?.question?.id;
  if (questionId === undefined || questionId === asked) return undefined;
  const reason = `"${call?.id}" (${call?.name}) asks "${asked}", and the answer is to ${show(questionId)}; look at the question again`;
  return refusal(reason, 'not-as-expected');
}

function notFitting(call: CallState | undefined, content: JsonObject = {}): Refusal | undefined {
  const { schema } = call?.question ?? {};
  if (!schema) {
    return Object.keys(content).length === 0
      ? undefined
      : refusal('this question has no form, so its answer has no `content`; the question still waits');
  }
  const problem = problemOfContent(schema, content) ?? problemOfSize(content, call?.answers ?? []);
  return problem === undefined ? undefined : refusal(`\`content\` does not fit the form: ${problem}; the question still waits`);
}
