import type { ContextPolicy } from '../core/agent';
import { runOf } from '../core/calls';
import { isOverfull, messagesTooMany, sizesOf } from '../core/context/budget';
import { bytesOf, type Fitted, fit, openingToKeep } from '../core/context/carry';
import { cutMessage, isLong } from '../core/context/cut';
import { withoutCompactions } from '../core/context/provider-compaction';
import { slide } from '../core/context/slide';
import { archivesWith, withDropNote } from '../core/context/summary';
import type { CompactionReason } from '../core/event';
import type { Message } from '../core/message';
import { hashOf } from '../core/transcript';
import { halve } from './compaction';
import { newId } from './record';
import { storeText } from './store-text';
import type { ThreadContext } from './thread-context';

/**
 * Halves a transcript that is too long for its model: clears the oldest outputs, then drops the oldest turns, whose text is stored for the model if
 * that is possible. Returns false if nothing can be removed.
 */
export async function dropOldest(thread: ThreadContext, reason: CompactionReason): Promise<boolean> {
  const { state } = thread;
  if (!state.facts?.archivesDropped) return halve(thread, reason);
  const fitted = fit(state.messages, bytesOf(state.messages) / 2, { opening: openingToKeep(state) });
  if (!fitted || fitted.prunedOutputs + fitted.droppedMessages === 0) return false;
  shortenTo(thread, reason, fitted, await storeRemoved(thread, fitted.messages));
  return true;
}

/** Drops the oldest half again and again until the rest is below the threshold. Returns false if nothing can be removed. */
export async function dropUntilBelow(thread: ThreadContext, policy: ContextPolicy): Promise<boolean> {
  let dropped = false;
  while (isOverfull(thread.state, policy) && (await dropOldest(thread, 'window'))) dropped = true;
  return dropped;
}

/** Drops the oldest messages of a transcript that has more than the agent's `maxMessages`. Returns false if nothing can be removed. */
export async function slideWindow(thread: ThreadContext, policy: ContextPolicy): Promise<boolean> {
  const { state } = thread;
  const messages = withoutCompactions(state.messages);
  const archives = state.facts?.archivesDropped === true;
  // One less for the message that tells where the dropped ones are stored.
  const most = state.messages.length - messagesTooMany(state) - (archives ? 1 : 0);
  const kept = slide(messages, most, policy, runOf(state).opening);
  if (!kept) return false;
  const archiveRef = archives ? await storeRemoved(thread, kept) : undefined;
  shortenTo(thread, 'messages', { messages: kept, prunedOutputs: 0, droppedMessages: messages.length - kept.length }, archiveRef);
  return true;
}

/**
 * Cuts messages, even the task, that take most of the room, if nothing else can be removed; their whole text is stored for the model if that is
 * possible. `share`: the share of the room above which a message is cut. Returns false if there is none.
 */
export async function cutLong(thread: ThreadContext, reason: CompactionReason, share?: number): Promise<boolean> {
  const { state, record } = thread;
  const sizes = sizesOf(state);
  const long = new Set(state.messages.filter((message) => isLong(message, sizes, share)));
  if (long.size === 0) return false;
  const archiveRef = state.facts?.archivesDropped ? await storeText(thread, (message) => long.has(message)) : undefined;
  const messages = state.messages.map((message) => (long.has(message) ? cutMessage(message, sizes, archiveRef) : message));
  const counts = { prunedOutputs: 0, droppedMessages: 0, cutMessages: long.size };
  const told = { reason, ...counts, bytes: bytesOf(messages), ...(archiveRef && { archiveRef }) };
  record('thread.context.compacted', told, { transcript: { messages, hash: hashOf(messages) } });
  return true;
}

/** Stores the text of messages that are not among `kept`, or not whole. Outputs of tools that are cleared have references of their own. */
export function storeRemoved(thread: ThreadContext, kept: readonly Message[]): Promise<string | undefined> {
  const [whole, stays] = [new Set(kept), new Set(kept.map(({ id }) => id))];
  return storeText(thread, (message) => !whole.has(message) && (message.role !== 'tool' || !stays.has(message.id)));
}

/** Records the shortened transcript, with a message in place of what was dropped if its text is stored. */
export function shortenTo(
  { state, record }: ThreadContext,
  reason: CompactionReason | 'carry-over',
  { messages: kept, prunedOutputs, droppedMessages }: Omit<Fitted, 'bytes'>,
  archiveRef: string | undefined,
): void {
  const messages = archiveRef ? withDropNote(newId('msg'), kept, archivesWith(state.context, archiveRef)) : kept;
  const told = { prunedOutputs, droppedMessages, bytes: bytesOf(messages), ...(archiveRef && { archiveRef }) };
  record('thread.context.compacted', { reason, ...told }, { transcript: { messages, hash: hashOf(messages) } });
}
