import { printable } from '../../core/printable';

/** The mark of a row that continues a line because of the terminal's width. It differs from the mark of a line break, which is part of the value. */
const mark = '┆ ';
/** The smallest width to wrap to. A narrower terminal is not suitable for decisions. */
const fewestColumns = 30;
/** The largest indentation of a continued row. */
const deepest = 8;

// biome-ignore lint/suspicious/noControlCharactersInRegex: only our own remain, because those of untrusted text are shown by their numbers
const colour = /\u001b\[[\d;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const colourOrCharacter = /\u001b\[[\d;]*m|./gsu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const colourOrText = /\u001b\[[\d;]*m|[^\u001b]+/g;

/**
 * Wraps the text of a decision to the terminal. If the terminal wrapped a line, the new row could begin with any text: blanks, a name and a colon would
 * look like the next argument, a number like another option. A continued row has the indentation of its line.
 */
export function fitted(text: string, columns: number): string {
  const lines = text.split('\n').map((line) => rowsOf(line, columns).join('\n'));
  return lines.join('\n');
}

export function withoutColours(text: string): string {
  return text.replace(colour, '');
}

/** The maximum number of columns that a text takes: beyond the alphabets of Europe, the Near East and India, a character may take two. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
  return columns;
}

function rowsOf(line: string, columns: number): string[] {
  // The last column stays free, because some terminals move to the next row when it is written.
  const room = Math.max(fewestColumns, columns - 1);
  const before = ' '.repeat(Math.min(deepest, /^ */.exec(withoutColours(line))?.[0].length ?? 0));
  const characters = line.match(colourOrCharacter) ?? [];
  const rows: string[] = [];
  let row: string[] = [];
  let used = 0;
  let begins = false;
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (isColour(character)) {
      row.push(character);
      continue;
    }
    // A character that modifies the end of the previous row has no effect in this row, so it is shown by its number.
    const shown: string = begins ? printable(character) : character;
    const needed = columnsOf(shown);
    if (used + needed > room) {
      // A row can't end with such a character either: whether it is needed depends on the next character.
      for (; row.length > 1 && isHidden(row.at(-1) as string); i--) row.pop();
      rows.push(row.join(''));
      row = [before, mark];
      used = columnsOf(before) + columnsOf(mark);
      begins = true;
      i--;
      continue;
    }
    row.push(shown);
    used += needed;
    begins &&= shown !== character;
  }
  return [...rows, row.join('')].map((one) => one.replace(colourOrText, (part) => (isColour(part) ? part : printable(part))));
}

function isColour(part: string): boolean {
  return part.startsWith('\u001b');
}

function isHidden(character: string): boolean {
  return !isColour(character) && printable(character) !== character;
}
