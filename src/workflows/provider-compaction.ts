import { runOf } from '../core/calls';
import { bytesOf } from '../core/context/carry';
import { divideAtCompaction, withCompaction } from '../core/context/provider-compaction';
import { archivesWith } from '../core/context/summary';
import { hashOf } from '../core/transcript';
import { newId } from './record';
import { storeText } from './store-text';
import type { ThreadContext } from './thread-context';

/**
 * Takes in what the model's provider compacted with its last answer: the messages that the compaction replaces are stored for the model, and leave
 * the transcript if the compaction can be read by other models, too.
 */
export async function takeInCompaction(thread: ThreadContext, answerId: string): Promise<void> {
  const { state, record } = thread;
  const compacted = divideAtCompaction(state.messages, answerId, runOf(state).opening);
  if (!compacted) return;
  const replaced = new Set(compacted.replaced);
  const archiveRef = state.facts?.archivesDropped ? await storeText(thread, (message) => replaced.has(message)) : undefined;
  const { background, plan, context } = state;
  const archives = archiveRef ? archivesWith(context, archiveRef) : context?.archives;
  const { messages, summary } = withCompaction(compacted, {
    retained: context?.retained ?? [],
    notes: { background, ...(plan !== undefined && { plan }), ...(archives && { archives }) },
    newId: () => newId('msg'),
  });
  record(
    'thread.context.compacted',
    {
      reason: 'window',
      compactedBy: compacted.answer.model ?? '',
      prunedOutputs: 0,
      droppedMessages: replaced.size,
      bytes: bytesOf(messages),
      ...(summary && { summary }),
      ...(archiveRef && { archiveRef }),
    },
    { transcript: { messages, hash: hashOf(messages) } },
  );
}
