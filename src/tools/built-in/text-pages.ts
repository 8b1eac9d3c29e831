import { countLines, startOfLine } from '../../core/text';
import { shownLine } from './read-lines';

export interface LinesPage {
  /** As `L{n}: text`, clipped. */
  lines: string[];
  /** Number of lines of the whole text. A line break at the end begins no further line. */
  total: number;
}

/** Returns lines of a text from `offset` (from 1) on: as many as fit into `maxBytes`, and at least one. */
export function linesPage(text: Buffer, { offset, limit, maxBytes }: { offset: number; limit: number; maxBytes: number }): LinesPage {
  const lines: string[] = [];
  let room = maxBytes;
  for (let start = startOfLine(text, offset); start !== undefined && start < text.length && lines.length < limit; ) {
    const end = endOfLine(text, start);
    const line = shownLine(offset + lines.length, text.toString('utf8', start, end));
    room -= Buffer.byteLength(line) + 1;
    if (room < 0 && lines.length > 0) break;
    lines.push(line);
    start = end + 1;
  }
  return { lines, total: countLines(text) };
}

/** Returns one line of a text, from 1; undefined if there are not that many. */
export function lineOf(text: Buffer, number: number): string | undefined {
  const start = startOfLine(text, number);
  return start === undefined ? undefined : text.toString('utf8', start, endOfLine(text, start));
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
 * and about `maxBytes`, and splits none of them. Only the surroundings of the piece are looked at, however long the line is.
 */
export function graphemePage(
  line: string,
  { offset, limit, maxBytes }: { offset: number; limit: number; maxBytes: number },
): [number, number] {
  const from = afterPair(line, Math.max(0, offset - longestGrapheme));
  const start = from + (segmenter.segment(line.slice(from, offset + longestGrapheme)).containing(offset - from)?.index ?? 0);
  const near = line.slice(start, start + maxBytes + longestGrapheme);
  let [end, bytes, count] = [0, 0, 0];
  for (const { index, segment } of segmenter.segment(near)) {
    bytes += Buffer.byteLength(segment);
    if (count >= limit || bytes > maxBytes) break;
    end = index + segment.length;
    count += 1;
  }
  // A single one that does not fit is split, so that there is always a next page.
  return [start, end > 0 ? start + end : afterPair(line, start + Math.min(near.length, Math.floor(maxBytes / 4)))];
}

/** The position, or the next one if it is inside a surrogate pair. */
function afterPair(text: string, at: number): number {
  const isInside = /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '');
  return isInside ? at + 1 : at;
}
