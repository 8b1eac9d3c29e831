import { bounds } from './bounds';
import { checkInput, checkWords, show } from './check-input';
import { type Checked, no, refused, yes } from './checked';
import { bytesOf } from './context/carry';
import type { Delivery, Settlement } from './event';
import { isObject, type JsonObject } from './json';
import type { Content } from './message';
import type { AnswerAction } from './questions';
import { type Refusal, refusal } from './refusal';
import { activeRun, isOver, type Overrides, type ThreadState } from './state';
import { checkOverrides } from './thread-input';
import type { ToolOutput } from './tool';

/** The requests of a thread. Each is both a signal and an update. */
export interface CancelRequest {
  reason?: string | undefined;
  by?: string | undefined;
  /** Cancels only this run. Refused if another run or no run is active. */
  runId?: string | undefined;
}
export interface SendRequest extends Pick<Overrides, 'model' | 'settings' | 'limits' | 'tools'> {
  input: Content;
  /** The caller's id for the message. A message sent twice with the same id is taken in once. */
  id?: string | undefined;
  /** Default `next-turn`. */
  delivery?: Delivery | undefined;
  /** The correlation id of the suspension that this replies to. */
  correlationId?: string | undefined;
}
export interface SubmitRequest {
  outputs: ToolOutput[];
  by?: string | undefined;
  groups?: string[] | undefined;
  /** The signature of `by` over `statementOf`. Required if the thread takes signed answers only. */
  signature?: string | undefined;
}
export interface DecisionRequest {
  /** The id of the call, or of the limit that a person is asked about. */
  toolCallId: string;
  /** Default true. */
  approved?: boolean | undefined;
  by?: string | undefined;
  /** The groups of the decider. The sender is responsible for them, because the thread can't check them (unless decisions are signed). */
  groups?: string[] | undefined;
  reason?: string | undefined;
  /** Replaces the model's arguments; checked against the tool before it takes effect. */
  arguments?: Record<string, unknown> | undefined;
  /** Calls like this one need no approval from now on, in this thread or in all threads of the agent. */
  remember?: 'thread' | 'agent' | undefined;
  /** With a refusal: also ends the run. */
  stop?: boolean | undefined;
  /** For a limit: by how much to raise it. Default: the current limit. */
  more?: number | undefined;
  /** The digest of the call, from `pending`. The decision is refused if the waiting call has another digest. */
  expect?: string | undefined;
  /** The signature of `by` over `statementOf`. Required if the thread takes signed decisions only. */
  signature?: string | undefined;
}
/** Answers the question of a call's tool. */
export interface AnswerRequest {
  toolCallId: string;
  /** The question's id, from `pending`. The answer is refused if the call asks something else. */
  questionId?: string | undefined;
  /** Default `accept`. */
  action?: AnswerAction | undefined;
  /** With `accept`: the fields of the form. Checked against the question's schema. */
  content?: JsonObject | undefined;
  by?: string | undefined;
  groups?: string[] | undefined;
  /** The signature of `by` over `statementOf`. Required if the thread takes signed answers only. */
  signature?: string | undefined;
}
/** Settles a call whose outcome is unknown. */
export interface SettleRequest {
  toolCallId: string;
  /** `done`: it was carried out. `not-done`: it was not, and runs again. `failed`: it was not, or only in part, and does not run again. */
  outcome: Settlement;
  /** With `done`: what the tool would have returned. */
  output?: unknown | undefined;
  /** With `failed`: what the model is told. Otherwise for the log. */
  reason?: string | undefined;
  /** What was shown: `digest@since` of the waiting call, or `since` alone if it has no digest. If something else waits, it is not settled. */
  expect?: string | undefined;
  by?: string | undefined;
  groups?: string[] | undefined;
  /** The signature of `by` over `statementOf`. Required if the thread takes signed decisions only. */
  signature?: string | undefined;
}
export interface PauseRequest {
  reason?: string | undefined;
  by?: string | undefined;
}
export interface CloseRequest {
  /** Also cancels the active run. */
  cancel?: boolean | undefined;
  reason?: string | undefined;
  by?: string | undefined;
}

