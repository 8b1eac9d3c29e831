import type { Client } from '@temporalio/client';
import { wordsOf } from './errors';

const atPosition = / at position (\d+)(?: near '([^']*)')?/;

/**
 * The server's message about a list filter, with the position in the filter as its author wrote it. The server counts positions in its own
 * statement, which also has `before` characters of ours before the filter.
 */
export async function withPlace(temporal: Client, words: string, { filter, before }: { filter: string; before: number }): Promise<string> {
  const [, position, word = ''] = atPosition.exec(words) ?? [];
  if (position === undefined) return words;
  const first = await positionOfFirst(temporal);
  return words.replace(atPosition, first === undefined ? '' : placeIn(filter, Number(position) - first - before, word));
}

/** The length of the server's own text before the filter. Only its error for a wrong first character reveals it. */
async function positionOfFirst({ workflow, connection }: Client): Promise<number | undefined> {
  try {
    const ask = () => workflow.list({ query: '=', pageSize: 1 })[Symbol.asyncIterator]().next();
    await connection.withDeadline(Date.now() + 5_000, ask);
    return undefined;
  } catch (error) {
    const [, position] = atPosition.exec(wordsOf(error)) ?? [];
    return position === undefined ? undefined : Number(position);
  }
}

/** `last`: the last byte that the server's parser consumed, counted from 0; `word` ends there. */
function placeIn(filter: string, last: number, word: string): string {
  const bytes = Buffer.from(filter);
  if (last < 0 || last >= bytes.length) return ' at its end';
  const end = bytes.subarray(0, last + 1).toString().length;
  const found = filter.slice(Math.max(end - word.length, 0), end);
  if (word === '' || found.toLowerCase() !== word.toLowerCase()) return ` at its character ${end}`;
  return ` at its character ${end - word.length + 1}, near '${found}'`;
}
