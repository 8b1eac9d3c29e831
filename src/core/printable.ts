/**
 * Makes untrusted text safe to show to people: no character moves the cursor, is invisible, or changes the order of visible text. Such
 * characters are shown by code point (`<U+202E>`). Line breaks stay, and a tab becomes two spaces. All other text in every language is unchanged:
 * emoji, and scripts that need them, keep their joiners and variation selectors. Applying it twice gives the same result.
 */
export function printable(text: string): string {
  if (ordinary.test(text)) return text;
  const plain = text.replaceAll('\r\n', '\n').replaceAll('\t', '  ');
  return hidden.test(plain) ? plain.replace(hiddenOrNeeded, (found, needed?: string) => needed ?? byNumber(found)) : plain;
}

/** As `printable`, on one line: runs of blanks (Braille's too) and line breaks become one space, and empty characters are shown by code point. */
export function printableLine(text: string): string {
  const shown = ordinary.test(text) ? text : printable(numberedEmpties(text));
  return shown.replace(/[\s\u2800]+/g, ' ');
}

/**
 * Returns the new part of a growing text in printable form. It begins at `from` and ends at `to`, up to which the next piece can't change how
 * the text is shown. With `whole`, it ends at the end of the text.
 */
export function printableSince(text: string, from: number, whole = false): { part: string; to: number } {
  const open = whole ? 0 : (unsettled.exec(text.slice(Math.max(from, text.length - context)))?.[0].length ?? 0);
  const to = text.length - open;
  const begin = Math.max(0, from - context);
  return { part: printable(text.slice(begin, to)).slice(printable(text.slice(begin, from)).length), to };
}

/** Removes terminal escape sequences from an output, and puts each line that a program overwrote on a line of its own. */
export function withoutSequences(output: string): string {
  return output.replace(sequence, '').replace(/\r+\n?/g, '\n');
}

/** Serializes a value with hidden characters as JSON escapes: the same value for programs, and harmless on a terminal. */
export function printableJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return hidden.test(json) ? json.replace(hiddenOrNeeded, (found, needed?: string) => needed ?? escapes(found)) : json;
}

/**
 * Replaces long runs of blanks by their count (`<2400 blanks>`), because they push the following text off the screen. Indents and tables of
 * ordinary code are shorter: of two million lines from npm packages and Python's library, one in two thousand has a run of more than 40 (and one
 * in a hundred of more than 20). After 40 blanks, half of a terminal's line is left for the following text.
 */
export function countedBlanks(text: string): string {
  return text.replace(blanks, (run) => (run.length > mostBlanks ? `<${run.length} blanks>` : run));
}

/**
 * Shows empty characters by code point that are neither blanks nor default ignorable: those of music, Khitan and Egyptian, and the object
 * replacement character. After a letter of their script, where they shape a word, they stay.
 */
export function numberedEmpties(text: string): string {
  return text.replace(empties, (found, needed?: string) => needed ?? byNumber(found));
}

const empties =
  /((?<=[\u{18b00}-\u{18cff}])\u{16fe4}|(?<=[\u{13000}-\u{1342f}][\u{13430}-\u{13440}]?)[\u{13430}-\u{13440}])|[\ufffc\u{13430}-\u{13442}\u{16fe4}\u{1d159}]/gu;

const mostBlanks = 40;
/** Matches each run once. A minimum length in the pattern would try a short run again from each of its blanks. */
const blanks = /[\t\p{Zs}\u2800]+/gu;
const blankCodes = new Set(
  Array.from('\t \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\u2800', (blank) =>
    blank.charCodeAt(0),
  ),
);
const carriageReturn = 0x0d;

/**
 * Returns the beginning of a text that fills `chars` characters once long runs of blanks are replaced, and a little more, on which the display
 * of the last characters depends. Reads no more of the text than that, except for blanks.
 */
export function beginningFor(text: string, chars: number): string {
  if (text.length <= chars) return text;
  let shown = 0;
  let run = 0;
  for (let i = 0; i < text.length; i++) {
    if (shown >= chars + context) return text.slice(0, i);
    const code = text.charCodeAt(i);
    run = blankCodes.has(code) ? run + 1 : 0;
    // A replaced run takes at least the room of `<41 blanks>`.
    if (run === mostBlanks + 1) shown -= mostBlanks - 10;
    // A line break of two characters is shown as one.
    else if (run <= mostBlanks && code !== carriageReturn) shown += 1;
  }
  return text;
}

/** Whether a text has line breaks, tabs, or characters that `printable` shows by code point. */
export function hasHidden(text: string): boolean {
  return /[\n\t]/.test(text) || printable(text) !== text;
}

/** Control characters, lone surrogates, line separators and default ignorable characters. */
const hiddenClass = String.raw`(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}]`;

/** Scripts that spell words with joiners and non-joiners, and scripts that separate words by zero-width spaces. */
const joining = scripts('Arabic Syriac Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar');
const spaceless = scripts('Khmer Lao Myanmar Thai');

/** Contexts in which such a character is needed and visible through its neighbours. */
const needed = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?)\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=${seenOf(joining)})[\u200C\u200D](?=${seenOf(joining)})`,
  String.raw`(?<=${seenOf(spaceless)})\u200B(?=${seenOf(spaceless)})`,
  String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
  String.raw`(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}]`,
  String.raw`(?<=${seenOf(String.raw`\p{Script=Mongolian}`)})[\u180B-\u180F]`,
  // The flags of England, Scotland and Wales.
  String.raw`(?<=\u{1F3F4})\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}`,
].join('|');

/** Matches most texts, as a fast path. */
const ordinary = /^[\n -~]*$/;
const hidden = new RegExp(hiddenClass, 'u');
const hiddenOrNeeded = new RegExp(`(?=${hiddenClass})(?:(${needed})|${hiddenClass})`, 'gu');

/**
 * At the end of a piece: a character whose display depends on the next one, the beginning of a flag with its joiner, or the first half of a
 * surrogate pair.
 */
const unsettled = /(?:[\r\u200B-\u200D]|\uFE0F|[\u200B-\u200D]?\u{1F3F4}[\u{E0061}-\u{E007A}]{0,5})?[\uD800-\uDBFF]?$/u;
/** More UTF-16 units than those before a character that affect how it is shown. */
const context = 16;

/** A complete terminal escape sequence: CSI; a string (OSC, DCS, SOS, PM, APC) with its end; or one of two or three characters. */
const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to go
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/g;

function scripts(names: string): string {
  return names
    .split(' ')
    .map((name) => String.raw`\p{Script=${name}}`)
    .join('');
}

/** Characters of scripts, except hidden ones: a hidden character is shown by code point, so it needs no joiner. */
function seenOf(scripts: string): string {
  return String.raw`(?!\p{Default_Ignorable_Code_Point})[${scripts}]`;
}

function byNumber(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

function escapes(character: string): string {
  return Array.from(character.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}
