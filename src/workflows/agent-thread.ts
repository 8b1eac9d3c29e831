import { ApplicationFailure, allHandlersFinished, CancellationScope, condition, sleep } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import type { ThreadInput, ThreadResult } from '../contract/thread';
import { decodeFailureOf } from '../contract/undecodable';
import { afterAnswer, beforeTurn, type RunEnd, type SendBack } from '../core/decide';
import type { AssistantMessage } from '../core/message';
import { activeRun, type RunState, stepIdOf, type ThreadState } from '../core/state';
import { checkThreadInput } from '../core/thread-input';
import { type Asked, afterModel, askModel, beforeModel, shorten, sumUp } from './ask-model';
import { awaitBackground } from './background';
import { carryOver, checkCarried, shouldCarryOver } from './carry-over';
import { atLimit, gate, heldBack, throwIfCancelled } from './gates';
import { deliverEvents, hasHook, runHook, tellCompactions } from './hooks';
import { newId } from './record';
import { handleRequests } from './requests';
import { resolveRun } from './resolve-run';
import { runCalls } from './run-calls';
import { closeWith, endOf, outputOf, rest, result, waitsAtEnd } from './run-end';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import { stepScope } from './stop-steps';
import { awaitReply, suspend } from './suspend';
import { refuseQueue, say, takeInMessages, takeInResults, waiting } from './take-in';
import { openThread, type Thread } from './thread';

/**
 * The agent loop. It decides nothing on data that replay could not repeat, and it holds four invariants:
 *
 * I1  State changes only in `record`. State is plain JSON, and equals its own JSON after every step.
 * I2  Every tool call the model made is paired with exactly one tool result message, on every path.
 * I3  The log is the truth: `seq` has no gaps, across runs, retries and continue-as-new; each run has exactly one terminal event, its last.
 * I4  Nothing grows without bound: a turn's bytes in history are constant, and between turns and at rest the thread continues as new once
 *     this execution has written so much (growth.ts).
 */
export async function agentThread(input: ThreadInput, carried?: ThreadState): Promise<ThreadResult> {
  // Checked where the thread begins, never again: what a later release refuses must not end a thread that an earlier one took.
  const wrong = carried === undefined ? (decodeFailureOf(input) ?? checkThreadInput(input)) : checkCarried(carried);
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
  }
  await deliverEvents(thread);
  await condition(allHandlersFinished);
  return result(thread.state);
}

const defaultIdleMs = 30 * 24 * 3_600_000;

/** Waits, at no cost, for something to do. Whoever waits for a message in a conversation gives up after the idle timeout. */
async function nextInput(thread: Thread): Promise<'run' | 'closed' | 'carry-over'> {
  const { state, record, input } = thread;
  const toRun = () => activeRun(state) !== undefined || state.queue.length > 0 || thread.compact === true;
  const something = () => toRun() || state.closed || shouldCarryOver(thread, 'idle');
  const idleMs = input.idleTimeoutMs ?? defaultIdleMs;
  try {
    throwIfCancelled();
    const arrived =
      idleMs === 0
        ? await condition(something).then(() => true)
        : something() || (await condition(something, idleMs, { summary: 'waits for the next message' }));
    if (!arrived) record('thread.closed', { reason: 'idle' });
  } catch (error) {
    refuseQueue(thread, 'the thread was cancelled before it took the message in');
    record('thread.closed', { reason: 'cancelled' });
    throw error;
  }
  if (toRun()) return 'run';
  return state.closed ? 'closed' : 'carry-over';
}

/** One input, to its rest. Whatever happens, the run ends with one terminal event and a transcript in which every call has its result. */
async function runToRest(thread: Thread): Promise<RunEnd | 'carry-over'> {
  thread.scope = stepScope(thread.state, 'all');
  delete thread.modelCalls;
  thread.alarms = 0;
  thread.eager = true;
  // Asked for before there was a run to cancel: then the next one is meant, and begins cancelled.
  if (thread.cancelled) thread.scope.cancel();
  const end = await thread.scope.run(() => takeTurns(thread)).catch((error: unknown) => endOf(thread, error));
  if (end === 'carry-over') return end;
  // Shielded from a cancel only where there is something to wait for: a scope is dear.
  return waitsAtEnd(thread) ? CancellationScope.nonCancellable(() => rest(thread, end)) : rest(thread, end);
}

async function takeTurns(thread: Thread): Promise<RunEnd | 'carry-over'> {
  const { state } = thread;
  const run = activeRun(state) ?? (await beginRun(thread));
  if (thread.compact && run.opening.length === 0) return compactOnly(thread);
  for (;;) {
    const calling = run.calls.some((call) => call.phase !== 'done');
    if (!calling && shouldCarryOver(thread, 'between turns')) return 'carry-over';
    // Where an earlier execution left the run at rest, what it rests for; else the calls of the last answer; else a turn.
    const end = await (run.status === 'suspended' ? awaitReply(thread) : calling ? followCalls(thread) : takeTurn(thread));
    // A cancel that was accepted while the last step ended in good order still is one.
    throwIfCancelled();
    if (end) return end !== 'carry-over' && end.type === 'incomplete' && end.summarize ? sumUp(thread, end) : end;
  }
}

async function beginRun(thread: Thread): Promise<RunState> {
  const { state } = thread;
  const run = await resolveRun(thread);
  publishStatus(state, 'begins');
  const told = hasHook(thread, 'before:execution') ? await runHook(thread, 'before:execution', { messages: waiting(state) }) : undefined;
  for (const content of told?.messages ?? []) say(thread, content, { origin: 'hook' });
  return run;
}

