import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import { type Activities, failureTypes } from '../contract/activities';
import type { ThreadInput, ThreadResult } from '../contract/thread';
import { decodeFailureOf } from '../contract/undecodable';
import type { AgentFacts } from '../core/agent';
import { bytesOf, fit } from '../core/context/carry';
import { afterAnswer, beforeTurn, type RunEnd } from '../core/decide';
import type { AssistantMessage, UserMessage } from '../core/message';
import { activeRun, type RunState, stepIdOf, type ThreadState } from '../core/state';
import { checkThreadInput } from '../core/thread-input';
import { hashOf } from '../core/transcript';
import { pendingCalls } from '../core/views';
import { requestCancelOptions, resolveAgentOptions } from './activity-options';
import { askModel } from './ask-model';
import { newId, recorder } from './record';
import { changeStatus, handleRequests } from './requests';
import { runCalls, skipCalls } from './run-calls';
import { publishStatus } from './search-attributes';
import { openThread, type Thread } from './thread';

const { resolveAgent } = proxyLocalActivities<Activities>(resolveAgentOptions);
const { requestCancel } = proxyActivities<Activities>(requestCancelOptions);

/**
 * The agent loop. It decides nothing on data that replay could not repeat, and it holds four invariants:
 *
 * I1  State changes only in `record`. State is plain JSON, and equals its own JSON after every step.
 * I2  Every tool call the model made is paired with exactly one tool result message, on every path.
 * I3  The log is the truth: `seq` has no gaps, across runs, retries and continue-as-new; each run has exactly one terminal event, its last.
 * I4  Nothing grows without bound: a turn's bytes in history are constant, and between turns the thread continues as new when the server
 *     suggests it.
 */
export async function agentThread(input: ThreadInput, carried?: ThreadState): Promise<ThreadResult> {
  // Checked where the thread begins, never again: what a later release refuses must not end a thread that an earlier one took.
  const wrong = carried ? undefined : (decodeFailureOf(input) ?? checkThreadInput(input));
  if (wrong) throw ApplicationFailure.nonRetryable(`The thread was not started: ${wrong}`, failureTypes.invalidInput);
  const thread = openThread(input, carried);
  handleRequests(thread);

  for (;;) {
    const arrived = await nextInput(thread);
    if (arrived === 'carry-over') return carryOver(thread);
    if (arrived === 'closed') break;
    const end = await runToRest(thread);
    if (end === 'carry-over') return carryOver(thread);
    if (thread.state.mode === 'one-shot') return closeWith(thread, end);
    delete thread.cancelled;
  }
  await condition(allHandlersFinished);
  return result(thread.state);
}

/** A run ends as `RunEnd` says, or was cancelled. */
type End = RunEnd | { type: 'cancelled'; reason?: string; by?: string };

const defaultIdleMs = 30 * 24 * 3_600_000;

/** Waits, at no cost, for something to do. Whoever waits for a message in a conversation gives up after the idle timeout. */
async function nextInput(thread: Thread): Promise<'run' | 'closed' | 'carry-over'> {
  const { state, record, input } = thread;
  const something = () => activeRun(state) !== undefined || state.queue.length > 0 || state.closed || shouldCarryOver(state, 'idle');
  const idleMs = input.idleTimeoutMs ?? defaultIdleMs;
  try {
    throwIfCancelled();
    const arrived = idleMs === 0 ? await condition(something).then(() => true) : something() || (await condition(something, idleMs));
    if (!arrived) record('thread.closed', { reason: 'idle' });
  } catch (error) {
    refuseQueue(thread);
    record('thread.closed', { reason: 'cancelled' });
    throw error;
  }
  if (activeRun(state) || state.queue.length > 0) return 'run';
  return state.closed ? 'closed' : 'carry-over';
}

/** One input, to its rest. Whatever happens, the run ends with one terminal event and a transcript in which every call has its result. */
async function runToRest(thread: Thread): Promise<End | 'carry-over'> {
  thread.scope = new CancellationScope();
  // Asked for before there was a run to cancel: then the next one is meant, and begins cancelled.
  if (thread.cancelled) thread.scope.cancel();
  const end = await thread.scope.run(() => takeTurns(thread)).catch((error: unknown) => endOf(thread, error));
  if (end === 'carry-over') return end;
  await CancellationScope.nonCancellable(() => rest(thread, end));
  return end;
}

async function takeTurns(thread: Thread): Promise<RunEnd | 'carry-over'> {
  const run = activeRun(thread.state) ?? (await beginRun(thread));
  for (;;) {
    if (shouldCarryOver(thread.state, 'between turns')) {
      await condition(allHandlersFinished);
      return 'carry-over';
    }
    const limit = beforeTurn(thread.state, run);
    if (limit) return limit;
    const end = await takeTurn(thread);
    // A cancel that was accepted while the last step ended in good order still is one.
    throwIfCancelled();
    if (end) return end;
  }
}

