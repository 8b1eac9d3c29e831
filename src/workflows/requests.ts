import { currentUpdateInfo, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { type Receipt, type RequestName, signals, updates } from '../contract/requests';
import { decodeFailureOf } from '../contract/undecodable';
import { checkAnswer } from '../core/answering';
import { checkExtent } from '../core/check-input';
import { type Checked, refused } from '../core/checked';
import { lateAnswer, lateDecision, lateOutputs, lateReply } from '../core/deadlines';
import { checkDecision, checkSubmit } from '../core/decisions';
import type { Extra } from '../core/evolve';
import { excerpt } from '../core/json';
import type { Refusal } from '../core/refusal';
import { type FollowedRequest, followedBefore, identify, type RequestMark, sameAs } from '../core/request-ids';
import {
  type AnswerRequest,
  type CancelRequest,
  type CloseRequest,
  checkCancel,
  checkClose,
  checkCompact,
  checkPause,
  checkResume,
  checkSend,
  type DecisionRequest,
  type PauseRequest,
  type SendRequest,
  type SettleRequest,
  type SubmitRequest,
} from '../core/requests';
import { checkSettle } from '../core/settling';
import { activeRun, type ThreadState } from '../core/state';
import { acceptAnswer, acceptDecision, acceptOutputs } from './ask-people';
import { countUpdate, fitsTask } from './bounded-tasks';
import { grow, requestEvents } from './growth';
import { mustHaveRoom, needsCheck } from './one-of-few';
import { answerQueries } from './queries';
import { newId } from './record';
import { failureOf, refusalOf, refuse } from './refuse';
import { acceptSettlement } from './settle';
import { cancelRun } from './status';
import { refuseQueue } from './take-in';
import type { ThreadContext } from './thread-context';

/**
 * Registers the handlers of all requests. A signal can't be rejected, so its handler never throws: an invalid signal becomes an event of bounded
 * size. An invalid update is rejected with the reason before it enters history.
 */
export function handleRequests(thread: ThreadContext): void {
  const { state } = thread;
  const inTime =
    <T>(
      check: (state: ThreadState, payload: unknown) => Checked<T>,
      late: (state: ThreadState, request: T, now: number) => Refusal | undefined,
    ) =>
    (payload: unknown): Checked<T> => {
      const checked = check(state, payload);
      const found = checked.ok ? late(state, checked.request, Date.now()) : undefined;
      return found ? refused(found) : checked;
    };
  const takes: Record<RequestName, Take> = {
    cancel: request<CancelRequest>(thread, 'cancel', (payload) => checkCancel(state, payload), cancelRun),
    sendMessage: request<SendRequest>(thread, 'sendMessage', inTime(checkSend, lateReply), acceptMessage),
    submitToolOutputs: request<SubmitRequest>(thread, 'submitToolOutputs', inTime(checkSubmit, lateOutputs), acceptOutputs),
    approve: request<DecisionRequest>(thread, 'approve', inTime(checkDecision, lateDecision), acceptDecision),
    answerQuestion: request<AnswerRequest>(thread, 'answerQuestion', inTime(checkAnswer, lateAnswer), acceptAnswer),
    settle: request<SettleRequest>(thread, 'settle', (payload) => checkSettle(state, payload), acceptSettlement),
    pause: request<PauseRequest>(thread, 'pause', (payload) => checkPause(state, payload), acceptPause),
    resume: request<PauseRequest>(thread, 'resume', (payload) => checkResume(state, payload), acceptResume),
    compact: request<PauseRequest>(thread, 'compact', (payload) => checkCompact(state, payload), acceptCompact),
    close: request<CloseRequest>(thread, 'close', (payload) => checkClose(state, payload), acceptClose),
  };
  // Set before the named handlers, so that signals that arrived before the thread began are handled in order of arrival, not by name.
  setDefaultSignalHandler((name, payload) => {
    if (Object.hasOwn(takes, name)) return takes[name as RequestName].signal(payload);
    grow(thread.growth, requestEvents, payload);
    const reason = `there is no signal "${excerpt(name, 100)}"; known are ${Object.keys(signals).join(', ')}`;
    thread.record('agent.request.rejected', { request: excerpt(name, 100), code: 'unknown-request', reason });
  });
  for (const [name, { signal, update, validator }] of Object.entries(takes) as [RequestName, Take][]) {
    setHandler(signals[name], signal, { description: descriptions[name] });
    setHandler(updates[name], update, { description: descriptions[name], validator });
  }
  answerQueries(thread);
}

/** The handlers of one request, as a signal and as an update. */
interface Take {
  signal(payload?: unknown): Promise<void>;
  update(payload?: unknown): Promise<Receipt>;
  validator(payload?: unknown): void;
}

/** `accept` records the request's event with `extra`, which identifies a repeated request. A string that it returns is a warning. */
function request<T>(
  thread: ThreadContext,
  name: RequestName,
  check: (payload: unknown) => Checked<T>,
  accept: (thread: ThreadContext, request: T, extra: Extra) => unknown,
): Take {
  const { state, accepted } = thread;
  const understand = (payload: unknown): { again: Receipt } | { request: T; mark?: RequestMark } => {
    const undecodable = decodeFailureOf(payload);
    if (undecodable) refuse(`${name}: the payload can't be read: ${undecodable}`);
    const tooLarge = checkExtent(`${name}: the payload`, payload);
    if (tooLarge) refuse(tooLarge);
    const { content, mark } = given(identify(name, payload, currentUpdateInfo()?.id));
    // A repeated request gets the same answer as before, even if the thread has changed since.
    const before = mark && given(followedBefore(state, mark));
    if (before) return { again: receipt(before) };
    // The id of a message request is also the id of the message.
    const request = given(check(name === 'sendMessage' ? payload : content));
    if (mark) given(sameAs(thread.underWay.get(mark.key), mark));
    if (needsCheck(thread, name, request)) mustHaveRoom(thread, name);
    return { request, ...(mark && { mark }) };
  };
  const take = async (payload: unknown): Promise<Receipt> => {
    const understood = understand(payload);
    if ('again' in understood) return understood.again;
    const { request, mark } = understood;
    const followed = () => mark && given(followedBefore(state, mark));
    let done: unknown;
    try {
      if (mark) thread.underWay.set(mark.key, mark);
      done = await accept(thread, request, mark ? { request: mark } : {});
    } catch (error) {
      // The same request arrived twice, and the other one was accepted while this one was being checked.
      const other = followed();
      if (other) return receipt(other);
      throw error;
    } finally {
      if (mark) thread.underWay.delete(mark.key);
    }
    return { ...receipt(followed() ?? { seq: state.nextSeq - 1 }), ...(typeof done === 'string' && { warning: done }) };
  };
  return {
    async signal(payload) {
      grow(thread.growth, requestEvents, payload);
      try {
        await take(payload);
      } catch (error) {
        const { code, reason } = refusalOf(error);
        thread.record('agent.request.rejected', { request: name, code, reason: excerpt(reason, 1_000) });
      }
    },
    update(payload) {
      grow(thread.growth, requestEvents, payload);
      countUpdate(accepted, payload);
      return take(payload);
    },
    validator(payload) {
      understand(payload);
      if (!fitsTask(accepted, payload)) refuse(`${name}: several large requests arrived at the same time; send it again`, 'busy');
    },
  };
}

function given<T>(checked: Checked<T>): T {
  if (!checked.ok) throw failureOf(checked);
  return checked.request;
}

function receipt({ seq, id }: Pick<FollowedRequest, 'seq' | 'id'>): Receipt {
  return { accepted: true, seq, ...(id && { id }) };
}

const descriptions: Record<RequestName, string> = {
  cancel: 'Ends the run. {"reason":"…","by":"…"}, both optional.',
  sendMessage:
    'Sends a message to the agent, for its next turn or as the next run of a conversation. {"input":"…","delivery":"next-turn|now|after-run"}',
  submitToolOutputs: 'Answers calls that wait for their output. {"outputs":[{"toolCallId":"…","output":…}]}',
  approve: 'Decides a call that waits for an approval. {"toolCallId":"…","approved":true,"by":"…","reason":"…"}',
  answerQuestion: 'Answers the question of a call. {"toolCallId":"…","action":"accept|decline|cancel","content":{…}}',
  settle: 'Settles a call whose outcome is unknown. {"toolCallId":"…","outcome":"done|not-done|failed","output":…,"reason":"…","by":"…"}',
  pause: 'No model call and no tool call begins until the thread is resumed. {"reason":"…","by":"…"}, both optional.',
  resume: 'Continues after a pause.',
  compact: 'Shortens the transcript.',
  close: 'Ends a conversation once its run is over; {"cancel":true} ends the run too.',
};

function acceptMessage(
  thread: ThreadContext,
  { input, id = newId('msg'), delivery, correlationId: _, ...overrides }: SendRequest,
  extra: Extra,
): void {
  const message = { id, role: 'user' as const, content: input };
  const more = { ...extra, ...(Object.keys(overrides).length > 0 && { overrides }) };
  thread.record('thread.message.queued', { message, ...(delivery && { delivery }) }, more);
  if (delivery === 'now' && thread.asking) thread.modelCalls?.cancel();
}

function acceptPause({ record }: ThreadContext, { reason = 'Manual pause', by }: PauseRequest, extra: Extra): void {
  record('agent.run.paused', { reason, ...(by && { by }) }, extra);
}

function acceptResume({ record }: ThreadContext, words: PauseRequest, extra: Extra): void {
  record('agent.run.resumed', words, extra);
}

function acceptCompact(thread: ThreadContext, words: PauseRequest, extra: Extra): void {
  thread.record('agent.request.accepted', { request: 'compact', ...words }, extra);
}

function acceptClose(thread: ThreadContext, { cancel, reason, by }: CloseRequest, extra: Extra): void {
  if (cancel) cancelRun(thread, { ...(reason && { reason }), ...(by && { by }) });
  if (!thread.state.closed) thread.record('thread.closed', { reason: 'requested' }, extra);
  // A one-shot thread whose run has not begun keeps its message, so that the run begins and ends as cancelled.
  if (cancel && (thread.state.mode === 'conversation' || activeRun(thread.state))) {
    refuseQueue(thread, 'the thread was closed before it took the message in');
  }
}
