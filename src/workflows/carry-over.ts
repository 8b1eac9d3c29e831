import { allHandlersFinished, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { ThreadResult } from '../contract/thread';
import { bytesOf, fit } from '../core/context/carry';
import type { ThreadState } from '../core/state';
import { hashOf } from '../core/transcript';
import type { agentThread } from './agent-thread';
import { isGrown } from './growth';
import { recorder } from './record';
import { takeInResults } from './take-in';
import type { Thread } from './thread';

/** Arguments of the next execution are one payload, of which the server takes 2 MiB. */
const carryBytes = 1_600_000;
/** What of them the transcript can be shortened to. */
const leastTranscript = 100_000;

/**
 * Whether this execution has written enough history for the thread to go on in a new one. Calls that run in the background would be lost, so
 * they are waited for. So is a request that is still being handled: whatever arrives while the thread is on its way out would be lost.
 */
export function shouldCarryOver({ state, growth }: Thread, when: 'idle' | 'between turns'): boolean {
  if (!isGrown(growth, state) || state.background.length > 0 || !allHandlersFinished()) return false;
  const { log, run } = state;
  // At rest the calls are carried as they are; between turns they have become messages, which can be shortened.
  const calls = when === 'idle' ? bytesOf(run?.calls ?? []) : 0;
  // An execution makes at least one model call, whatever the thresholds are: a thread must get on.
  const gotOn = when === 'idle' || log.some(({ type }) => type === 'thread.message.completed');
  return gotOn && bytesBeside(state) + calls <= carryBytes - leastTranscript;
}

/** Of all that can't be shortened, but for calls: between turns they have become messages. */
function bytesBeside(state: ThreadState): number {
  return bytesOf({ ...state, messages: [], log: [], run: { ...state.run, calls: [] } });
}

/**
 * Why a carried state can't be gone on with, or undefined. Only this workflow itself hands one over: whoever starts a thread with one could
 * forge an approval. A cron schedule or a retry policy of the start would hand such an argument to a further execution, too.
 */
export function checkCarried(carried: unknown): string | undefined {
  const { continuedFromExecutionRunId, attempt, cronSchedule } = workflowInfo();
  const ours = continuedFromExecutionRunId !== undefined && attempt === 1 && !cronSchedule;
  if (!ours) return 'a thread is started with one argument, { agent, input }; a second one is for its own continuations';
  const { format, threadId } = (carried ?? {}) as Partial<ThreadState>;
  // Fails the workflow task, not the thread: a worker of the release that wrote the state takes it up.
  if (format !== 1)
    throw new Error(`The state of thread "${threadId}" has format ${format}; this worker reads format 1. Run a newer worker.`);
  return undefined;
}

/** Goes on in a new execution with an empty history (I4). The log of this one stays readable, and whole, under its own run id. */
export async function carryOver(thread: Thread): Promise<ThreadResult> {
  const { state, input } = thread;
  // As messages the results of the last turn can be shortened like any other; as outcomes they could not. Between calls that still wait
  // they stay where they are: results are told in the order of the calls.
  if (state.run?.calls.every((call) => call.phase === 'done')) takeInResults(thread);
  const { delivered, compact = false } = thread;
  const carried: ThreadState = { ...state, delivered, compact, log: [], previousExecution: workflowInfo().runId };
  const beside = bytesBeside(carried) + bytesOf(carried.run?.calls ?? []);
  const fitted = fit(carried.messages, Math.max(leastTranscript, carryBytes - beside), { cut: true });
  if (fitted) {
    const { messages, ...counts } = fitted;
    const transcript = { messages, hash: hashOf(messages) };
    // In the log of the execution that begins with it: readers of this one still find every message.
    recorder(carried)('thread.context.compacted', { reason: 'carry-over', ...counts }, { transcript });
  }
  // The first message is in the carried state already; what the next execution reads of its input are the settings.
  return continueAsNew<typeof agentThread>({ ...input, input: '(carried over)' }, carried);
}
