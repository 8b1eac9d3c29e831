import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import type { ThreadResult } from '../contract/thread';
import { runOf } from '../core/calls';
import { limitWords, type RunEnd } from '../core/decide';
import { saidIn } from '../core/log';
import { noUsage } from '../core/message';
import type { CancelRequest } from '../core/requests';
import { shownUsd } from '../core/spent';
import { stepIdOf, type ThreadState } from '../core/state';
import { unreachable } from '../core/unreachable';
import { requestCancelOptions } from './activity-options';
import { stopBackground } from './background';
import { halveAsRequested, keepAsRequested, tellCompactions } from './compaction';
import { compensate } from './compensate';
import { skipCalls } from './finish-call';
import { deliverEvents, hasHook, runHook } from './hooks';
import { publishStatus } from './search-attributes';
import { refuseQueue, settleOwnWords, takeInOpening, takeInResults } from './take-in';
import type { ThreadContext } from './thread-context';

const { requestCancel } = proxyActivities<Activities>(requestCancelOptions);

const endHooks = ['on:compaction', 'after:execution', 'on:event'] as const;

/** Whether a run's end has to wait for background calls, hooks or compensations. */
export function waitsAtEnd(thread: ThreadContext): boolean {
  const { background, run } = thread.state;
  return background.length > 0 || run?.sagas !== undefined || endHooks.some((hook) => hasHook(thread, hook));
}

/** Ends the run: completes the transcript and records the terminal event as the run's last. Returns how the run ended. */
export async function endRun(thread: ThreadContext, end: RunEnd): Promise<RunEnd> {
  const { state, record } = thread;
  const run = runOf(state);
  if (state.background.length > 0) {
    thread.scope.cancel();
    if (state.background.some(({ workflowId }) => workflowId)) await stopBackground(thread);
    await condition(() => state.background.length === 0);
  }
  // The run's opening messages join the transcript even if it ended before its first turn. In the queue they would begin run after run.
  takeInOpening(thread);
  if (run.draft) {
    const reason = end.type === 'cancelled' ? 'cancelled' : 'failed';
    record('thread.message.incomplete', { stepId: stepIdOf(run), messageId: run.draft, reason });
  }
  skipCalls(thread, end.type === 'cancelled' ? 'the run was cancelled' : 'the run ended before it');
  takeInResults(thread);
  settleOwnWords(thread);
  const output = outputOf(state, end);
  // The request was accepted, so it is carried out. A conversation does so in the run that follows, because a summary is a model call.
  halveAsRequested(thread);
  if (state.compact && state.mode === 'one-shot') keepAsRequested(thread);
  if (hasHook(thread, 'on:compaction')) await tellCompactions(thread).catch(() => undefined);
  // Hooks can't change how a run ends.
  if (hasHook(thread, 'after:execution')) {
    await runHook(thread, 'after:execution', { status: end.type, output, usage: run.usage }).catch(() => undefined);
  }
  const last = heeded(thread, end);
  if (run.sagas) await compensate(thread, last);
  // Last, so that messages that arrived while the hooks ran are superseded too.
  if (state.mode === 'one-shot') refuseQueue(thread, 'the run ended before it took the message in');
  recordEnd(thread, last, output);
  // A cancel from here on applies to the next run.
  if (state.mode === 'conversation') delete thread.cancelled;
  publishStatus(state, 'ends');
  if (hasHook(thread, 'on:event')) await deliverEvents(thread);
  return last;
}

/** Returns `end`, or `cancelled` if a cancel was accepted while the hooks at the run's end ran. */
function heeded({ cancelled }: ThreadContext, end: RunEnd): RunEnd {
  return cancelled && (end.type === 'completed' || end.type === 'incomplete') ? { type: 'cancelled', ...wordsOfCancel(cancelled) } : end;
}

function wordsOfCancel({ reason, by }: CancelRequest): { reason?: string; by?: string } {
  return { ...(reason && { reason }), ...(by && { by }) };
}

function recordEnd({ state, record }: ThreadContext, end: RunEnd, output: string): void {
  const run = runOf(state);
  switch (end.type) {
    case 'completed': {
      const last = end.output === undefined ? state.messages.filter((m) => m.role === 'assistant').slice(-1) : [];
      return record('thread.run.completed', { finalMessages: last, output, usage: run.usage, turns: run.turn });
    }
    case 'failed': {
      const { code, message, details } = end;
      return record('thread.run.failed', { code, message, ...(details && { details }) });
    }
    case 'incomplete': {
      const { limit, max, scope } = end;
      return record('thread.run.incomplete', { limit, max, ...(scope === 'thread' && { scope }), message: limitWords(end), output });
    }
    case 'cancelled': {
      const { type: _, ...words } = end;
      return record('thread.run.cancelled', words);
    }
    case 'expired':
      return record('thread.run.expired', { reason: 'suspended', message: end.message });
    default:
      return unreachable(end);
  }
}

/** Converts an error to the end of its run: `cancelled`, or `failed` with the code of the error's cause. Rethrows errors of the engine. */
export function endOf(thread: ThreadContext, error: unknown): RunEnd {
  if (isCancellation(error)) return { type: 'cancelled', ...wordsOfCancel(thread.cancelled ?? {}) };
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
      message: `The step ${error.activityType} could not be carried out: ${why}. Its worker was lost repeatedly.`,
    };
  }
  // Anything else is a defect of the engine or the platform: the workflow task fails and is retried, and the thread goes on after a fix.
  throw error;
}

/** Ends a one-shot thread with the outcome of its run, so that the Web UI and `result()` show it. */
export async function closeWith(thread: ThreadContext, end: RunEnd): Promise<ThreadResult> {
  if (!allHandlersFinished()) await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  switch (end.type) {
    case 'completed':
    case 'incomplete':
      return result(thread.state, end);
    case 'failed':
      throw ApplicationFailure.create({ message: end.message, type: end.code, nonRetryable: true, details: [end.details ?? null] });
    case 'expired':
      throw ApplicationFailure.nonRetryable(end.message, 'expired');
    case 'cancelled':
      // The server shows Canceled only if its own cancellation was requested, and a workflow has no command for that, so an activity requests
      // it. If that activity fails, the workflow ends as failed, and the log still says cancelled.
      if (thread.cancelled || thread.state.run?.stopped) {
        await CancellationScope.nonCancellable(() => requestCancel()).catch(() => undefined);
      }
      throw new CancelledFailure('The thread was cancelled');
    default:
      return unreachable(end);
  }
}

export function result(state: ThreadState, end?: RunEnd): ThreadResult {
  const { before } = state;
  const { id = '', number = 0, turn = 0, usage = noUsage, costUsd = 0 } = state.run ?? {};
  return {
    status: state.run?.status === 'incomplete' ? 'incomplete' : 'completed',
    output: outputOf(state, end) || saidIn(state.messages.filter((m) => m.role === 'assistant').slice(-1)),
    ...(end?.type === 'incomplete' && { reason: limitWords(end) }),
    runId: id,
    turns: turn,
    usage,
    costUsd: shownUsd(costUsd),
    thread: { runs: number, turns: before.turns + turn, usage: state.usage, costUsd: shownUsd(before.costUsd + costUsd) },
  };
}

/** The output text of a run: the message of the tool `done`, or the model's last text in this run, never that of an earlier run. */
export function outputOf({ messages, run }: ThreadState, end?: RunEnd): string {
  if (end && 'output' in end && end.output !== undefined) return end.output;
  return run?.finalMessage || saidIn(messages.filter((m) => m.role === 'assistant' && m.runId === run?.id).slice(-1));
}
