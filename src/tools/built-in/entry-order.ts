import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Entry } from './workspace';

/** Other work of the process runs between two pieces. */
const pieceLength = 4_096;

interface Keyed {
  entry: Entry;
  /** Computed once: a sort compares each name many times. */
  key: string;
  rank: 0 | 1;
}

/** Sorts entries: folders first, then by name, case-insensitive. A hundred thousand long names at once would block the process. */
export async function inOrder(entries: readonly Entry[]): Promise<Entry[]> {
  const pieces: Keyed[][] = [];
  for (let at = 0; at < entries.length; at += pieceLength) {
    if (at > 0) await nextTurn();
    pieces.push(
      entries
        .slice(at, at + pieceLength)
        .map(keyed)
        .sort(compared),
    );
  }
  return merged(pieces, entries.length);
}

async function merged(pieces: Keyed[][], length: number): Promise<Entry[]> {
  const next = pieces.map(() => 0);
  const all: Entry[] = [];
  while (all.length < length) {
    if (pieces.length > 1 && all.length % pieceLength === 0) await nextTurn();
    let first = -1;
    let found: Keyed | undefined;
    for (let at = 0; at < pieces.length; at++) {
      const head = pieces[at]?.[next[at] ?? 0];
      if (head && (!found || compared(head, found) < 0)) [found, first] = [head, at];
    }
    if (!found) break;
    next[first] = (next[first] ?? 0) + 1;
    all.push(found.entry);
  }
  return all;
}

function keyed(entry: Entry): Keyed {
  return { entry, key: entry.name.toLowerCase(), rank: entry.isDirectory() ? 0 : 1 };
}

/** Not `localeCompare`: the order must not depend on the worker's language. */
function compared(a: Keyed, b: Keyed): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  const [x, y] = [a.entry.name, b.entry.name];
  return x < y ? -1 : Number(x > y);
}
