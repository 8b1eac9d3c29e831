import { bounds } from '../../core/bounds';
import { bytesOf } from '../../core/context/carry';
import type { Content, FilePart, ImagePart, Part } from '../../core/message';
import { shortText, wellFormed } from '../../core/text';
import { maxParts } from '../../core/tool';
import { tokensIn } from '../../core/waste';

/** Maximum text of one tool result, in bytes of UTF-8. */
export const maxOutputBytes = 50 * 1024;
/** Maximum size of a result's images and files. */
export const maxImageBytes = bounds.mediaBytes;
/** Space for the marker with any number. */
const markerBytes = 160;

/**
 * Shortens a text to at most `max` bytes (at least 320), and to twice as many as JSON, where a control character takes six: its head and tail, around a
 * marker that says how much is missing. `ref`: where the whole is.
 */
export function capText(text: string, max = maxOutputBytes, ref?: string): string {
  let [limit, shown] = [max, cutText(text, max, ref)];
  for (let bytes = jsonBytes(shown); bytes > 2 * max && limit > 2 * markerBytes; bytes = jsonBytes(shown)) {
    limit = Math.min(limit - 1, Math.floor((limit * 2 * max) / bytes));
    shown = cutText(text, limit, ref);
  }
  return shown;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

/** Whether a text is too long, or too long as JSON. */
function isLong(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes > maxOutputBytes || (bytes * 6 > 2 * maxOutputBytes && jsonBytes(text) > 2 * maxOutputBytes);
}

function cutText(text: string, max: number, ref?: string): string {
  const total = Buffer.byteLength(text);
  // A lone surrogate, which no encoder can represent, becomes a replacement character here too.
  if (total <= max) return wellFormed(text);
  const half = Math.floor((Math.max(max, 2 * markerBytes) - markerBytes) / 2);
  // `half` characters have at least `half` bytes. The middle is not copied, however long it is.
  const [head, tail] = [Buffer.from(text.slice(0, half)), Buffer.from(text.slice(-half))];
  return headAndTail(head.subarray(0, half), tail.subarray(tail.length - half), total, (bytes) => leftOut(bytes, ref));
}

/**
 * Joins the first and the last bytes of `total`, cut at whole lines if a line break is near the cut, otherwise at whole characters. Between them is a
 * marker, made of how many bytes are missing and where they begin.
 */
export function headAndTail(
  head: Buffer,
  tail: Buffer,
  total: number,
  marker: (bytes: number, at: number) => string = (bytes) => leftOut(bytes),
): string {
  const end = lineEnd(head) ?? characterEnd(head);
  const start = lineStart(tail) ?? characterStart(tail);
  const first = head.toString('utf8', 0, end);
  return `${first}${first === '' || first.endsWith('\n') ? '' : '\n'}${marker(total - end - (tail.length - start), end)}\n${tail.toString('utf8', start)}`;
}

export function sizeLeftOut(bytes: number): string {
  return `${bytes} bytes (about ${tokensIn(bytes)} tokens) left out`;
}

/** Says what a view lacks, and where the whole is. */
function leftOut(bytes: number, ref?: string): string {
  const size = sizeLeftOut(bytes);
  return ref === undefined ? `[... ${size}, not kept ...]` : `[... ${size} ...]\n${truncated(ref)}`;
}

function truncated(ref: string): string {
  return `[tool output truncated; ref=${ref}]`;
}

/** Whether `capContent` shortens the content. */
export function isOverCap(content: Content): boolean {
  if (typeof content === 'string') return isLong(content);
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return isLong(text) || content.length > maxParts;
}

interface Cap {
  /** Bytes of text, and of images and files. */
  max?: number;
  media?: number | undefined;
  /** Where the whole is. */
  ref?: string;
}

/**
 * Limits the total text of the parts, and omits images and files that are too large, and excess parts. Notes each omission in its place, with
 * `ref`, where the whole is.
 */
export function capContent(content: Content, { max = maxOutputBytes, media: maxMedia = maxImageBytes, ref }: Cap = {}): Content {
  if (typeof content === 'string') return capText(content, max, ref);
  let text = max;
  let media = maxMedia;
  let omitted = 0;
  const parts = content.slice(0, maxParts).flatMap((part): Part[] => {
    if (part.type !== 'text') {
      const size = urlBytes(part, media);
      if (size > media) return [{ type: 'text', text: `[${part.type} left out: ${size} bytes, too large for the conversation]` }];
      media -= size;
      return [soundPart(part)];
    }
    const size = Buffer.byteLength(part.text);
    if (size > text && text < 2 * markerBytes) {
      omitted += size;
      return [];
    }
    const capped = capText(part.text, text, ref);
    text -= Buffer.byteLength(capped);
    return [{ type: 'text', text: capped }];
  });
  if (omitted > 0) parts.push({ type: 'text', text: leftOut(omitted, ref) });
  if (content.length > maxParts) {
    const words = `[... parts after the first ${maxParts} left out ...]`;
    parts.push({ type: 'text', text: ref === undefined ? words : `${words}\n${truncated(ref)}` });
  }
  return parts;
}

/** The size in a payload, where escaped quotes and control characters need more bytes than in memory. It is never below the length. */
export function urlBytes({ url }: ImagePart | FilePart, max: number): number {
  return url.length > max ? url.length : bytesOf(url);
}

const details: readonly unknown[] = ['auto', 'low', 'high'];

const newline = 0x0a;

/** After the last line break, if it is in the second half: a clean cut is not worth losing more. */
function lineEnd(bytes: Buffer): number | undefined {
  const at = bytes.lastIndexOf(newline);
  return at + 1 > bytes.length / 2 ? at + 1 : undefined;
}

function lineStart(bytes: Buffer): number | undefined {
  const at = bytes.indexOf(newline);
  return at !== -1 && at + 1 < bytes.length / 2 ? at + 1 : undefined;
}

/** The end of the last complete UTF-8 character. */
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

function soundPart(part: ImagePart | FilePart): Part {
  const url = wellFormed(part.url);
  if (part.type === 'image') return { type: 'image', url, ...(details.includes(part.detail) && { detail: part.detail }) };
  const { mediaType, name } = part;
  return {
    type: 'file',
    url,
    mediaType: shortText(mediaType, bounds.nameChars),
    ...(typeof name === 'string' && { name: shortText(name, bounds.nameChars) }),
  };
}
