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
import { limitWords, type RunEnd } from '../core/decide';
import { wordsOf } from '../core/log';
import type { CancelRequest } from '../core/requests';
import { type RunState, stepIdOf, type ThreadState } from '../core/state';
import { requestCancelOptions } from './activity-options';
import { shorten } from './ask-model';
import { skipCalls } from './finish-call';
import { deliverEvents, hasHook, runHook, tellCompactions } from './hooks';
import { publishStatus } from './search-attributes';
import { refuseQueue, settleOwnWords, takeInOpening, takeInResults } from './take-in';
import type { Thread } from './thread';

const { requestCancel } = proxyActivities<Activities>(requestCancelOptions);

const endHooks = ['on:compaction', 'after:execution', 'on:event'] as const;

/** Whether anything of the user's is run, or goes on, when a run ends. */
export function waitsAtEnd(thread: Thread): boolean {
  return thread.state.background.length > 0 || endHooks.some((hook) => hasHook(thread, hook));
}

/** Ends the run: nothing is left open in the transcript, and the terminal event is the last. */
export async function rest(thread: Thread, end: RunEnd): Promise<RunEnd> {
  const { state, record } = thread;
  const run = state.run as RunState;
  if (state.background.length > 0) {
    thread.scope.cancel();
    await condition(() => state.background.length === 0);
  }
  // What the run began with is its own, also where it ended before its first turn: left waiting, it would begin the next run, for ever.
  takeInOpening(thread);
  if (run.shell) {
    const reason = end.type === 'cancelled' ? 'cancelled' : 'failed';
    record('thread.message.incomplete', { stepId: stepIdOf(run), messageId: run.shell, reason });
  }
  skipCalls(thread, end.type === 'cancelled' ? 'the run was cancelled' : 'the run ended before it');
  takeInResults(thread);
  settleOwnWords(thread);
  const output = outputOf(state, end);
  // Whoever asked for it was told yes.
  if (thread.compact) shorten(thread, 'requested');
  if (hasHook(thread, 'on:compaction')) await tellCompactions(thread).catch(() => undefined);
  // Hooks may look at the end of a run, not change it.
  if (hasHook(thread, 'after:execution')) {
    await runHook(thread, 'after:execution', { status: end.type, output, usage: run.usage }).catch(() => undefined);
  }
  // Last, so that what was said while the hooks ran is answered too.
  if (state.mode === 'one-shot') refuseQueue(thread, 'the run ended before it took the message in');
  const last = heeded(thread, end);
  recordEnd(thread, last, output);
  // One that is asked for from here on means the next run.
  if (state.mode === 'conversation') delete thread.cancelled;
  publishStatus(state, 'ends');
  if (hasHook(thread, 'on:event')) await deliverEvents(thread);
  return last;
}

/** A cancel that was accepted while the hooks of the end ran still is one. */
function heeded({ cancelled }: Thread, end: RunEnd): RunEnd {
  return cancelled && (end.type === 'completed' || end.type === 'incomplete') ? { type: 'cancelled', ...wordsOfCancel(cancelled) } : end;
}

function wordsOfCancel({ reason, by }: CancelRequest): { reason?: string; by?: string } {
  return { ...(reason && { reason }), ...(by && { by }) };
}

function recordEnd({ state, record }: Thread, end: RunEnd, output: string): void {
  const run = state.run as RunState;
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
  }
}

/** What an error means for its run: a cancel that was asked for, or a failure with the code of its cause. */
export function endOf(thread: Thread, error: unknown): RunEnd {
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
      message: `The step ${error.activityType} could not be carried out: ${why}. Its worker was lost again and again.`,
    };
  }
  // Anything else is a defect of ours or of the platform: the workflow task fails, is retried, and the thread is whole once it is mended.
  throw error;
}

/** A one-shot thread ends with its run, so that the Web UI and `result()` tell how it went. */
export async function closeWith(thread: Thread, end: RunEnd): Promise<ThreadResult> {
  if (!allHandlersFinished()) await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (end.type === 'failed')
    throw ApplicationFailure.create({ message: end.message, type: end.code, nonRetryable: true, details: [end.details ?? null] });
  if (end.type === 'expired') throw ApplicationFailure.nonRetryable(end.message, 'expired');
  if (end.type === 'cancelled') {
    // The server shows Canceled only where its own cancel was asked for, so a thread that was told `cancel` has it asked for. A workflow
    // can't cancel itself by a command. Where even the activity fails, the thread ends as failed, and its log still says cancelled.
    if (thread.cancelled || thread.state.run?.stopped) {
      await CancellationScope.nonCancellable(() => requestCancel()).catch(() => undefined);
    }
    throw new CancelledFailure('The thread was cancelled');
  }
  return result(thread.state, end);
}

export function result(state: ThreadState, end?: RunEnd): ThreadResult {
  const { id = '', number = 0, turn = 0, costUsd = 0 } = state.run ?? {};
  return {
    status: state.run?.status === 'incomplete' ? 'incomplete' : 'completed',
    output: outputOf(state, end) || wordsOf(state.messages.filter((m) => m.role === 'assistant').slice(-1)),
    runId: id,
    runs: number,
    turns: turn,
    usage: state.usage,
    costUsd: state.before.costUsd + costUsd,
    ...(end?.type === 'incomplete' && { reason: limitWords(end) }),
  };
}

/** What came of a run, in words: those of the tool `done`, or the model's last in this run; an earlier run's are not its own. */
export function outputOf({ messages, run }: ThreadState, end?: RunEnd): string {
  if (end && 'output' in end && end.output !== undefined) return end.output;
  return run?.finalMessage || wordsOf(messages.filter((m) => m.role === 'assistant' && m.runId === run?.id).slice(-1));
}
