import { type Effort, positionsOf } from '../line-search';
import { similarLines } from '../similar-lines';
import { type Hunk, PatchError } from './file-patch';
import { joinLines, splitLines, type TextLines } from './text-lines';

export interface Patched {
  text: string;
  /** Where the patch did not fit as it is, and what was done about it: one entry per hunk. */
  fuzz: string[];
}

/** How far a hunk of a unified diff may be from where it says. */
const mostOffset = 50;

/** In this order. Each accepts what those before it accept. */
const levels: readonly { says?: string; of(line: string): string }[] = [
  { of: (line) => line },
  { says: 'other blanks at the ends of lines', of: (line) => line.trimEnd() },
  { says: 'another indentation', of: (line) => line.trim() },
  { says: 'other quotation marks, dashes or blanks', of: (line) => plainCharacters(line).trim() },
];

function plainCharacters(line: string): string {
  if (!/[\u00A0\u2000-\u3000]/.test(line)) return line;
  return line
    .replace(/[\u2018\u2019\u201A\u201B]/g, "'")
    .replace(/[\u201C-\u201F]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, ' ');
}

/** Applies hunks in their order. Throws `PatchError` if one fits nowhere or at several places. Lines that are kept stay as the file has them. */
export function applyHunks(text: string, hunks: readonly Hunk[], path: string, effort: Effort): Patched {
  const file = splitLines(text);
  const views = new LineViews(file.lines, effort);
  const result: string[][] = [];
  const fuzz: string[] = [];
  let from = 0;
  for (const [at, hunk] of hunks.entries()) {
    const old = hunk.lines.filter(({ op }) => op !== '+').map((line) => line.text);
    const place = placeOf(file, hunk, old, { from, path, text, views });
    if (place.fuzz) fuzz.push(`hunk ${at + 1} of ${path}: ${place.fuzz}`);
    result.push(file.lines.slice(from, place.at), newLines(file, hunk, place.at));
    from = place.at + old.length;
    if (hunk.finalBreak) applyFinalBreak(file, hunk, from, path);
  }
  result.push(file.lines.slice(from));
  return { text: joinLines({ ...file, lines: result.flat() }), fuzz };
}

/** Inserted lines end as the lines around them. */
function newLines({ lines, windows }: TextLines, hunk: Hunk, at: number): string[] {
  let next = at;
  let returns = (lines[at] ?? lines[at - 1])?.endsWith('\r') ?? windows;
  return hunk.lines.flatMap(({ op, text }) => {
    if (op === '+') return [returns ? `${text}\r` : text];
    const own = lines[next] as string;
    next += 1;
    returns = own.endsWith('\r');
    return op === ' ' ? [own] : [];
  });
}

function applyFinalBreak(file: TextLines, { finalBreak, patchLine }: Hunk, end: number, path: string): void {
  const { before, after } = finalBreak ?? {};
  if (end !== file.lines.length || (before === false && file.finalBreak)) {
    throw new PatchError(
      `The hunk in line ${patchLine} of the patch says that '${path}' ends there without a line break, but it does not.`,
    );
  }
  file.finalBreak = after !== false;
}

interface Search {
  /** Where the previous hunk ended. */
  from: number;
  path: string;
  text: string;
  views: LineViews;
}

/** The lines of a file as the levels compare them, made once for all hunks. */
class LineViews {
  readonly #views: (string[] | undefined)[] = [];

  constructor(
    private readonly lines: readonly string[],
    private readonly effort: Effort,
  ) {}

  /** Positions at which the lines are found at a level, from a position on. */
  matches(old: readonly string[], level: number, from: number): number[] {
    const { of } = levels[level] as (typeof levels)[number];
    const view = this.#views[level] ?? this.lines.map((line) => of(line.replace(/\r$/, '')));
    this.#views[level] = view;
    return positionsOf(view, old.map(of), from, this.effort);
  }
}

interface Place {
  at: number;
  fuzz?: string;
}

