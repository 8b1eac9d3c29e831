import { bytesOf, fit } from '../core/context/carry';
import { noteDelivered } from '../core/evolve';
import type { HookInput } from '../core/hooks';
import { hashOf } from '../core/transcript';
import { hasHook, runHook } from './hooks';
import type { ThreadContext } from './thread-context';

/** Halves the transcript, because it is too long for the model. Returns false if nothing can be removed. */
export function compactToFit(thread: ThreadContext): boolean {
  return halve(thread, 'context-length');
}

/** Carries out a requested compaction, if there is one: halves the transcript, or records that nothing can be removed. */
export function compactAsRequested(thread: ThreadContext): void {
  const { state, record } = thread;
  if (state.compact && !halve(thread, 'requested')) record('thread.context.kept', { bytes: bytesOf(state.messages), ...state.compact });
}

function halve({ state, record }: ThreadContext, reason: 'context-length' | 'requested'): boolean {
  const fitted = fit(state.messages, bytesOf(state.messages) / 2);
  if (!fitted || fitted.prunedOutputs + fitted.droppedMessages === 0) return false;
  const { messages, ...counts } = fitted;
  const request = reason === 'requested' ? state.compact : undefined;
  record('thread.context.compacted', { reason, ...counts, ...request }, { transcript: { messages, hash: hashOf(messages) } });
  return true;
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
    await runHook(thread, 'on:compaction', data as HookInput['on:compaction']);
  }
}
