import { ApplicationFailure, allHandlersFinished, CancellationScope, condition, sleep } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import type { ThreadInput, ThreadResult } from '../contract/thread';
import { decodeFailureOf } from '../contract/undecodable';
import { runOf } from '../core/calls';
import { afterAnswer, beforeTurn, type RunEnd, type SendBack } from '../core/decide';
import { type AssistantMessage, compactionIn, textOf, toolCallsOf, withText, wordsOf } from '../core/message';
import { activeRun, type RunState, stepIdOf, waiting } from '../core/state';
import { checkThreadInput } from '../core/thread-input';
import { askModels } from './ask-model';
import { awaitBackground, awaitsBackground, followBackground } from './background';
import type { ModelResult } from './call-model';
import { carryOver, checkCarried, readyToCarryOver, shouldCarryOver } from './carry-over';
import { sumUp } from './closing-words';
import { halveAsRequested, tellCompactions } from './compaction';
import { noProgress } from './finish-call';
import { atLimit, gate, heldBack, throwIfCancelled } from './gates';
import { deliverEvents, hasHook, runHook } from './hooks';
import { compactAsRequested, isShorteningDue, shorten } from './make-room';
import { afterModel, beforeModel } from './model-hooks';
import { takeInCompaction } from './provider-compaction';
import { reopenThread } from './reopen';
import { handleRequests } from './requests';
import { resolveRun } from './resolve-run';
import { runCalls } from './run-calls';
import { closeWith, endOf, endRun, outputOf, result, waitsAtEnd } from './run-end';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import { stepScope } from './stop-steps';
import { awaitReply, suspend } from './suspend';
import { refuseQueue, say, takeInMessages, takeInResults } from './take-in';
import { openThread, type ThreadContext } from './thread-context';

/**
 * The agent loop. It makes decisions only on data that is the same in a replay, and it maintains four invariants:
 *
 * I1  State changes only in `record`, except for `noteDelivered`. State is plain JSON: after every step it equals its own JSON.
 * I2  Every tool call of the model is paired with exactly one tool result message, on every path.
 * I3  The log is the authoritative record: `seq` has no gaps, across runs, retries and continue-as-new; each run has exactly one terminal
 *     event, its last.
 * I4  Nothing grows without bound: the bytes that a turn adds to history do not depend on the length of the conversation, and the thread
 *     continues as new, between turns or while it waits, once this execution has written a set amount (growth.ts).
 */
export async function agentThread(input: ThreadInput, carried?: unknown): Promise<ThreadResult> {
  // Checked only when the thread begins: a later release with stricter checks must not end a thread that an earlier release accepted.
  const wrong = carried === undefined ? (decodeFailureOf(input) ?? checkThreadInput(input)) : checkCarried();
  if (wrong) throw ApplicationFailure.nonRetryable(`The thread was not started: ${wrong}`, failureTypes.invalidInput);
  const thread = carried === undefined && input.reopens ? await reopenThread(input.reopens) : openThread(input, carried);
  handleRequests(thread);
  followBackground(thread);

  for (;;) {
    const arrived = await nextInput(thread);
    if (arrived === 'carry-over') return carryOver(thread);
    if (arrived === 'closed') break;
    const end = await executeRun(thread);
    if (end === 'carry-over') return carryOver(thread);
    if (thread.state.mode === 'one-shot') return closeWith(thread, end);
  }
  await deliverEvents(thread);
  await condition(allHandlersFinished);
  return result(thread.state);
}

const defaultIdleMs = 30 * 24 * 3_600_000;

/** Waits for a message, a request to close, or a reason to carry over. A conversation closes after its idle timeout without a message. */
async function nextInput(thread: ThreadContext): Promise<'run' | 'closed' | 'carry-over'> {
  const { state, record, input } = thread;
  const toRun = () => activeRun(state) !== undefined || state.queue.length > 0 || state.compact !== undefined;
  const something = () => toRun() || state.closed || shouldCarryOver(thread, 'idle');
  const idleMs = input.idleTimeoutMs ?? defaultIdleMs;
  try {
    throwIfCancelled();
    for (;;) {
      const arrived =
        idleMs === 0
          ? await condition(something).then(() => true)
          : something() || (await condition(something, idleMs, { summary: 'waits for the next message' }));
      if (!arrived) record('thread.closed', { reason: 'idle' });
      if (toRun()) return 'run';
      if (state.closed) return 'closed';
      if (await readyToCarryOver(thread, 'idle')) return 'carry-over';
    }
  } catch (error) {
    refuseQueue(thread, 'the thread was cancelled before it took the message in');
    record('thread.closed', { reason: 'cancelled' });
    throw error;
  }
}

