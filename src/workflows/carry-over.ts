import { allHandlersFinished, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { ThreadResult } from '../contract/thread';
import { bytesOf, fit } from '../core/context/carry';
import type { ThreadState } from '../core/state';
import { hashOf } from '../core/transcript';
import type { agentThread } from './agent-thread';
import { recorder } from './record';
import { takeInResults } from './take-in';
import type { Thread } from './thread';

/** Requests that a thread at rest takes before it goes on in a new execution for them. */
const idleRecords = 50;

/** Arguments of the next execution are one payload, of which the server takes 2 MiB. */
const carryBytes = 1_600_000;
/** What of them the transcript can be shortened to. */
const leastTranscript = 100_000;

/**
 * Whether the server suggests it and this execution has something behind it: where the server's limit is below what is carried, each
 * execution would otherwise do nothing but begin the next. What goes on in the background would be lost, so it is waited for; so is a
 * request that is being followed, here and nowhere later: whatever came while the thread waited for it on its way out would be lost, too.
 */
export function shouldCarryOver(state: ThreadState, when: 'idle' | 'between turns'): boolean {
  if (!workflowInfo().continueAsNewSuggested || state.background.length > 0 || !allHandlersFinished()) return false;
  const { log, run } = state;
  return when === 'idle'
    ? log.length >= idleRecords && bytesBeside(state) + bytesOf(run?.calls ?? []) <= carryBytes - leastTranscript
    : log.some(({ type }) => type === 'thread.message.completed') && bytesBeside(state) <= carryBytes - leastTranscript;
}

/** Of all that can't be shortened, but for calls: between turns they have become messages. */
function bytesBeside(state: ThreadState): number {
  return bytesOf({ ...state, messages: [], log: [], run: { ...state.run, calls: [] } });
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
