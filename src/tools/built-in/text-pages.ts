import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from 'node:timers/promises';
import type { LineIndex } from '../../core/line-index';
import { maxLineLength, shownLine } from './read-lines';

/** A text in UTF-8. */
export interface LongText {
  bytes: Buffer;
  lines: LineIndex;
}

export interface LinesPage {
  /** As `L{n}: text`, clipped. */
  lines: string[];
  /** Number of lines of the whole text. A line break at the end begins no further line. */
  total: number;
}

/** Returns lines of a text from `offset` (from 1) on: as many as fit into `maxBytes`, and at least one. */
export async function linesPage(
  { bytes, lines: index }: LongText,
  { offset, limit, maxBytes }: { offset: number; limit: number; maxBytes: number },
): Promise<LinesPage> {
  const lines: string[] = [];
  let room = maxBytes;
  for (let start = index.startOf(bytes, offset); start !== undefined && start < bytes.length && lines.length < limit; ) {
    const end = endOfLine(bytes, start);
    const { text, length } = await decoded(bytes, { start, end, from: 0, to: maxLineLength + 1 });
    const line = shownLine(offset + lines.length, text, length);
    room -= Buffer.byteLength(line) + 1;
    if (room < 0 && lines.length > 0) break;
    lines.push(line);
    start = end + 1;
  }
  return { lines, total: index.total };
}

export interface LinePiece {
  piece: string;
  /** The position in the line at which the piece ends. */
  end: number;
  /** Length of the whole line. */
  length: number;
}

/** Returns a piece of a line, counted from 1, as `graphemePage` divides it; undefined if there are not that many lines. Empty if it begins at the end. */
export async function linePiece(
  { bytes, lines }: LongText,
  { line, offset, limit, maxBytes }: { line: number; offset: number; limit: number; maxBytes: number },
): Promise<LinePiece | undefined> {
  const start = lines.startOf(bytes, line);
  if (start === undefined) return undefined;
  const from = Math.max(0, offset - longestGrapheme);
  const near = await decoded(bytes, { start, end: endOfLine(bytes, start), from, to: offset + maxBytes + 2 * longestGrapheme });
  const { text, length } = near;
  if (offset >= length) return { piece: '', end: length, length };
  const [first, end] = graphemePage(text, { offset: offset - from, limit, maxBytes });
  return { piece: text.slice(first, end), end: from + end, length };
}

/** What is decoded at once, before the process does other work. */
const sliceBytes = 256 * 1024;

/** Decodes the bytes between `start` and `end`, and returns the text between the positions `from` and `to`, and the length of all of it. */
async function decoded(
  bytes: Buffer,
  { start, end, from, to }: { start: number; end: number; from: number; to: number },
): Promise<{ text: string; length: number }> {
  const decoder = new StringDecoder('utf8');
  let [text, length] = ['', 0];
  for (let at = start; at < end; at += sliceBytes) {
    if (at > start) await setImmediate();
    const slice = decoder.write(bytes.subarray(at, Math.min(at + sliceBytes, end)));
    text += slice.slice(Math.max(0, from - length), Math.max(0, to - length));
    length += slice.length;
  }
  return { text, length };
}

function endOfLine(text: Buffer, start: number): number {
  const at = text.indexOf('\n', start);
  return at === -1 ? text.length : at;
}

/** No character that people see as one is longer, except in texts made to be odd. */
const longestGrapheme = 100;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns a piece of a line, as positions in it: it begins at or before `offset`, has at most `limit` graphemes (what people see as characters)
 * and about `maxBytes`, and splits none of them, except those of more than 1,000 characters.
 */
function graphemePage(line: string, { offset, limit, maxBytes }: { offset: number; limit: number; maxBytes: number }): [number, number] {
  const from = afterPair(line, Math.max(0, offset - longestGrapheme));
  const start = from + (segmenter.segment(line.slice(from, offset + longestGrapheme)).containing(offset - from)?.index ?? 0);
  let [end, bytes, count] = [start, 0, 0];
  for (const grapheme of graphemesFrom(line, start)) {
    bytes += Buffer.byteLength(grapheme);
    if (count >= limit || bytes > maxBytes) break;
    end += grapheme.length;
    count += 1;
  }
  return [start, end];
}

/** How much the segmenter is given at once: its time grows with the square of the length. */
const segmentedChars = 1_000;

function* graphemesFrom(text: string, start: number): Generator<string> {
  for (let at = start; at < text.length; ) {
    const end = afterPair(text, at + segmentedChars);
    const graphemes = [...segmenter.segment(text.slice(at, end))];
    // The last one may be longer than it seems here.
    for (const { segment } of end < text.length && graphemes.length > 1 ? graphemes.slice(0, -1) : graphemes) {
      yield segment;
      at += segment.length;
    }
  }
}

/** The position, or the next one if it is inside a surrogate pair. */
function afterPair(text: string, at: number): number {
  const isInside = /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '');
  return isInside ? at + 1 : at;
}
