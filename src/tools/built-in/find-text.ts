import { Effort, positionsOf, tooMuch } from './line-search';

/** How a text was found: as it is, or with other blanks at the ends of lines and another indentation of all of them. */
export type TextMatch = 'exact' | 'whitespace';

/** A place in a text, and what replaces it. */
export interface TextPlace {
  start: number;
  end: number;
  replacement: string;
}

/** Returns the places of `old` that do not overlap, with the replacement in the form of the place. Throws `ToolFailure` if it is too much work. */
export function findText(text: string, old: string, replacement: string, match: TextMatch): TextPlace[] {
  return match === 'exact' ? findExactly(text, old, replacement) : findLines(text, old, replacement);
}

/** Bounds of all places of one edit. */
const mostPlaces = 100_000;
const mostCharacters = 32_000_000;

/** The places that were found, within bounds. */
class Places {
  readonly found: TextPlace[] = [];
  #characters = 0;

  /** `characters`: at most as long will the replacement be. Asked before it is made, because it may be long at each of many places. */
  reserve(characters: number): void {
    this.#characters += characters;
    if (this.found.length >= mostPlaces) throw tooMuch(`old_string occurs more than ${mostPlaces} times`);
    if (this.#characters > mostCharacters) throw tooMuch(`The new text is longer than ${mostCharacters} characters in all places together`);
  }
}

/** A model sees no carriage returns, so a text without any is also sought with the line breaks of Windows. */
function findExactly(text: string, old: string, replacement: string): TextPlace[] {
  const breaks = new LineBreaks(text);
  const windows = toWindows(replacement);
  const isPlain = !replacement.includes('\r');
  const plain = occurrences(text, old, (start) => (isPlain && breaks.isWindowsAt(start) ? windows : replacement));
  if (plain.length > 0 || !old.includes('\n') || !text.includes('\r\n') || old.includes('\r')) return plain;
  return occurrences(text, toWindows(old), () => windows);
}

function occurrences(text: string, sought: string, replacementAt: (start: number) => string): TextPlace[] {
  const places = new Places();
  for (let start = text.indexOf(sought); start !== -1; start = text.indexOf(sought, start + sought.length)) {
    const replacement = replacementAt(start);
    places.reserve(replacement.length);
    places.found.push({ start, end: start + sought.length, replacement });
  }
  return places.found;
}

/** Says how lines end. To be asked in ascending order: each line break is looked for once. */
class LineBreaks {
  #end = -1;

  constructor(private readonly text: string) {}

  /** The replacement of a part of a line that ends with a Windows line break gets such line breaks too. */
  isWindowsAt(start: number): boolean {
    if (start > this.#end) {
      const end = this.text.indexOf('\n', start);
      this.#end = end === -1 ? this.text.length : end;
    }
    return this.text[this.#end] === '\n' && this.text[this.#end - 1] === '\r';
  }
}

function toWindows(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}

interface Line {
  /** Without blanks at either end. */
  words: string;
  /** The blanks before the words. */
  blanks: string;
  start: number;
  /** Without the line break. */
  end: number;
}

/** Whole lines that differ from `old` only in blanks at their ends, and in an indentation that all of them have more or less of. */
function findLines(text: string, old: string, replacement: string): TextPlace[] {
  const endsWithBreak = old.endsWith('\n');
  const wanted = linesOf(old);
  if (endsWithBreak) wanted.pop();
  const lines = linesOf(text);
  const effort = new Effort();
  const places = new Places();
  const breaks = new LineBreaks(text);
  const count = replacement.split('\n').length;
  let from = 0;
  for (const at of positionsOf(lines.map(wordsOf), wanted.map(wordsOf), 0, effort)) {
    const [first, last, next] = [lines[at], lines[at + wanted.length - 1], lines[at + wanted.length]];
    if (at < from || !first || !last || (endsWithBreak && !next)) continue;
    const indentation = indentationOf(lines, at, wanted, effort);
    if (!indentation) continue;
    places.reserve(replacement.length + count * (indentation.add.length + 1));
    const indented = indent(replacement, indentation);
    places.found.push({
      start: first.start,
      end: endsWithBreak && next ? next.start : last.end,
      replacement: breaks.isWindowsAt(first.start) && !indented.includes('\r') ? toWindows(indented) : indented,
    });
    from = at + wanted.length;
  }
  return places.found;
}

function wordsOf({ words }: Line): string {
  return words;
}

interface Indentation {
  add: string;
  remove: string;
}

/** The difference in indentation, if it is the same for all lines that are not blank. The words of the lines are equal. */
function indentationOf(lines: readonly Line[], begin: number, wanted: readonly Line[], effort: Effort): Indentation | undefined {
  let difference: Indentation | undefined;
  for (const [at, { words, blanks: given }] of wanted.entries()) {
    const { blanks: own } = lines[begin + at] as Line;
    effort.spend(1 + own.length);
    if (words === '') continue;
    const here = differenceOf(own, given);
    if (!here || (difference && (difference.add !== here.add || difference.remove !== here.remove))) return undefined;
    difference = here;
  }
  return difference;
}

function differenceOf(own: string, given: string): Indentation | undefined {
  if (own.endsWith(given)) return { add: own.slice(0, own.length - given.length), remove: '' };
  return given.endsWith(own) ? { add: '', remove: given.slice(0, given.length - own.length) } : undefined;
}

function indent(text: string, { add, remove }: Indentation): string {
  return text
    .split('\n')
    .map((line) => {
      if (line.trim() === '') return line;
      return remove !== '' && line.startsWith(remove) ? line.slice(remove.length) : add + line;
    })
    .join('\n');
}

function linesOf(text: string): Line[] {
  let start = 0;
  return text.split('\n').map((line) => {
    const have = line.trimEnd();
    const words = have.trimStart();
    const found = {
      words,
      blanks: have.slice(0, have.length - words.length),
      start,
      end: start + line.length - (line.endsWith('\r') ? 1 : 0),
    };
    start += line.length + 1;
    return found;
  });
}