/** One model call. Returns how the run ends, where it does; the calls of the answer are followed next. */
async function takeTurn(thread: Thread): Promise<RunEnd | 'carry-over' | undefined> {
  const { state, record } = thread;
  const run = state.run as RunState;
  if (hasHook(thread, 'on:event')) await deliverEvents(thread);
  if ((state.paused || hasHook(thread, 'pause:check')) && (await gate(thread)) === 'carry-over') return 'carry-over';
  const limit = beforeTurn(state, Date.now());
  if (limit || run.limitAsk) return atLimit(thread, limit);

  record('agent.run.step.created', { stepId: `${run.id}-turn-${run.turn + 1}`, turn: run.turn + 1 });
  const stepId = stepIdOf(run);
  takeInResults(thread, stepId);
  takeInMessages(thread, waiting(state), stepId);
  if (thread.compact) shorten(thread, 'requested');
  if (hasHook(thread, 'on:compaction')) await tellCompactions(thread);
  const wishes = hasHook(thread, 'before:llm') ? await beforeModel(thread) : {};
  if (state.paused) await heldBack(thread);
  changeStatus(thread, 'in_progress', `LLM call for turn ${run.turn}`);

  const shell: AssistantMessage = { id: newId('msg'), role: 'assistant', content: '', toolCalls: [], attempt: 1 };
  record('thread.message.created', { stepId, message: shell, inProgress: true });
  const asked = await askModel(thread, shell.id, wishes);
  if (asked === 'superseded') return undefined;

  const told = hasHook(thread, 'after:llm') ? await afterModel(thread, asked, shell.id) : undefined;
  const next = takeAnswer(thread, asked, shell, told?.text ?? asked.step.text);
  if (!next) return undefined;
  return next.type === 'send-back' ? sendBack(thread, next) : next.type === 'completed' ? accept(thread) : next;
}

/** The answer joins the transcript, `text` being its words as the hooks let them pass. Returns what it means for the run. */
function takeAnswer(
  { state, record }: Thread,
  { step, model }: Asked,
  shell: AssistantMessage,
  text: string,
): RunEnd | SendBack | undefined {
  const stepId = stepIdOf(state.run as RunState);
  const { refusal, calls, finishReason, usage, opaque, attempt, token, failed, durationMs, costUsd, problems, wasted } = step;
  const toolCalls = calls.map(({ call }) => call);
  // Not before the hooks: calls of an answer that one blocks would never have an outcome.
  for (const call of toolCalls) {
    record('thread.run.step.tool_call.created', { stepId, toolCall: { id: call.id, name: call.name } });
    record('thread.run.step.tool_call.completed_by_llm', { stepId, toolCall: call });
  }
  const message: AssistantMessage = {
    ...shell,
    content: text,
    toolCalls,
    ...(refusal && { refusal }),
    ...(opaque && { opaque }),
    attempt,
    ...(token && { token }),
    ...(text !== step.text && { revised: true }),
  };
  record(
    'thread.message.completed',
    {
      stepId,
      message,
      finishReason,
      usage,
      model,
      durationMs,
      ...(costUsd !== undefined && { costUsd }),
      ...(failed && { attempts: failed }),
      ...(wasted && { wasted }),
      ...(problems && { problems }),
    },
    { verdicts: calls.map(({ verdict }) => verdict) },
  );
  return afterAnswer(state, { finishReason, calls: calls.length, text: refusal || text, ...(problems && { problems }) });
}

/** The calls of the last answer, to their outcomes, and what they mean for the run. */
async function followCalls(thread: Thread): Promise<RunEnd | 'carry-over' | undefined> {
  const run = thread.state.run as RunState;
  const end = await runCalls(thread);
  if (end) return end;
  if (run.stopped)
    return {
      type: 'cancelled',
      reason: `stopped by a refusal: ${run.stopped.reason}`,
      stopped: true,
      ...(run.stopped.by && { by: run.stopped.by }),
    };
  if (run.finalMessage !== undefined) return accept(thread);
  return run.suspendAsked ? suspend(thread, run.suspendAsked) : undefined;
}

/** The answer is not the end yet: the model is told why. */
async function sendBack(thread: Thread, { prompt, count, waitMs }: SendBack): Promise<undefined> {
  if (waitMs) await sleep(waitMs);
  say(thread, prompt, { origin: 'engine', sentBack: count });
}

/** The model says it is done. What was said meanwhile is answered, not lost with the run, and so is what still goes on behind it. */
async function accept(thread: Thread): Promise<RunEnd | undefined> {
  const { state } = thread;
  if (state.background.length > 0) await awaitBackground(thread);
  if (waiting(state).length > 0) return undefined;
  const { sentBack } = state.run as RunState;
  if (hasHook(thread, 'check:completion') && sentBack.completion < (state.facts?.completionChecks ?? 1)) {
    const told = await runHook(thread, 'check:completion', { output: outputOf(state) });
    if (told?.prompt) return void say(thread, told.prompt, { origin: 'hook', sentBack: 'completion' });
  }
  return waiting(state).length > 0 ? undefined : { type: 'completed' };
}

/** A run that only shortens the transcript: no message, no model call. */
function compactOnly(thread: Thread): RunEnd {
  shorten(thread, 'requested');
  return { type: 'completed', output: 'Compaction run completed.' };
}