/** Runs one input. Whatever happens, a run ends with one terminal event and a transcript in which every call has its result. */
async function executeRun(thread: ThreadContext): Promise<RunEnd | 'carry-over'> {
  thread.scope = stepScope(thread.state, 'all');
  delete thread.modelCalls;
  thread.alarms = 0;
  thread.eager = true;
  // The cancel was requested when no run was active: it applies to the next run, which begins cancelled.
  if (thread.cancelled) thread.scope.cancel();
  const end = await thread.scope.run(() => takeTurns(thread)).catch((error: unknown) => endOf(thread, error));
  if (end === 'carry-over') return end;
  // Shielded from cancellation only if there is something to wait for, because a scope is expensive.
  return waitsAtEnd(thread) ? CancellationScope.nonCancellable(() => endRun(thread, end)) : endRun(thread, end);
}

async function takeTurns(thread: ThreadContext): Promise<RunEnd | 'carry-over'> {
  const { state } = thread;
  const run = activeRun(state) ?? (await beginRun(thread));
  if (state.compact && run.opening.length === 0) return compactOnly(thread);
  for (;;) {
    const calling = run.calls.some((call) => call.phase !== 'done');
    if (!calling && shouldCarryOver(thread, 'between turns') && (await readyToCarryOver(thread, 'between turns'))) return 'carry-over';
    // A run that an earlier execution left suspended waits for its reply; open calls of the last answer come before a new turn.
    const end = await (run.status === 'suspended'
      ? awaitReply(thread)
      : calling
        ? finishCalls(thread)
        : // An earlier execution left it so.
          awaitsBackground(state) && waiting(state).length === 0
          ? accept(thread)
          : takeTurn(thread));
    // A cancel that was accepted while the last step completed normally still applies.
    throwIfCancelled();
    if (end) return end !== 'carry-over' && end.type === 'incomplete' && end.summarize ? sumUp(thread, end) : end;
  }
}

async function beginRun(thread: ThreadContext): Promise<RunState> {
  const { state } = thread;
  const run = await resolveRun(thread);
  publishStatus(state, 'begins');
  const answer = hasHook(thread, 'before:execution') ? await runHook(thread, 'before:execution', { messages: waiting(state) }) : undefined;
  for (const content of answer?.messages ?? []) say(thread, content, { origin: 'hook' });
  return run;
}

/** Makes one model call. Returns how the run ends, if it does. The caller runs the calls of the answer next. */
async function takeTurn(thread: ThreadContext): Promise<RunEnd | 'carry-over' | undefined> {
  const { state, record } = thread;
  const run = runOf(state);
  if (hasHook(thread, 'on:event')) await deliverEvents(thread);
  if ((state.paused || hasHook(thread, 'pause:check')) && (await gate(thread)) === 'carry-over') return 'carry-over';
  const limit = beforeTurn(state, Date.now());
  if (limit || run.limitAsk) return atLimit(thread, limit);
  if (isShorteningDue(thread) && (await shorten(thread))) return undefined;

  record('agent.run.step.created', { stepId: `${run.id}-turn-${run.turn + 1}`, turn: run.turn + 1 });
  const stepId = stepIdOf(run);
  takeInResults(thread, stepId);
  takeInMessages(thread, waiting(state), stepId);
  halveAsRequested(thread);
  if (hasHook(thread, 'on:compaction')) await tellCompactions(thread);
  const wishes = hasHook(thread, 'before:llm') ? await beforeModel(thread) : {};
  if (state.paused) await heldBack(thread);
  changeStatus(thread, 'in_progress', `LLM call for turn ${run.turn}`);

  const answered = await askModels(thread, wishes);
  if (answered === 'superseded') return undefined;

  const { result: answer, draft } = answered;
  const revised = hasHook(thread, 'after:llm') ? await afterModel(thread, answer, draft.id) : undefined;
  const next = takeAnswer(thread, answer, draft, revised?.text);
  if (state.facts?.context?.compaction && compactionIn(answer.step.parts)) await takeInCompaction(thread, draft.id);
  if (!next) return undefined;
  return next.type === 'send-back' ? sendBack(thread, next) : next.type === 'completed' ? accept(thread) : next;
}

