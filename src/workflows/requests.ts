import { ApplicationFailure, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { type Receipt, type RequestName, signals, updates } from '../contract/requests';
import { decodeFailureOf } from '../contract/undecodable';
import { excerpt } from '../core/json';
import { receiptOf } from '../core/receipts';
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
import { activeRun } from '../core/state';
import { acceptDecision, acceptOutputs } from './ask-people';
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
  const takes: Record<RequestName, Take> = {
    cancel: request<CancelRequest>(thread, 'cancel', (payload) => checkCancel(state, payload), cancelRun),
    sendMessage: request<SendRequest>(thread, 'sendMessage', (payload) => checkSend(state, payload), acceptMessage),
    submitToolOutputs: request<SubmitRequest>(thread, 'submitToolOutputs', (payload) => checkSubmit(state, payload), acceptOutputs),
    approve: request<DecisionRequest>(thread, 'approve', (payload) => checkDecision(state, payload), acceptDecision),
    pause: request<PauseRequest>(thread, 'pause', (payload) => checkPause(state, payload), acceptPause),
    resume: request<PauseRequest>(thread, 'resume', (payload) => checkResume(state, payload), acceptResume),
    compact: request<object>(thread, 'compact', (payload) => checkCompact(state, payload), acceptCompact),
    close: request<CloseRequest>(thread, 'close', (payload) => checkClose(state, payload), acceptClose),
  };
  // First, and for all names: what came before the thread began is handed over in the order in which it came, not name by name.
  setDefaultSignalHandler((name, payload) => {
    if (Object.hasOwn(takes, name)) return takes[name as RequestName].signal(payload);
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

function request<T>(
  thread: Thread,
  name: RequestName,
  check: (payload: unknown) => Checked<T>,
  accept: (thread: Thread, request: T) => void | string | Promise<void>,
): Take {
  const understand = (payload: unknown): T => {
    const undecodable = decodeFailureOf(payload);
    const checked: Checked<T> = undecodable ? { ok: false, reason: `${name}: the payload can't be read: ${undecodable}` } : check(payload);
    if (!checked.ok) throw ApplicationFailure.nonRetryable(checked.reason, 'InvalidRequest');
    return checked.request;
  };
  return {
    async signal(payload) {
      try {
        await accept(thread, understand(payload));
      } catch (error) {
        const reason = excerpt(error instanceof Error ? error.message : String(error), 1_000);
        thread.record('agent.request.rejected', { request: name, reason });
      }
    },
    async update(payload) {
      const id = await accept(thread, understand(payload));
      return { accepted: true, seq: thread.state.nextSeq - 1, ...(id && { id }) };
    },
    validator: (payload) => void understand(payload),
  };
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

function acceptMessage(thread: Thread, { input, id = newId('msg'), delivery, correlationId: _, ...overrides }: SendRequest): string {
  const { state, record } = thread;
  if (receiptOf(state, id)) return id;
  const message = { id, role: 'user' as const, content: input };
  record('thread.message.queued', { message, ...(delivery && { delivery }) }, Object.keys(overrides).length > 0 ? { overrides } : {});
  if (delivery === 'now' && thread.asking) thread.modelCalls?.cancel();
  return id;
}

function acceptPause({ record }: Thread, { reason = 'Manual pause', by }: PauseRequest): void {
  record('agent.run.paused', { reason, ...(by && { by }) });
}

function acceptResume({ record }: Thread, words: PauseRequest): void {
  record('agent.run.resumed', words);
}

function acceptCompact(thread: Thread): void {
  thread.compact = true;
}

function acceptClose(thread: Thread, { cancel, reason, by }: CloseRequest): void {
  if (cancel) cancelRun(thread, { ...(reason && { reason }), ...(by && { by }) });
  if (!thread.state.closed) thread.record('thread.closed', { reason: 'requested' });
  // A one-shot thread whose run has not begun yet ends with it, as any: cancelled.
  if (cancel && (thread.state.mode === 'conversation' || activeRun(thread.state))) {
    refuseQueue(thread, 'the thread was closed before it took the message in');
  }
}