function throwIfCancelled(): void {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The run was cancelled');
}

/** One model call and the tool calls of its answer. Returns how the run ends, where it does. */
async function takeTurn(thread: Thread): Promise<RunEnd | undefined> {
  const { state, record } = thread;
  const run = state.run as RunState;
  record('agent.run.step.created', { stepId: `${run.id}-turn-${run.turn + 1}`, turn: run.turn + 1 });
  const stepId = stepIdOf(run);
  takeInResults(thread, stepId);
  takeInMessages(thread, state.queue, stepId);
  changeStatus(thread, 'in_progress', `LLM call for turn ${run.turn}`);

  const shell: AssistantMessage = { id: newId('msg'), role: 'assistant', content: '', toolCalls: [], attempt: 1 };
  record('thread.message.created', { stepId, message: shell, inProgress: true });
  const { step, model } = await askModel(thread, shell.id);

  const { text, refusal, calls, finishReason, usage, opaque, attempt, failed, durationMs } = step;
  for (const { call } of calls) {
    record('thread.run.step.tool_call.created', { stepId, toolCall: { id: call.id, name: call.name } });
    record('thread.run.step.tool_call.completed_by_llm', { stepId, toolCall: call });
  }
  const message: AssistantMessage = {
    ...shell,
    content: text,
    toolCalls: calls.map(({ call }) => call),
    ...(refusal && { refusal }),
    ...(opaque && { opaque }),
    attempt,
  };
  record(
    'thread.message.completed',
    { stepId, message, finishReason, usage, model, durationMs, ...(failed && { attempts: failed }) },
    { verdicts: calls.map(({ verdict }) => verdict) },
  );

  const end = afterAnswer(finishReason, calls.length);
  if (!end) return runCalls(thread);
  // What was said while the model wrote its last words is answered, not lost with the run.
  return end.type === 'completed' && state.queue.length > 0 ? undefined : end;
}

async function beginRun(thread: Thread): Promise<RunState> {
  const { state, record } = thread;
  const runId = newId('run');
  const begin = (facts?: AgentFacts) => {
    record('agent.run.created', { status: 'in_progress', initialMessages: [...state.queue] }, { runId, ...(facts && { facts }) });
    return state.run as RunState;
  };
  try {
    const facts = await resolveAgent({ agent: state.agent });
    const run = begin(facts);
    publishStatus(state);
    return run;
  } catch (error) {
    begin();
    throw error;
  }
}

/** Brings the results of the last answer's calls into the transcript, in the order of the calls. */
function takeInResults({ state, record }: Thread, stepId?: string): void {
  for (const call of state.run?.calls ?? []) {
    if (call.phase !== 'done') continue;
    const { id, name, messageId, outcome } = call;
    const isError = outcome.status !== 'success';
    record('thread.message.created', {
      ...(stepId && { stepId }),
      message: { id: messageId, role: 'tool', toolCallId: id, name, content: outcome.content, isError },
    });
  }
}

function takeInMessages({ record }: Thread, messages: readonly UserMessage[], stepId?: string): void {
  for (const message of [...messages]) record('thread.message.created', { ...(stepId && { stepId }), message });
}

/** Ends the run: nothing is left open in the transcript, and the terminal event is the last. */
async function rest(thread: Thread, end: End): Promise<void> {
  const { state, record } = thread;
  const run = state.run as RunState;
  const waited = pendingCalls(state).length > 0;
  // What the run began with is its own, also where it ended before its first turn: left waiting, it would begin the next run, for ever.
  takeInMessages(
    thread,
    state.queue.filter(({ id }) => run.opening.includes(id)),
  );
  if (state.mode === 'one-shot') refuseQueue(thread);
  skipCalls(thread, end.type === 'cancelled' ? 'the run was cancelled' : 'the run ended before it');
  takeInResults(thread);
  switch (end.type) {
    case 'completed': {
      const last = state.messages.filter((m) => m.role === 'assistant').slice(-1);
      record('thread.run.completed', { finalMessages: last, output: outputOf(state), usage: run.usage, turns: run.turn });
      break;
    }
    case 'failed': {
      const { code, message, details } = end;
      record('thread.run.failed', { code, message, ...(details && { details }) });
      break;
    }
    case 'incomplete':
      record('thread.run.incomplete', { limit: end.limit, max: end.max, message: reasonOf(end) ?? '' });
      break;
    case 'cancelled': {
      const { type: _, ...words } = end;
      record('thread.run.cancelled', words);
      break;
    }
  }
  publishStatus(state, waited ? 'goes on' : undefined);
}