/** Adds the answer to the transcript, with the text `revised` if hooks changed it. Returns how the run ends or is sent back, if either. */
function takeAnswer(
  { state, record }: ThreadContext,
  { step, model }: ModelResult,
  draft: AssistantMessage,
  revised: string | undefined,
): RunEnd | SendBack | undefined {
  const stepId = stepIdOf(runOf(state));
  const { parts, verdicts, finishReason, usage, attempt, token, failed, durationMs, costUsd, context, problems, wasted } = step;
  const calls = toolCallsOf(parts);
  const isRevised = revised !== undefined && revised !== textOf(parts);
  const content = isRevised ? withText(parts, revised) : parts;
  // Only after the hooks: if a hook blocked the answer, its calls would never have an outcome.
  for (const call of calls) {
    record('thread.run.step.tool_call.created', { stepId, toolCall: { id: call.id, name: call.name } });
    record('thread.run.step.tool_call.completed_by_llm', { stepId, toolCall: call });
  }
  const message: AssistantMessage = {
    ...draft,
    content,
    model,
    attempt,
    ...(token && { token }),
    ...(isRevised && { revised: true }),
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
      ...(context && { context }),
      ...(failed && { attempts: failed }),
      ...(wasted && { wasted }),
      ...(problems && { problems }),
    },
    { verdicts },
  );
  return afterAnswer(state, { finishReason, calls: calls.length, text: wordsOf(content), ...(problems && { problems }) });
}

/** Runs the calls of the last answer until each has its outcome. Returns how the run ends, if it does. */
async function finishCalls(thread: ThreadContext): Promise<RunEnd | 'carry-over' | undefined> {
  const run = runOf(thread.state);
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
  const open = run.calls.find(({ phase }) => phase !== 'done');
  if (open) throw noProgress(open);
  return run.suspendRequested ? suspend(thread, run.suspendRequested) : undefined;
}

/** Queues a message that tells the model why its answer does not end the run. */
async function sendBack(thread: ThreadContext, { prompt, count, waitMs }: SendBack): Promise<undefined> {
  if (waitMs) await sleep(waitMs);
  say(thread, prompt, { origin: 'engine', sentBack: count });
}

/** Ends the run, because the model is done, unless messages arrived meanwhile or a hook wants more work. Waits for background calls first. */
async function accept(thread: ThreadContext): Promise<RunEnd | 'carry-over' | undefined> {
  const { state } = thread;
  if (state.background.length > 0 && (await awaitBackground(thread)) === 'carry-over') return 'carry-over';
  if (waiting(state).length > 0) return undefined;
  const { sentBack } = runOf(state);
  if (hasHook(thread, 'check:completion') && sentBack.completion < (state.facts?.completionChecks ?? 1)) {
    const answer = await runHook(thread, 'check:completion', { output: outputOf(state) });
    if (answer?.prompt) return void say(thread, answer.prompt, { origin: 'hook', sentBack: 'completion' });
  }
  return waiting(state).length > 0 ? undefined : { type: 'completed' };
}

/** A run that only shortens the transcript: no message, no turn. */
function compactOnly(thread: ThreadContext): RunEnd | Promise<RunEnd> {
  const end: RunEnd = { type: 'completed', output: 'Compaction run completed.' };
  if (thread.state.facts?.context !== undefined) return summarizeOnly(thread).then(() => end);
  halveAsRequested(thread);
  return end;
}

async function summarizeOnly(thread: ThreadContext): Promise<void> {
  if (thread.state.paused) await heldBack(thread);
  await compactAsRequested(thread);
}
