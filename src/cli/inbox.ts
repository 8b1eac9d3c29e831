import type { InboxFilter, InboxItem } from '../client';
import { answerHint, commandLine } from './answer-hint';
import { withClient } from './connect';
import { questionParts, whomWords } from './render-people';
import { type Part, paint, styled } from './styled';
import { table } from './table';
import { note, print, printJson } from './terminal';
import { age } from './words';

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
  if (items.length === 0) return note(styled`Nothing waits for anyone.`);
  print(
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

function belowOf({ threadId, call, note: why }: InboxItem): Part[] {
  if (!call) return [paint.dim(why ?? '')];
  return [...questionParts(call, commandLine('show', [threadId])), paint.dim(answerHint(threadId)(call))];
}
