import { bytesOf, fit } from '../core/context/carry';
import type { CompactionReason } from '../core/event';
import { noteDelivered } from '../core/evolve';
import type { HookInput } from '../core/hooks';
import { hashOf } from '../core/transcript';
import { hasHook, runHook } from './hooks';
import type { ThreadContext } from './thread-context';

/** Halves the transcript: clears the oldest outputs, then drops the oldest turns. Returns false if nothing can be removed. */
export function halve({ state, record }: ThreadContext, reason: Exclude<CompactionReason, 'carry-over'>): boolean {
  const fitted = fit(state.messages, bytesOf(state.messages) / 2);
  if (!fitted || fitted.prunedOutputs + fitted.droppedMessages === 0) return false;
  const { messages, ...counts } = fitted;
  const request = reason === 'requested' ? state.compact : undefined;
  record('thread.context.compacted', { reason, ...counts, ...request }, { transcript: { messages, hash: hashOf(messages) } });
  return true;
}

/** Carries out a requested compaction, if there is one, in a run that began with earlier code. */
export function halveAsRequested(thread: ThreadContext): void {
  const { state } = thread;
  if (state.compact && state.facts?.context === undefined && !halve(thread, 'requested')) keepAsRequested(thread);
}

/** Records that a requested compaction changed nothing. */
export function keepAsRequested({ state, record }: ThreadContext): void {
  record('thread.context.kept', { bytes: bytesOf(state.messages), ...state.compact });
}

/**
 * Runs `on:compaction` for each compaction in this execution's log that it has not received yet: before the next model call, and at the end of
 * a run. A compaction of continue-as-new is in the log of the execution that began with it.
 */
export async function tellCompactions(thread: ThreadContext): Promise<void> {
  if (!hasHook(thread, 'on:compaction')) return;
  const { log, delivered } = thread.state;
  for (const { seq, data } of log.filter(({ type, seq }) => type === 'thread.context.compacted' && seq > delivered.compactions)) {
    noteDelivered(thread.state, { compactions: seq });
    await runHook(thread, 'on:compaction', data as unknown as HookInput['on:compaction']);
  }
}
