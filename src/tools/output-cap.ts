import { bytesOf } from '../core/context/carry';
import type { Content, Part } from '../core/message';
import { wellFormed } from '../core/text';
import { maxParts } from '../core/tool';

/** What one tool result may bring into the conversation, in bytes of UTF-8. */
export const maxOutputBytes = 50 * 1024;
/** Images can't be cut, so one that is larger is left out: the answer must fit into a Temporal payload (2 MB). */
export const maxImageBytes = 1024 * 1024;
/** Room for the marker line, whatever number stands in it. */
const markerBytes = 64;

/** A text of at most `max` bytes (at least 128): whole if it fits, else its beginning and its end around a line that says how much is missing. */
export function capText(text: string, max = maxOutputBytes): string {
  const total = Buffer.byteLength(text);
  // Half of a surrogate pair, which no encoder writes as it is, becomes a replacement character here too.
  if (total <= max) return wellFormed(text);
  const half = Math.floor((Math.max(max, 2 * markerBytes) - markerBytes) / 2);
  // So many characters have so many bytes at least. The middle is not copied, however long it is.
  const [head, tail] = [Buffer.from(text.slice(0, half)), Buffer.from(text.slice(-half))];
  return headAndTail(head.subarray(0, half), tail.subarray(tail.length - half), total);
}

/** Joins the first and the last bytes of `total`, cut back to whole lines where there is one near the cut, to whole characters otherwise. */
export function headAndTail(head: Buffer, tail: Buffer, total: number): string {
  const end = lineEnd(head) ?? characterEnd(head);
  const start = lineStart(tail) ?? characterStart(tail);
  const left = total - end - (tail.length - start);
  const first = head.toString('utf8', 0, end);
  return `${first}${first === '' || first.endsWith('\n') ? '' : '\n'}[... ${left} bytes left out ...]\n${tail.toString('utf8', start)}`;
}

/** Caps text parts together and leaves out images that are too large, and parts that are too many. Says what is missing in the place where it is missing. */
export function capContent(content: Content, max = maxOutputBytes): Content {
  if (typeof content === 'string') return capText(content, max);
  let text = max;
  let images = maxImageBytes;
  let leftOut = 0;
  const parts = content.slice(0, maxParts).flatMap((part): Part[] => {
    if (part.type === 'image') {
      // As it will stand in a payload, where quotes and control characters take more room than in memory. It is never less than its length.
      const size = part.url.length > images ? part.url.length : bytesOf(part.url);
      if (size > images) return [{ type: 'text', text: `[image left out: ${size} bytes, too large for the conversation]` }];
      images -= size;
      const { url, detail } = part;
      return [{ type: 'image', url: wellFormed(url), ...(details.includes(detail) && { detail }) }];
    }
    const size = Buffer.byteLength(part.text);
    if (size > text && text < 2 * markerBytes) {
      leftOut += size;
      return [];
    }
    const capped = capText(part.text, text);
    text -= Buffer.byteLength(capped);
    return [{ type: 'text', text: capped }];
  });
  if (leftOut > 0) parts.push({ type: 'text', text: `[... ${leftOut} bytes left out ...]` });
  if (content.length > maxParts) parts.push({ type: 'text', text: `[... parts after the first ${maxParts} left out ...]` });
  return parts;
}

const details: readonly unknown[] = ['auto', 'low', 'high'];

const newline = 0x0a;

/** After the last line break, if it is in the second half: losing more than that for a neat cut is not worth it. */
function lineEnd(bytes: Buffer): number | undefined {
  const at = bytes.lastIndexOf(newline);
  return at + 1 > bytes.length / 2 ? at + 1 : undefined;
}

function lineStart(bytes: Buffer): number | undefined {
  const at = bytes.indexOf(newline);
  return at !== -1 && at + 1 < bytes.length / 2 ? at + 1 : undefined;
}

/** Where the last whole UTF-8 character ends. */
function characterEnd(bytes: Buffer): number {
  let lead = bytes.length - 1;
  while (lead > 0 && bytes.length - lead < 4 && isContinuation(bytes[lead])) lead -= 1;
  const first = bytes[lead] ?? 0;
  const needs = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return needs > bytes.length - lead ? lead : bytes.length;
}

function characterStart(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at += 1;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
