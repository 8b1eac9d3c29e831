import { ApplicationFailure, proxyActivities, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import { queries, type Receipt, type RequestName, signals, updates } from '../contract/requests';
import { decodeFailureOf } from '../contract/undecodable';
import type { DurableEventData } from '../core/event';
import { excerpt, isObject } from '../core/json';
import {
  type CancelRequest,
  type Checked,
  checkCancel,
  checkDecision,
  checkSend,
  checkSubmit,
  type DecisionRequest,
  type SendRequest,
  type SubmitRequest,
  show,
} from '../core/requests';
import { activeRun, stepIdOf, transcriptRef } from '../core/state';
import { toContent } from '../core/tool';
import { eventPage, messagePage, pendingCalls, threadStatus } from '../core/views';
import { checkArgumentsOptions } from './activity-options';
import { newId } from './record';
import type { Thread } from './thread';

const { checkArguments } = proxyActivities<Activities>(checkArgumentsOptions);

/**
 * Everything that may be asked of a thread. A signal can't be refused, so its handler never throws: what can't be followed becomes a
 * bounded event. An update is refused before it enters history, with the reason.
 */
export function handleRequests(thread: Thread): void {
  const { state } = thread;
  request<CancelRequest>(thread, 'cancel', (payload) => checkCancel(state, payload), acceptCancel);
  request<SendRequest>(thread, 'sendMessage', (payload) => checkSend(state, payload), acceptMessage);
  request<SubmitRequest>(thread, 'submitToolOutputs', (payload) => checkSubmit(state, payload), acceptOutputs);
  request<DecisionRequest>(thread, 'approve', (payload) => checkDecision(state, payload), acceptDecision);
  request<null>(thread, 'close', () => checkClose(thread), acceptClose);
  setDefaultSignalHandler((name) => {
    const reason = `there is no signal "${excerpt(name, 100)}"; known are ${Object.keys(signals).join(', ')}`;
    thread.record('agent.request.rejected', { request: excerpt(name, 100), reason });
  });
  answerQueries(thread);
}

function request<T>(
  thread: Thread,
  name: RequestName,
  check: (payload: unknown) => Checked<T>,
  accept: (thread: Thread, request: T) => void | Promise<void>,
): void {
  const understand = (payload: unknown): T => {
    const undecodable = decodeFailureOf(payload);
    const checked: Checked<T> = undecodable ? { ok: false, reason: `${name}: the payload can't be read: ${undecodable}` } : check(payload);
    if (!checked.ok) throw ApplicationFailure.nonRetryable(checked.reason, 'InvalidRequest');
    return checked.request;
  };
  setHandler(
    signals[name],
    async (payload?: unknown) => {
      try {
        await accept(thread, understand(payload));
      } catch (error) {
        const reason = excerpt(error instanceof Error ? error.message : String(error), 1_000);
        thread.record('agent.request.rejected', { request: name, reason });
      }
    },
    { description: descriptions[name] },
  );
  setHandler(
    updates[name],
    async (payload?: unknown): Promise<Receipt> => {
      await accept(thread, understand(payload));
      return { accepted: true, seq: thread.state.nextSeq - 1 };
    },
    { description: descriptions[name], validator: (payload?: unknown) => void understand(payload) },
  );
}

const descriptions: Record<RequestName, string> = {
  cancel: 'Ends the run. {"reason":"…","by":"…"}, both optional.',
  sendMessage: 'Says something to the agent: at its next turn, or as the next run of a conversation. {"input":"…"}',
  submitToolOutputs: 'Answers calls that wait for their output. {"outputs":[{"toolCallId":"…","output":…}]}',
  approve: 'Decides a call that waits for an approval. {"toolCallId":"…","approved":true,"by":"…","reason":"…"}',
  close: 'Ends a conversation once its run is over.',
};

function acceptCancel(thread: Thread, asked: CancelRequest): void {
  if (thread.cancelled) return;
  thread.cancelled = asked;
  const run = activeRun(thread.state);
  if (run) changeStatus(thread, 'cancelling', asked.reason);
  thread.scope.cancel();
}

function acceptMessage(thread: Thread, { input, id }: SendRequest): void {
  const { state, record } = thread;
  if (id && [...state.queue, ...state.messages].some((m) => m.id === id)) return;
  record('thread.message.queued', { message: { id: id ?? newId('msg'), role: 'user', content: input } });
}

/** A run that rested for this goes on; where more is waited for it will say so again. */
function goOn(thread: Thread, details: string): void {
  if (thread.state.run?.status === 'requires_action') changeStatus(thread, 'in_progress', details);
}

function acceptOutputs(thread: Thread, { outputs }: SubmitRequest): void {
  goOn(thread, 'Continuing run with tool results.');
  for (const { toolCallId, output, isError = false } of outputs) {
    const content = toContent(output);
    finishCall(thread, toolCallId, { status: isError ? 'failed' : 'success', output: content });
  }
}

async function acceptDecision(thread: Thread, asked: DecisionRequest): Promise<void> {
  const { state, record } = thread;
  const { toolCallId, approved = true, by, reason, arguments: edited } = asked;
  const words = { ...(by && { by }), ...(reason && { reason }) };
  if (!approved) {
    record('agent.approval.decided', { toolCallId, approved, ...words });
    goOn(thread, 'Continuing run.');
    const output = `Error: the call was refused${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}. Do not call it again with the same arguments.`;
    return finishCall(thread, toolCallId, {
      status: 'denied',
      output,
      error: { name: 'ApprovalDeniedError', message: reason ?? 'refused' },
    });
  }
  const editedArguments = edited && JSON.stringify(edited);
  if (editedArguments !== undefined) {
    const name = state.run?.calls.find((call) => call.id === toolCallId)?.name ?? '';
    const { error } = await checkArguments({ agent: state.agent, call: { id: toolCallId, name, arguments: editedArguments } });
    if (error)
      throw ApplicationFailure.nonRetryable(
        `approve: the edited arguments do not fit ${name}: ${error.message}; the call still waits`,
        'InvalidRequest',
      );
    // Someone else may have decided, or the run may have ended, while the arguments were checked.
    const still = checkDecision(state, asked);
    if (!still.ok) throw ApplicationFailure.nonRetryable(still.reason, 'InvalidRequest');
  }
  record('agent.approval.decided', { toolCallId, approved, ...words, ...(editedArguments && { editedArguments }) });
  goOn(thread, 'Continuing run.');
}

function checkClose({ state }: Thread): Checked<null> {
  if (state.mode === 'one-shot') return { ok: false, reason: 'close: a one-shot thread ends with its run; use cancel to end it now' };
  return state.closed ? { ok: false, reason: `close: thread "${state.threadId}" is closed already` } : { ok: true, request: null };
}

function acceptClose({ record }: Thread): void {
  record('thread.closed', { reason: 'requested' });
}

/** Records what came of a call of the current turn. */
export function finishCall(
  { state, record }: Thread,
  id: string,
  outcome: Pick<DurableEventData['agent.tool.execution.completed'], 'status' | 'output' | 'error' | 'durationMs' | 'attempts'> & {
    messageId?: string;
  },
): void {
  const run = state.run;
  const call = run?.calls.find((c) => c.id === id);
  if (!run || !call || call.phase === 'done') return;
  record('agent.tool.execution.completed', {
    stepId: stepIdOf(run),
    toolCallId: id,
    name: call.name,
    isError: outcome.status !== 'success',
    ...outcome,
    messageId: outcome.messageId ?? newId('msg'),
  });
}

export function changeStatus({ state, record }: Thread, status: 'in_progress' | 'requires_action' | 'cancelling', details?: string): void {
  record('agent.run.status.changed', { status, previousStatus: state.run?.status ?? null, ...(details && { details }) });
}

function answerQueries({ state }: Thread): void {
  setHandler(queries.events, (payload) => {
    const asked = readQuery('events', payload, ['from', 'limit']);
    const from = count(asked.from, 'from', 1);
    const first = state.log[0]?.seq ?? state.nextSeq;
    const page = eventPage(state, from, count(asked.limit, 'limit', 1_000));
    return from < first && state.previousExecution ? { ...page, earlier: { execution: state.previousExecution, before: first } } : page;
  });
  setHandler(queries.status, () => ({
    threadId: state.threadId,
    agent: state.agent,
    model: state.overrides.model ?? state.facts?.model ?? null,
    mode: state.mode,
    status: threadStatus(state),
    runId: state.run?.id ?? null,
    turn: state.run?.turn ?? 0,
    messages: state.messages.length,
    queued: state.queue.length,
    pending: pendingCalls(state),
    seq: state.nextSeq - 1,
    facts: state.facts,
  }));
  setHandler(queries.messages, (payload) => messagePage(state.messages, count(readQuery('messages', payload, ['from']).from, 'from', 0)));
  setHandler(queries.pending, () => pendingCalls(state));
  setHandler(queries.usage, () => ({
    thread: state.usage,
    run: state.run?.usage ?? null,
    runs: state.run?.number ?? 0,
    turns: state.run?.turn ?? 0,
  }));
  setHandler(queries.transcript, (payload) => {
    const asked = readQuery('transcript', payload, ['epoch', 'from', 'length']);
    const [epoch = 0, from = 0, length = 0] = ['epoch', 'from', 'length'].map((name) => count(asked[name] ?? 'missing', name, 0));
    const { epoch: now, length: have } = transcriptRef(state);
    if (epoch !== now || length > have) return { stale: true };
    return { messages: messagePage(state.messages.slice(0, length), from).messages };
  });
}

/** The fields of a query's argument. Throws where it is none, or has others. */
function readQuery(name: string, payload: unknown, known: string[]): Record<string, unknown> {
  if (payload === undefined || payload === null) return {};
  const undecodable = decodeFailureOf(payload);
  const unknown = isObject(payload) ? Object.keys(payload).find((key) => !known.includes(key)) : undefined;
  const wrong = undecodable ?? (!isObject(payload) ? `it was given ${show(payload)}` : unknown && `${unknown} is not known`);
  if (wrong) throw ApplicationFailure.nonRetryable(`${name} takes { ${known.join(', ')} }: ${wrong}`, 'InvalidRequest');
  return payload as Record<string, unknown>;
}

function count(value: unknown, name: string, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw ApplicationFailure.nonRetryable(
      `${name} must be a whole number, 0 or more; it is ${excerpt(JSON.stringify(value) ?? '', 60)}`,
      'InvalidRequest',
    );
  }
  return value as number;
}
