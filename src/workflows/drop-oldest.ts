import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Activities, ArchiveRequest } from '../contract/activities';
import { bytesOf, fit } from '../core/context/carry';
import { archivesWith, withDropNote } from '../core/context/summary';
import type { CompactionReason } from '../core/event';
import type { Message } from '../core/message';
import { transcriptRef } from '../core/state';
import { hashOf } from '../core/transcript';
import { archiveMessagesOptions } from './activity-options';
import { activityEvents, grow } from './growth';
import { newId } from './record';
import type { ThreadContext } from './thread-context';

const { archiveMessages } = proxyActivities<Activities>(archiveMessagesOptions);

/**
 * Halves a transcript that is too long for its model: clears the oldest outputs, then drops the oldest turns, whose text is stored for the model if
 * that is possible. Returns false if nothing can be removed.
 */
export async function dropOldest(thread: ThreadContext, reason: CompactionReason): Promise<boolean> {
  const { state, record } = thread;
  const fitted = fit(state.messages, bytesOf(state.messages) / 2);
  if (!fitted || fitted.prunedOutputs + fitted.droppedMessages === 0) return false;
  const { messages: kept, ...counts } = fitted;
  const archiveRef = await archived(thread, kept);
  const messages = archiveRef ? withDropNote(newId('msg'), kept, archivesWith(state.context, archiveRef)) : kept;
  const told = { ...counts, bytes: bytesOf(messages), ...(archiveRef && { archiveRef }) };
  record('thread.context.compacted', { reason, ...told }, { transcript: { messages, hash: hashOf(messages) } });
  return true;
}

/** Stores the messages that are not kept. Returns their reference; undefined if they could not be stored: the run does not depend on it. */
async function archived({ state, growth }: ThreadContext, kept: readonly Message[]): Promise<string | undefined> {
  const ranges = missingRanges(state.messages, kept);
  if (ranges.length === 0) return undefined;
  const request: ArchiveRequest = { agent: state.agent, transcript: transcriptRef(state), ranges };
  grow(growth, activityEvents, request);
  try {
    return (await archiveMessages(request)).ref;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return undefined;
  }
}

/** Positions of the messages that are not kept. A message that was shortened has the same id. */
function missingRanges(messages: readonly Message[], kept: readonly Message[]): ArchiveRequest['ranges'] {
  const stays = new Set(kept.map(({ id }) => id));
  const ranges: ArchiveRequest['ranges'] = [];
  for (const [at, { id }] of messages.entries()) {
    if (stays.has(id)) continue;
    const last = ranges.at(-1);
    if (last?.[1] === at) last[1] = at + 1;
    else ranges.push([at, at + 1]);
  }
  return ranges;
}
