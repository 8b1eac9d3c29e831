import { bytesOf, fit } from '../core/context/carry';
import { archivesWith, withDropNote } from '../core/context/summary';
import type { CompactionReason } from '../core/event';
import { hashOf } from '../core/transcript';
import { newId } from './record';
import { storeText } from './store-text';
import type { ThreadContext } from './thread-context';

/**
 * Halves a transcript that is too long for its model: clears the oldest outputs, then drops the oldest turns, whose text is stored for the model if
 * that is possible. Returns false if nothing can be removed.
 */
export async function dropOldest(thread: ThreadContext, reason: CompactionReason): Promise<boolean> {
  const { state, record } = thread;
  const fitted = fit(state.messages, bytesOf(state.messages) / 2);
  if (!fitted || fitted.prunedOutputs + fitted.droppedMessages === 0) return false;
  const { messages: kept, ...counts } = fitted;
  // A message that was shortened has the same id.
  const stays = new Set(kept.map(({ id }) => id));
  const archiveRef = await storeText(thread, ({ id }) => !stays.has(id));
  const messages = archiveRef ? withDropNote(newId('msg'), kept, archivesWith(state.context, archiveRef)) : kept;
  const told = { ...counts, bytes: bytesOf(messages), ...(archiveRef && { archiveRef }) };
  record('thread.context.compacted', { reason, ...told }, { transcript: { messages, hash: hashOf(messages) } });
  return true;
}
