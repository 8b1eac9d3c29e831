import type { Client } from '@temporalio/client';
import { wordsOf } from './errors';

const atPosition = / at position (\d+)(?: near '([^']*)')?/;

/**
 * What the server says of a list filter, with the place in the filter as its author wrote it: the server counts in a statement of its own,
 * in which `before` characters of ours stand before the filter, too.
 */
export async function withPlace(temporal: Client, words: string, { filter, before }: { filter: string; before: number }): Promise<string> {
  const [, position, word = ''] = atPosition.exec(words) ?? [];
  if (position === undefined) return words;
  const first = await positionOfFirst(temporal);
  return words.replace(atPosition, first === undefined ? '' : placeIn(filter, Number(position) - first - before, word));
}

/** How long the server's statement is before what it was given, only its answer to a wrong first character tells. */
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

/** `last`: the last byte that the server's parser took, counted from 0; `word` ends there. */
function placeIn(filter: string, last: number, word: string): string {
  const bytes = Buffer.from(filter);
  if (last < 0 || last >= bytes.length) return ' at its end';
  const end = bytes.subarray(0, last + 1).toString().length;
  const found = filter.slice(Math.max(end - word.length, 0), end);
  if (word === '' || found.toLowerCase() !== word.toLowerCase()) return ` at its character ${end}`;
  return ` at its character ${end - word.length + 1}, near '${found}'`;
}
