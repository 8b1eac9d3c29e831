import { ApplicationFailure, currentUpdateInfo, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { type Receipt, type RequestName, signals, updates } from '../contract/requests';
import { decodeFailureOf } from '../contract/undecodable';
import { checkDepth } from '../core/check-input';
import { lateDecision, lateOutputs, lateReply } from '../core/deadlines';
import type { Extra } from '../core/evolve';
import { excerpt } from '../core/json';
import { type FollowedRequest, followedBefore, identify, type RequestMark } from '../core/request-ids';
import {
  type CancelRequest,
  type Checked,
  type CloseRequest,
  checkCancel,
  checkClose,
  checkCompact,
  checkDecision,
  checkPause,
  checkResume,
  checkSend,
  checkSubmit,
  type DecisionRequest,
  type PauseRequest,
  type SendRequest,
  type SubmitRequest,
} from '../core/requests';
import { activeRun, type ThreadState } from '../core/state';
import { messageOfThrown } from '../core/thrown';
import { acceptDecision, acceptOutputs } from './ask-people';
import { grow, requestEvents } from './growth';
import { answerQueries } from './queries';
import { newId } from './record';
import { cancelRun } from './status';
import { refuseQueue } from './take-in';
import type { Thread } from './thread';

/**
 * Everything that may be asked of a thread. A signal can't be refused, so its handler never throws: what can't be followed becomes a
 * bounded event. An update is refused before it enters history, with the reason.
 */
export function handleRequests(thread: Thread): void {
  const { state } = thread;
  const inTime =
    <T>(
      check: (state: ThreadState, payload: unknown) => Checked<T>,
      late: (state: ThreadState, request: T, now: number) => string | undefined,
    ) =>
    (payload: unknown): Checked<T> => {
      const checked = check(state, payload);
      const reason = checked.ok ? late(state, checked.request, Date.now()) : undefined;
      return reason === undefined ? checked : { ok: false, reason };
    };
  const takes: Record<RequestName, Take> = {
    cancel: request<CancelRequest>(thread, 'cancel', (payload) => checkCancel(state, payload), cancelRun),
    sendMessage: request<SendRequest>(thread, 'sendMessage', inTime(checkSend, lateReply), acceptMessage),
    submitToolOutputs: request<SubmitRequest>(thread, 'submitToolOutputs', inTime(checkSubmit, lateOutputs), acceptOutputs),
    approve: request<DecisionRequest>(thread, 'approve', inTime(checkDecision, lateDecision), acceptDecision),
    pause: request<PauseRequest>(thread, 'pause', (payload) => checkPause(state, payload), acceptPause),
    resume: request<PauseRequest>(thread, 'resume', (payload) => checkResume(state, payload), acceptResume),
    compact: request<PauseRequest>(thread, 'compact', (payload) => checkCompact(state, payload), acceptCompact),
    close: request<CloseRequest>(thread, 'close', (payload) => checkClose(state, payload), acceptClose),
  };
  // First, and for all names: what came before the thread began is handed over in the order in which it came, not name by name.
  setDefaultSignalHandler((name, payload) => {
    if (Object.hasOwn(takes, name)) return takes[name as RequestName].signal(payload);
    grow(thread.growth, requestEvents, payload);
    const reason = `there is no signal "${excerpt(name, 100)}"; known are ${Object.keys(signals).join(', ')}`;
    thread.record('agent.request.rejected', { request: excerpt(name, 100), reason });
  });
  for (const [name, { signal, update, validator }] of Object.entries(takes) as [RequestName, Take][]) {
    setHandler(signals[name], signal, { description: descriptions[name] });
    setHandler(updates[name], update, { description: descriptions[name], validator });
  }
  answerQueries(thread);
}

/** What takes one request, in either form. */
interface Take {
  signal(payload?: unknown): Promise<void>;
  update(payload?: unknown): Promise<Receipt>;
  validator(payload?: unknown): void;
}

/** `accept` records the event that follows the request with `extra`, by which a repetition is known; a text that it returns is a warning. */
function request<T>(
  thread: Thread,
  name: RequestName,
  check: (payload: unknown) => Checked<T>,
  accept: (thread: Thread, request: T, extra: Extra) => unknown,
): Take {
  const { state } = thread;
  const understand = (payload: unknown): { again: Receipt } | { request: T; mark?: RequestMark } => {
    const undecodable = decodeFailureOf(payload);
    if (undecodable) refuse(`${name}: the payload can't be read: ${undecodable}`);
    const tooDeep = checkDepth(`${name}: the payload`, payload);
    if (tooDeep) refuse(tooDeep);
    const { content, mark } = given(identify(name, payload, currentUpdateInfo()?.id));
    // Asked again, it is answered as before, whatever has become of the thread since.
    const before = mark && given(followedBefore(state, mark));
    if (before) return { again: receipt(before) };
    // Of a message the id is its own, too.
    const request = given(check(name === 'sendMessage' ? payload : content));
    return { request, ...(mark && { mark }) };
  };
  const take = async (payload: unknown): Promise<Receipt> => {
    const understood = understand(payload);
    if ('again' in understood) return understood.again;
    const { request, mark } = understood;
    const followed = () => mark && given(followedBefore(state, mark));
    let done: unknown;
    try {
      done = await accept(thread, request, mark ? { request: mark } : {});
    } catch (error) {
      // The same request came twice, and the other was followed while this one was looked at.
      const other = followed();
      if (other) return receipt(other);
      throw error;
    }
    return { ...receipt(followed() ?? { seq: state.nextSeq - 1 }), ...(typeof done === 'string' && { warning: done }) };
  };
  return {
    async signal(payload) {
      grow(thread.growth, requestEvents, payload);
      try {
        await take(payload);
      } catch (error) {
        const reason = excerpt(messageOfThrown(error), 1_000);
        thread.record('agent.request.rejected', { request: name, reason });
      }
    },
    update(payload) {
      grow(thread.growth, requestEvents, payload);
      return take(payload);
    },
    validator: (payload) => void understand(payload),
  };
}

function given<T>(checked: Checked<T>): T {
  return checked.ok ? checked.request : refuse(checked.reason);
}

function refuse(reason: string): never {
  throw ApplicationFailure.nonRetryable(reason, 'InvalidRequest');
}

function receipt({ seq, id }: Pick<FollowedRequest, 'seq' | 'id'>): Receipt {
  return { accepted: true, seq, ...(id && { id }) };
}

const descriptions: Record<RequestName, string> = {
  cancel: 'Ends the run. {"reason":"…","by":"…"}, both optional.',
  sendMessage:
    'Says something to the agent: at its next turn, or as the next run of a conversation. {"input":"…","delivery":"next-turn|now|after-run"}',
  submitToolOutputs: 'Answers calls that wait for their output. {"outputs":[{"toolCallId":"…","output":…}]}',
  approve: 'Decides a call that waits for an approval. {"toolCallId":"…","approved":true,"by":"…","reason":"…"}',
  pause: 'Nothing new begins until it is resumed. {"reason":"…","by":"…"}, both optional.',
  resume: 'Goes on after a pause.',
  compact: 'Shortens the transcript.',
  close: 'Ends a conversation once its run is over; {"cancel":true} ends the run too.',
};

function acceptMessage(
  thread: Thread,
  { input, id = newId('msg'), delivery, correlationId: _, ...overrides }: SendRequest,
  extra: Extra,
): void {
  const message = { id, role: 'user' as const, content: input };
  const more = { ...extra, ...(Object.keys(overrides).length > 0 && { overrides }) };
  thread.record('thread.message.queued', { message, ...(delivery && { delivery }) }, more);
  if (delivery === 'now' && thread.asking) thread.modelCalls?.cancel();
}

function acceptPause({ record }: Thread, { reason = 'Manual pause', by }: PauseRequest, extra: Extra): void {
  record('agent.run.paused', { reason, ...(by && { by }) }, extra);
}

function acceptResume({ record }: Thread, words: PauseRequest, extra: Extra): void {
  record('agent.run.resumed', words, extra);
}

function acceptCompact(thread: Thread, words: PauseRequest, extra: Extra): void {
  thread.record('agent.request.accepted', { request: 'compact', ...words }, extra);
  thread.compact = true;
}

function acceptClose(thread: Thread, { cancel, reason, by }: CloseRequest, extra: Extra): void {
  if (cancel) cancelRun(thread, { ...(reason && { reason }), ...(by && { by }) });
  if (!thread.state.closed) thread.record('thread.closed', { reason: 'requested' }, extra);
  // A one-shot thread whose run has not begun yet ends with it, as any: cancelled.
  if (cancel && (thread.state.mode === 'conversation' || activeRun(thread.state))) {
    refuseQueue(thread, 'the thread was closed before it took the message in');
  }
}
