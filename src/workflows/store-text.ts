import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Activities, ArchiveRequest } from '../contract/activities';
import type { Message } from '../core/message';
import { transcriptRef } from '../core/state';
import { archiveMessagesOptions } from './activity-options';
import { activityEvents, grow } from './growth';
import type { ThreadContext } from './thread-context';

const { archiveMessages } = proxyActivities<Activities>(archiveMessagesOptions);

/**
 * Stores the text of the messages that leave the transcript, for the model. Returns its reference; undefined if it could not be stored: the run does
 * not depend on it, and so does not wait for a worker that has the agent (`whereAgentIs`).
 */
export async function storeText({ state, growth }: ThreadContext, leaves: (message: Message) => boolean): Promise<string | undefined> {
  const ranges = rangesOf(state.messages, leaves);
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

function rangesOf(messages: readonly Message[], leaves: (message: Message) => boolean): ArchiveRequest['ranges'] {
  const ranges: ArchiveRequest['ranges'] = [];
  for (const [at, message] of messages.entries()) {
    if (!leaves(message)) continue;
    const last = ranges.at(-1);
    if (last?.[1] === at) last[1] = at + 1;
    else ranges.push([at, at + 1]);
  }
  return ranges;
}
