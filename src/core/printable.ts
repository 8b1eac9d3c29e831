/**
 * What models, tools and people say, as it may stand before a person: nothing in it moves a cursor, and nothing is unseen or changes the
 * order of what is seen. Such characters are shown by their numbers (`<U+202E>`); line breaks stay, and a tab becomes two spaces.
 * All else stays as it is, in every language: emoji keep their joiners and variation selectors, and so do the scripts whose words need
 * some. Printed again it is the same.
 */
export function printable(text: string): string {
  if (ordinary.test(text)) return text;
  const plain = text.replaceAll('\r\n', '\n').replaceAll('\t', '  ');
  return hidden.test(plain) ? plain.replace(hiddenOrNeeded, (found, needed?: string) => needed ?? byNumber(found)) : plain;
}

/** The same on one line: blanks and line breaks in a row are one space. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ');
}

/**
 * What is new in a text that grows: from `from` up to where the next piece can't change how it is shown any more, which is `to`; with
 * `whole`, up to the end.
 */
export function printableSince(text: string, from: number, whole = false): { part: string; to: number } {
  const open = whole ? 0 : (unsettled.exec(text.slice(Math.max(from, text.length - context)))?.[0].length ?? 0);
  const to = text.length - open;
  const begin = Math.max(0, from - context);
  return { part: printable(text.slice(begin, to)).slice(printable(text.slice(begin, from)).length), to };
}

/** An output without the sequences by which programs colour what they print, and with a line for each that they wrote over. */
export function withoutSequences(output: string): string {
  return output.replace(sequence, '').replace(/\r+\n?/g, '\n');
}

/** JSON whose hidden characters are written as escapes: the same value to a program, and harmless on a terminal. */
export function printableJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return hidden.test(json) ? json.replace(hiddenOrNeeded, (found, needed?: string) => needed ?? escapes(found)) : json;
}

/**
 * Long runs of blanks by their number (`<2400 blanks>`): they push what follows off the screen. Indents and tables of ordinary code are
 * shorter: of two million lines of packages from npm and Python's library one in two thousand has a run of more than 40 (and one in a
 * hundred of more than 20), and after 40 there is still half of a terminal's line to see what follows.
 */
export function countedBlanks(text: string): string {
  return text.replace(/[\t\p{Zs}\u2800]{41,}/gu, (run) => `<${run.length} blanks>`);
}

/** Whether a text has characters that `printable` shows by their numbers, or that break its line. */
export function hasHidden(text: string): boolean {
  return /[\n\t]/.test(text) || printable(text) !== text;
}

/** Control characters, halves of surrogate pairs, separators of lines, and what Unicode has fonts ignore: invisible, or an order to them. */
const hiddenClass = String.raw`(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}]`;

/** Scripts in whose words joiners and non-joiners are spelling, and scripts that part their words by spaces without a width. */
const joining = scripts('Arabic Syriac Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar');
const spaceless = scripts('Khmer Lao Myanmar Thai');

/** Where such a character is needed, and what stands around it tells that it is there. */
const needed = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?)\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=[${joining}])[\u200C\u200D](?=[${joining}])`,
  String.raw`(?<=[${spaceless}])\u200B(?=[${spaceless}])`,
  String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
  String.raw`(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}]`,
  String.raw`(?<=\p{Script=Mongolian})[\u180B-\u180F]`,
  // The flags of England, Scotland and Wales.
  String.raw`(?<=\u{1F3F4})\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}`,
].join('|');

/** Most texts, and quickly told: pages are made of them at every event of a thread. */
const ordinary = /^[\n -~]*$/;
const hidden = new RegExp(hiddenClass, 'u');
const hiddenOrNeeded = new RegExp(`(?=${hiddenClass})(?:(${needed})|${hiddenClass})`, 'gu');

/** At the end of a piece: what is judged by the character behind it, the beginning of a flag, and the first half of a character. */
const unsettled = /(?:[\r\u200B-\u200D]|\uFE0F|\u{1F3F4}[\u{E0061}-\u{E007A}]{0,5})?[\uD800-\uDBFF]?$/u;
/** More than what stands before a character decides on it, in UTF-16 units. */
const context = 16;

/** An escape sequence of a terminal, whole: CSI; a string (OSC, DCS, SOS, PM, APC) with its end; or one of two or three characters. */
const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to go
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/g;

function scripts(names: string): string {
  return names
    .split(' ')
    .map((name) => String.raw`\p{Script=${name}}`)
    .join('');
}

function byNumber(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

function escapes(character: string): string {
  return Array.from(character.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}
