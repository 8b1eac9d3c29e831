import { shownLine } from './read-lines';

/** More lines than this are not compared. */
const mostLines = 20_000;
/** The beginning of a line that is compared. */
const mostCharacters = 200;
const leastSimilarity = 0.5;

/** The lines of a text that are most similar to a line, as `L{n}: text`, at most three, in their order. For messages. */
export function similarLines(text: string, wanted: string): string[] {
  const target = pairsOf(wanted);
  if (target.size === 0) return [];
  return text
    .split('\n', mostLines)
    .map((line, at) => ({ line, number: at + 1, score: similarity(target, pairsOf(line)) }))
    .filter(({ score }) => score >= leastSimilarity)
    .sort((a, b) => b.score - a.score || a.number - b.number)
    .slice(0, 3)
    .sort((a, b) => a.number - b.number)
    .map(({ line, number }) => clipped(number, line));
}

/** The line as a model sees it, short enough for a message. */
export function clipped(number: number, line: string): string {
  return shownLine(number, line).slice(0, mostCharacters);
}

/** Pairs of neighbouring characters, without blanks and case. */
function pairsOf(line: string): Set<string> {
  const text = line.slice(0, mostCharacters).replace(/\s+/g, '').toLowerCase();
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

/** The Dice coefficient: 1 for equal sets, 0 for sets that have nothing in common. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size + b.size === 0) return 0;
  let common = 0;
  for (const pair of a) if (b.has(pair)) common += 1;
  return (2 * common) / (a.size + b.size);
}
