import type { InboxFilter, InboxItem } from '../client';
import { answerHint } from './answer-hint';
import { withClient } from './connect';
import { note, printJson } from './output';
import { questionOf, whomWords } from './render-people';
import { table } from './table';
import { age, printable, shortArguments } from './words';

export interface InboxOptions extends Pick<InboxFilter, 'agent' | 'tool' | 'group'> {
  /** Milliseconds. */
  older?: number;
  limit: number;
  json?: boolean;
}

/** What waits for someone in all threads, oldest first, and how to answer it. */
export async function inbox({ older, json, ...filter }: InboxOptions): Promise<void> {
  const items = await withClient({}, (client) => client.pending({ ...filter, ...(older !== undefined && { olderThanMs: older }) }));
  if (json) {
    for (const item of items) printJson(item);
    return;
  }
  if (items.length === 0) return note('Nothing waits for anyone.');
  process.stdout.write(
    table(
      ['AGE', 'THREAD', 'AGENT', 'WAITS FOR', 'WHAT', 'WHO IS ASKED'],
      items.map((item) => ({ cells: cellsOf(item), below: belowOf(item) })),
    ),
  );
}

function cellsOf({ threadId, agent, status, since, call }: InboxItem): string[] {
  const waited = age(Date.now() - Date.parse(since));
  if (!call) return [waited, threadId, agent, status === 'suspended' ? 'reply' : '?', '', ''];
  return [waited, threadId, agent, call.kind, call.kind === 'reply' ? call.toolCallId : call.name, whomWords(call)];
}

function belowOf({ threadId, call, note: why }: InboxItem): string[] {
  if (!call) return [printable(why ?? '')];
  const what = call.kind === 'question' ? questionOf(call) : shortArguments(call.arguments, 120);
  return [...(call.reason ? [printable(call.reason).replace(/\s+/g, ' ')] : []), ...(what ? [what] : []), answerHint(threadId)(call)];
}
