import { allHandlersFinished, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { ClosedThread, ThreadResult } from '../contract/thread';
import { bytesOf, type Fitted, fit, fixedBytes, openingToKeep } from '../core/context/carry';
import { type Message, toolCallsOf } from '../core/message';
import type { BackgroundCall, ThreadState } from '../core/state';
import { hashOf } from '../core/transcript';
import type { agentThread } from './agent-thread';
import { shortenTo, storeRemoved } from './drop-oldest';
import { isGrown } from './growth';
import { recorder } from './record';
import { takeInResults } from './take-in';
import type { ThreadContext } from './thread-context';

/** The state is one payload, and the server accepts payloads up to 2 MiB. */
const carryBytes = 1_600_000;
/** The room that must be left for the transcript, which is shortened to fit. */
const leastTranscript = 100_000;

/**
 * Whether the thread is to continue as new: this execution has written enough history, and nothing would be lost. Requests that are still being
 * handled, background calls that are about to start, and those that run in activities would be lost, so the thread waits for them first.
 */
export function shouldCarryOver(thread: ThreadContext, when: 'idle' | 'between turns'): boolean {
  const { state, growth, starting } = thread;
  if (!isGrown(growth, state) || starting > 0 || state.background.some(isActivity) || !allHandlersFinished()) return false;
  const { log, run } = state;
  // While the run waits, its calls are carried over as they are. Between turns they are messages, which can be shortened.
  const calls = when === 'idle' ? bytesOf(run?.calls ?? []) + openArgumentsBytes(state) : 0;
  // An execution completes at least one model call, whatever the thresholds are: otherwise the thread would make no progress.
  const gotOn = when === 'idle' || log.some(({ type }) => type === 'thread.message.completed');
  return gotOn && bytesBeside(state) + calls <= carryBytes - leastTranscript;
}

/**
 * Whether the thread continues as new now. If that is due, stores for the model what it will remove from the transcript. Requests may arrive
 * meanwhile, so that it is no longer due: whoever waits then waits again. Each does so in a loop of its own, because a function around `condition`
 * would resume it a microtask later, and recorded histories would not replay.
 */
export async function readyToCarryOver(thread: ThreadContext, when: 'idle' | 'between turns'): Promise<boolean> {
  if (!shouldCarryOver(thread, when)) return false;
  if (thread.state.facts?.archivesCarried) await archiveToCarry(thread);
  return shouldCarryOver(thread, when);
}

/** For the message that names what was stored, and for what is added before the thread continues as new. */
const spareBytes = 20_000;

/**
 * Shortens a transcript that is too long for continue-as-new, and stores what it removes. If that fails, continue-as-new removes it all the same:
 * people can read it in the execution before.
 */
async function archiveToCarry(thread: ThreadContext): Promise<void> {
  const { state } = thread;
  if (bytesOfAll(state.messages) <= bytesToCarry(state)) return;
  takeInFinished(thread);
  const fitted = fit(state.messages, bytesToCarry(state) - spareBytes, {
    cut: true,
    open: hasOpenCalls(state),
    opening: openingToKeep(state),
  });
  // Nothing else changes the transcript meanwhile: requests only queue messages.
  const archiveRef = fitted && (await storeRemoved(thread, fitted.messages));
  if (archiveRef !== undefined) shortenTo(thread, 'carry-over', fitted as Fitted, archiveRef);
}

/**
 * Takes in the results of the last turn, because messages can be shortened and outcomes can't. If calls still wait, all results stay outcomes,
 * because results join the transcript in the order of the calls.
 */
function takeInFinished(thread: ThreadContext): void {
  if (thread.state.run?.calls.every((call) => call.phase === 'done')) takeInResults(thread);
}

function hasOpenCalls({ run }: ThreadState): boolean {
  return (run?.calls ?? []).some(({ phase }) => phase !== 'done');
}

/** The arguments of an answer whose calls are not done: they can't be shortened. */
function openArgumentsBytes(state: ThreadState): number {
  const answer = hasOpenCalls(state) ? state.messages.findLast(({ role }) => role === 'assistant') : undefined;
  return answer?.role === 'assistant' ? bytesOf(toolCallsOf(answer.content)) : 0;
}

function bytesOfAll(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + fixedBytes(message), 0);
}

/** The bytes that the transcript may have for the next execution. */
function bytesToCarry(state: ThreadState): number {
  return Math.max(leastTranscript, carryBytes - bytesBeside(state) - bytesOf(state.run?.calls ?? []));
}

/** An activity does not outlive the execution that scheduled it. */
function isActivity({ workflowId }: BackgroundCall): boolean {
  return workflowId === undefined;
}

/** Size of everything that can't be shortened, without calls: between turns they are messages. */
function bytesBeside(state: ThreadState): number {
  return bytesOf({ ...state, messages: [], archived: undefined, log: [], run: { ...state.run, calls: [] } });
}

/**
 * Returns why a carried state is not accepted, or undefined. Only a continue-as-new of this workflow may pass one: a client that starts a thread
 * with a state could forge an approval. A cron schedule or a retry policy would also pass such an argument on to the next execution.
 */
export function checkCarried(): string | undefined {
  const { continuedFromExecutionRunId, attempt, cronSchedule } = workflowInfo();
  const ours = continuedFromExecutionRunId !== undefined && attempt === 1 && !cronSchedule;
  return ours ? undefined : 'a thread is started with one argument, { agent, input }; a second one is reserved for continue-as-new';
}

/** Continues in a new execution with an empty history (I4). The log of this one stays readable and complete under its own run id. */
export async function carryOver(thread: ThreadContext): Promise<ThreadResult> {
  const { state, input } = thread;
  takeInFinished(thread);
  // The first message is already in the carried state. The next execution reads only settings from its input.
  return continueAsNew<typeof agentThread>({ ...input, input: '(carried over)' }, stateToCarry(state));
}

/** What a closed conversation passes on to the execution that reopens it: the same as at continue-as-new. Changes nothing. */
export function closedThread({ state, input }: ThreadContext): ClosedThread {
  const { archived: _, ...current } = { ...state, log: [] };
  return { input: { ...input, input: '(reopened)' }, state: stateToCarry(JSON.parse(JSON.stringify(current))) };
}

/** The state for the next execution, without the log and small enough for a payload. */
function stateToCarry(state: ThreadState): ThreadState {
  const { archived: _, ...current } = state;
  const carried: ThreadState = { ...current, log: [], previousExecution: workflowInfo().runId };
  const fitted = fit(carried.messages, bytesToCarry(carried), { cut: true, open: hasOpenCalls(carried), opening: openingToKeep(carried) });
  if (fitted) {
    const { messages, ...counts } = fitted;
    const transcript = { messages, hash: hashOf(messages) };
    // Recorded in the next execution's log, which begins with it. Readers of this execution still find every message.
    recorder(carried)('thread.context.compacted', { reason: 'carry-over', ...counts }, { transcript });
  }
  return carried;
}
