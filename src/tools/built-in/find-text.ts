/** How a text was found: as it is, or with other blanks at the ends of lines and another indentation of all of them. */
export type TextMatch = 'exact' | 'whitespace';

/** A place in a text, and what replaces it. */
export interface TextPlace {
  start: number;
  end: number;
  replacement: string;
}

/** Returns the places of `old` that do not overlap, with the replacement in the form of the place. */
export function findText(text: string, old: string, replacement: string, match: TextMatch): TextPlace[] {
  return match === 'exact' ? findExactly(text, old, replacement) : findLines(text, old, replacement);
}

/** A model sees no carriage returns, so a text without any is also sought with the line breaks of Windows. */
function findExactly(text: string, old: string, replacement: string): TextPlace[] {
  const plain = occurrences(text, old).map((start) => ({
    start,
    end: start + old.length,
    replacement: asLineBreaksAt(text, start, replacement),
  }));
  if (plain.length > 0 || !old.includes('\n') || !text.includes('\r\n') || old.includes('\r')) return plain;
  const withReturns = toWindows(old);
  const windows = toWindows(replacement);
  return occurrences(text, withReturns).map((start) => ({ start, end: start + withReturns.length, replacement: windows }));
}

function occurrences(text: string, sought: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + sought.length)) found.push(at);
  return found;
}

/** The replacement of a part of a line that ends with a Windows line break gets such line breaks too. */
function asLineBreaksAt(text: string, start: number, replacement: string): string {
  const end = text.indexOf('\n', start);
  return end > 0 && text[end - 1] === '\r' && !replacement.includes('\r') ? toWindows(replacement) : replacement;
}

function toWindows(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}

interface Line {
  text: string;
  start: number;
  /** Without the line break. */
  end: number;
}

/** Whole lines that differ from `old` only in blanks at their ends, and in an indentation that all of them have more or less of. */
function findLines(text: string, old: string, replacement: string): TextPlace[] {
  const endsWithBreak = old.endsWith('\n');
  const wanted = linesOf(old).map((line) => line.text.trimEnd());
  if (endsWithBreak) wanted.pop();
  const lines = linesOf(text);
  const found: TextPlace[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at += 1) {
    const indentation = indentationOf(lines.slice(at, at + wanted.length), wanted);
    const [first, last, next] = [lines[at], lines[at + wanted.length - 1], lines[at + wanted.length]];
    if (!indentation || !first || !last || (endsWithBreak && !next)) continue;
    const indented = asLineBreaksAt(text, first.start, indent(replacement, indentation));
    found.push({ start: first.start, end: endsWithBreak && next ? next.start : last.end, replacement: indented });
    at += wanted.length - 1;
  }
  return found;
}

interface Indentation {
  add: string;
  remove: string;
}

/** The difference in indentation, if it is the same for all lines that are not blank, and the lines are otherwise equal. */
function indentationOf(lines: readonly Line[], wanted: readonly string[]): Indentation | undefined {
  let difference: Indentation | undefined;
  for (const [at, line] of lines.entries()) {
    const [have, want = ''] = [line.text.trimEnd(), wanted[at]];
    if (have.trimStart() !== want.trimStart()) return undefined;
    if (have === '') continue;
    const [own, given] = [blanksBefore(have), blanksBefore(want)];
    const isDeeper = own.endsWith(given);
    if (!isDeeper && !given.endsWith(own)) return undefined;
    const here = isDeeper
      ? { add: own.slice(0, own.length - given.length), remove: '' }
      : { add: '', remove: given.slice(0, given.length - own.length) };
    if (difference && (difference.add !== here.add || difference.remove !== here.remove)) return undefined;
    difference = here;
  }
  return difference;
}

function blanksBefore(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
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
    const found = { text: line, start, end: start + line.length - (line.endsWith('\r') ? 1 : 0) };
    start += line.length + 1;
    return found;
  });
}