export function checkCancel(state: ThreadState, payload: unknown): Checked<CancelRequest> {
  const fields = wordsIn('cancel', payload, ['reason', 'by', 'runId']);
  if (!fields.ok) return fields;
  const { runId } = fields.request;
  if (runId && activeRun(state)?.id !== runId) {
    return no(
      `cancel: run "${runId}" is not going on in thread "${state.threadId}"${state.run ? `; run "${state.run.id}" is ${state.run.status}` : ''}`,
      'no-run',
    );
  }
  if (state.run && !activeRun(state) && state.queue.length === 0) {
    return no(`there is no run to cancel: run ${state.run.id} of thread "${state.threadId}" is ${state.run.status}`, 'no-run');
  }
  return fields;
}

export function checkPause(state: ThreadState, payload: unknown): Checked<PauseRequest> {
  const fields = wordsIn('pause', payload, ['reason', 'by']);
  if (!fields.ok) return fields;
  if (state.paused) return no(`pause: thread "${state.threadId}" is paused already: ${state.paused.reason}`, 'already-paused');
  return isAtEnd(state) ? no(`pause: thread "${state.threadId}" has ended`, 'thread-closed') : fields;
}

export function checkResume(state: ThreadState, payload: unknown): Checked<PauseRequest> {
  const fields = wordsIn('resume', payload, ['reason', 'by']);
  return !fields.ok || state.paused ? fields : no(`resume: thread "${state.threadId}" is not paused`, 'not-paused');
}

export function checkClose(state: ThreadState, payload: unknown): Checked<CloseRequest> {
  const cancel = isObject(payload) ? payload.cancel : undefined;
  if (cancel !== undefined && typeof cancel !== 'boolean') return no(`close: \`cancel\` must be true or false; it is ${show(cancel)}`);
  const fields = wordsIn('close', isObject(payload) ? { ...payload, cancel: undefined } : payload, ['reason', 'by']);
  if (!fields.ok) return fields;
  if (state.mode === 'one-shot' && !cancel)
    return no('close: a one-shot thread ends with its run; use cancel to end it now', 'one-shot-thread');
  if (state.closed || isAtEnd(state)) return no(`close: thread "${state.threadId}" is closed already`, 'already-closed');
  return yes({ ...fields.request, ...(cancel && { cancel }) });
}

export function checkCompact(state: ThreadState, payload: unknown): Checked<PauseRequest> {
  const fields = wordsIn('compact', payload, ['by', 'reason']);
  if (!fields.ok) return fields;
  return state.closed || isAtEnd(state) ? no(`compact: thread "${state.threadId}" has ended`, 'thread-closed') : fields;
}

/** Reads a payload that is nothing, a reason, or an object with text fields. */
function wordsIn(name: string, payload: unknown, known: readonly string[]): Checked<Record<string, string>> {
  if (payload !== undefined && payload !== null && typeof payload !== 'string' && !isObject(payload)) {
    return no(`${name} takes nothing, a reason, or { ${known.join(', ')} }; it was given ${show(payload)}`);
  }
  const fields: Record<string, unknown> = typeof payload === 'string' ? { reason: payload } : (payload ?? {});
  const unknown = Object.keys(fields).find((key) => !known.includes(key) && fields[key] !== undefined);
  if (unknown !== undefined) return no(`${name}: ${unknown} is not known; known are ${known.join(', ')}`);
  const wrong = checkWords(fields);
  if (wrong) return no(`${name}: ${wrong}`);
  return yes(Object.fromEntries(Object.entries(fields).filter(([, value]) => value)) as Record<string, string>);
}

function isAtEnd(state: ThreadState): boolean {
  return state.mode === 'one-shot' && state.run !== null && isOver(state.run);
}