function placeOf(file: TextLines, hunk: Hunk, old: readonly string[], search: Search): Place {
  if (old.length === 0) return placeOfInsertion(file, hunk, search);
  for (const [level, { says }] of levels.entries()) {
    const found = search.views.matches(old, level, search.from).filter((at) => !hunk.atEnd || at + old.length === file.lines.length);
    const places = hunk.at === undefined ? belowContext(hunk, found, search) : near(found, hunk.at - 1);
    if (places.length > 1) throw severalPlaces(places, hunk, search);
    const [at] = places;
    if (at === undefined) continue;
    const offset = hunk.at === undefined ? 0 : at - (hunk.at - 1);
    const fuzz = [
      ...(offset === 0 ? [] : [`${Math.abs(offset)} lines ${offset > 0 ? 'further down' : 'further up'}`]),
      ...(says ? [says] : []),
    ];
    return { at, ...(fuzz.length > 0 && { fuzz: fuzz.join(', ') }) };
  }
  throw noPlace(hunk, old, search);
}

/** The position that a unified diff names; otherwise all that are close to it. */
function near(found: readonly number[], stated: number): number[] {
  return found.includes(stated) ? [stated] : found.filter((at) => Math.abs(at - stated) <= mostOffset);
}

/** For each line that the hunk must be below: the first position after it. */
function belowContext(hunk: Hunk, found: readonly number[], { from, path, views }: Search): number[] {
  if (hunk.below === undefined) return [...found];
  const contexts = contextLines(views, hunk.below, from);
  if (contexts.length === 0) throw noContext(hunk, path);
  // The hunk may repeat the line as its first one.
  let next = 0;
  return found.filter((at) => {
    const begin = next;
    while ((contexts[next] ?? Number.POSITIVE_INFINITY) <= at) next += 1;
    return next > begin;
  });
}

function contextLines(views: LineViews, below: string, from: number): number[] {
  for (const level of levels.keys()) {
    const found = views.matches([below], level, from);
    if (found.length > 0) return found;
  }
  return [];
}

function placeOfInsertion({ lines }: TextLines, hunk: Hunk, search: Search): Place {
  if (hunk.at !== undefined) {
    if (hunk.at < search.from || hunk.at > lines.length) {
      throw new PatchError(
        `The hunk in line ${hunk.patchLine} of the patch inserts after line ${hunk.at} of '${search.path}', which has ${lines.length} lines.`,
      );
    }
    return { at: hunk.at };
  }
  if (hunk.below === undefined || hunk.atEnd) return { at: lines.length };
  const contexts = contextLines(search.views, hunk.below, search.from);
  if (contexts.length > 1) throw severalPlaces(contexts, hunk, search);
  const [line] = contexts;
  if (line === undefined) throw noContext(hunk, search.path);
  return { at: line + 1 };
}

function severalPlaces(places: readonly number[], { patchLine }: Hunk, { path }: Search): PatchError {
  const shown = places.slice(0, 10).map((at) => at + 1);
  const more = places.length > shown.length ? ', …' : '';
  return new PatchError(
    `The hunk in line ${patchLine} of the patch fits at ${places.length} places of '${path}' (lines ${shown.join(', ')}${more}). Add lines of the file before or after the change, or a unique line above it after '@@ '.`,
  );
}

function noContext({ below, patchLine }: Hunk, path: string): PatchError {
  return new PatchError(
    `The line '${below}' after '@@ ' in line ${patchLine} of the patch is not in '${path}', or is not after the previous hunk.`,
  );
}

function noPlace(hunk: Hunk, old: readonly string[], { from, path, text, views }: Search): PatchError {
  const first = old.find((line) => line.trim() !== '') ?? '';
  const similar = similarLines(text, first);
  const isEarlier = levels.some((_, level) => views.matches(old, level, 0).some((at) => at < from));
  const hint = isEarlier
    ? 'Its lines are before the previous hunk: give the hunks in the order of the file.'
    : similar.length > 0
      ? `The lines most similar to '${first.trim().slice(0, 200)}':\n${similar.join('\n')}`
      : 'Read the file again.';
  const where = hunk.atEnd ? ' at the end of' : ' in';
  return new PatchError(`The lines of the hunk in line ${hunk.patchLine} of the patch were not found${where} '${path}'. ${hint}`);
}
