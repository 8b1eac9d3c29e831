import { excerpt } from './json';

/** Returns a problem for each field of an object that is not known, as a sentence without a full stop. */
export function unknownFields(given: object, known: readonly string[]): string[] {
  return Object.keys(given)
    .filter((field) => !known.includes(field))
    .map((field) => {
      const meant = closest(field, known);
      return `${excerpt(field, 100)}: is not known${meant ? `; did you mean '${meant}'?` : `. Known: ${known.join(', ')}`}`;
    });
}

/** The known name that a misspelt name most likely means, if one is similar enough. */
export function closest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const edits = distance(wanted.slice(0, 100), candidate.toLowerCase().slice(0, 100));
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Levenshtein distance: the number of letters to add, remove or change. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