/** A thread that ends takes in no more: whoever was told that a message is accepted is told that it was not read. */
function refuseQueue({ state, record }: Thread): void {
  for (const { id } of state.queue) {
    record('agent.request.rejected', { request: 'sendMessage', reason: `the run ended before it took in message "${id}"` });
  }
}

/** What an error means for its run: a cancel that was asked for, or a failure with the code of its cause. */
function endOf(thread: Thread, error: unknown): End {
  if (isCancellation(error)) return { type: 'cancelled', ...thread.cancelled };
  // A local activity's failure comes as it is, without the wrapper that tells of the activity.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const details = cause.details?.[0] as Extract<RunEnd, { type: 'failed' }>['details'];
    return { type: 'failed', code: cause.type ?? 'error', message: cause.message, ...(details && { details }) };
  }
  if (error instanceof ActivityFailure) {
    const why = error.cause?.message ?? error.message;
    return {
      type: 'failed',
      code: 'worker-lost',
      message: `The step ${error.activityType} could not be carried out: ${why}. Its worker was lost again and again.`,
    };
  }
  // Anything else is a defect of ours or of the platform: the workflow task fails, is retried, and the thread is whole once it is mended.
  throw error;
}

/** A one-shot thread ends with its run, so that the Web UI and `result()` tell how it went. */
async function closeWith(thread: Thread, end: End): Promise<ThreadResult> {
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (end.type === 'failed')
    throw ApplicationFailure.create({ message: end.message, type: end.code, nonRetryable: true, details: [end.details ?? null] });
  if (end.type === 'cancelled') {
    // The server shows Canceled only where its own cancel was asked for, so a thread that was told `cancel` has it asked for. A workflow
    // can't cancel itself by a command. Where even the activity fails, the thread ends as failed, and its log still says cancelled.
    if (thread.cancelled) await CancellationScope.nonCancellable(() => requestCancel()).catch(() => undefined);
    throw new CancelledFailure('The thread was cancelled');
  }
  return result(thread.state, reasonOf(end));
}

function result(state: ThreadState, reason?: string): ThreadResult {
  const { id = '', number = 0, turn = 0 } = state.run ?? {};
  const status = state.run?.status === 'incomplete' ? 'incomplete' : 'completed';
  return { status, output: outputOf(state), runId: id, runs: number, turns: turn, usage: state.usage, ...(reason && { reason }) };
}

function reasonOf(end: End): string | undefined {
  return end.type === 'incomplete'
    ? `The run reached its limit of ${end.max} ${end.limit === 'turns' ? 'turns' : 'tool calls'}.`
    : undefined;
}

function outputOf(state: ThreadState): string {
  const last = state.messages.findLast((m) => m.role === 'assistant');
  return last?.role === 'assistant' ? (last.refusal || last.content).trim() : '';
}

/** Requests that an idle thread takes before it goes on in a new execution for them. */
const idleRecords = 50;

/**
 * Whether the server suggests it and this execution has something behind it: where the server's limit is below what is carried, each
 * execution would otherwise do nothing but begin the next.
 */
function shouldCarryOver(state: ThreadState, when: 'idle' | 'between turns'): boolean {
  if (!workflowInfo().continueAsNewSuggested) return false;
  return when === 'idle' ? state.log.length >= idleRecords : state.log.some(({ type }) => type === 'thread.message.completed');
}

/** Arguments of the next execution are one payload, of which the server takes 2 MiB. */
const carryBytes = 1_600_000;

/** Goes on in a new execution with an empty history (I4). The log of this one stays readable, and whole, under its own run id. */
async function carryOver(thread: Thread): Promise<ThreadResult> {
  const { state, input } = thread;
  await condition(allHandlersFinished);
  // As messages the results of the last turn can be shortened like any other; as outcomes they could not.
  takeInResults(thread);
  const carried: ThreadState = { ...state, log: [], previousExecution: workflowInfo().runId };
  const fitted = fit(carried.messages, Math.max(100_000, carryBytes - bytesOf(carried.queue)), { cut: true });
  if (fitted) {
    const { messages, ...counts } = fitted;
    const transcript = { messages, hash: hashOf(messages) };
    // In the log of the execution that begins with it: readers of this one still find every message.
    recorder(carried)('thread.context.compacted', { reason: 'carry-over', ...counts }, { transcript });
  }
  // The first message is in the carried state already; what the next execution reads of its input are the settings.
  return continueAsNew<typeof agentThread>({ ...input, input: '(carried over)' }, carried);
}