export function checkSend(state: ThreadState, payload: unknown): Checked<SendRequest> {
  const request = typeof payload === 'string' || Array.isArray(payload) ? { input: payload } : payload;
  if (!isObject(request)) return no(`sendMessage takes a text, a list of parts, or { input, id }; it was given ${show(payload)}`);
  const { input, id, delivery = 'next-turn', correlationId, model, settings, limits, tools } = request;
  const wrong = checkInput(input) ?? checkOverrides({ model, settings, limits, tools });
  if (wrong) return no(wrong);
  if (id !== undefined && (typeof id !== 'string' || !/^(?!msg_)[\w.:-]{1,128}$/.test(id))) {
    return no(
      `sendMessage: \`id\` must be 1 to 128 letters, digits or . _ : - and not begin with msg_, which is reserved for generated ids; it is ${show(id)}`,
    );
  }
  if (!deliveries.includes(delivery as Delivery)) {
    return no(`sendMessage: \`delivery\` must be one of ${deliveries.map((d) => `"${d}"`).join(', ')}; it is ${show(delivery)}`);
  }
  if (correlationId !== undefined && (typeof correlationId !== 'string' || correlationId.length > bounds.correlationIdChars)) {
    return no(
      `sendMessage: \`correlationId\` must be a string of at most ${bounds.correlationIdChars} characters; it is ${show(correlationId)}`,
    );
  }
  const overrides = withoutUndefined({ model, settings, limits, tools }) as Overrides;
  const notTaken = whyNotTaken(state, input as Content, delivery as Delivery, correlationId, overrides);
  if (notTaken) return refused(notTaken);
  return yes({
    input: input as Content,
    ...(id ? { id: id as string } : {}),
    ...(delivery === 'next-turn' ? {} : { delivery: delivery as Delivery }),
    ...(correlationId ? { correlationId } : {}),
    ...overrides,
  });
}

const deliveries: readonly Delivery[] = ['next-turn', 'now', 'after-run'];

function whyNotTaken(
  state: ThreadState,
  input: Content,
  delivery: Delivery,
  correlationId: string | undefined,
  overrides: Overrides,
): Refusal | undefined {
  const { threadId, queue } = state;
  if (state.closed || isAtEnd(state)) {
    return refusal(
      `thread "${threadId}" is closed to new messages; start a new thread, or reopen it once its run has ended, if it is a conversation`,
      'thread-closed',
    );
  }
  if (delivery === 'after-run' && state.mode === 'one-shot') {
    return refusal(
      `sendMessage: thread "${threadId}" ends with its run, so no message can follow it; start a conversation, or leave out \`delivery: "after-run"\``,
      'one-shot-thread',
    );
  }
  if (Object.keys(overrides).length > 0 && activeRun(state) && delivery !== 'after-run') {
    return refusal(
      `sendMessage: ${Object.keys(overrides).join(', ')} apply only to a run that the message begins, and a run is active; send it with delivery "after-run"`,
      'run-going-on',
    );
  }
  const waitsFor = activeRun(state)?.suspension?.correlationId;
  if (correlationId !== undefined && correlationId !== waitsFor) {
    return refusal(
      `sendMessage: no reply to "${correlationId}" is waited for in thread "${threadId}"${waitsFor ? `; one to "${waitsFor}" is` : ''}`,
      'not-waiting',
    );
  }
  const later = delivery === 'after-run' && activeRun(state) ? queue.filter((message) => message.delivery === 'after-run') : undefined;
  if (later && bytesOfQueue(later) + bytesOf(input) > bounds.queueAfterRunBytes) {
    return refusal(
      `messages that wait in thread "${threadId}" for the end of the run may have ${bounds.queueAfterRunBytes} bytes together; send it after the run`,
      'queue-full',
    );
  }
  if (queue.length > 0 && bytesOfQueue(queue) + bytesOf(input) > bounds.queueBytes) {
    return refusal(
      `messages of ${bytesOfQueue(queue)} bytes already wait in thread "${threadId}"; wait for the run to take them in`,
      'queue-full',
    );
  }
  return queue.length >= bounds.queue
    ? refusal(`${bounds.queue} messages already wait in thread "${threadId}"; wait for the run to take them in`, 'queue-full')
    : undefined;
}

/** Size of the queue. Each message is measured only once, because thousands of requests may arrive while the queue is the same. */
function bytesOfQueue(queue: ThreadState['queue']): number {
  return queue.reduce((sum, message) => {
    const bytes = measured.get(message) ?? bytesOf(message);
    measured.set(message, bytes);
    return sum + bytes + 1;
  }, 1);
}

const measured = new WeakMap<object, number>();

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
