import type { InboxFilter, InboxItem } from '../../client';
import { questionParts, rememberParts, whomWords } from '../views/render-people';
import { paint, styled } from '../views/styled';
import { type Row, table } from '../views/table';
import { note, print, printJson } from '../views/terminal';
import { age } from '../views/words';
import { answerHint, commandLine } from './answer-hint';
import { withClient } from './connect';

export interface InboxOptions extends Pick<InboxFilter, 'agent' | 'tool' | 'group'> {
  /** Milliseconds. */
  older?: number;
  limit: number;
  json?: boolean;
}

/** Prints what waits for a person or a reply in all threads, oldest first, and how to answer it. */
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
      items.map((item) => ({ cells: cellsOf(item), ...underneath(item) })),
      process.stdout.columns,
    ),
  );
}

function cellsOf({ threadId, agent, status, since, call }: InboxItem): string[] {
  const waited = age(Date.now() - Date.parse(since));
  if (!call) return [waited, threadId, agent, status === 'suspended' ? 'reply' : '?', '', ''];
  return [waited, threadId, agent, call.kind, call.kind === 'reply' ? call.toolCallId : call.name, whomWords(call) || 'anyone'];
}

function underneath({ threadId, call, note: why }: InboxItem): Pick<Row, 'below' | 'command'> {
  if (!call) return { below: [paint.dim(why ?? '')] };
  const below = [...questionParts(call, commandLine('show', [threadId])), ...rememberParts(call)];
  return { below, command: paint.dim(answerHint(threadId)(call)) };
}
