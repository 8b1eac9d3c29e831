import { isUtf8 } from 'node:buffer';
import { artifactUrl } from '../../core/artifact-url';
import { type Content, type FilePart, fileWords, type ImagePart, type OutputRef, type Part } from '../../core/message';
import { maxParts } from '../../core/tool';
import { capContent, isOverCap, maxImageBytes, urlBytes } from './output-cap';

/** Stores bytes for the thread of a call. Returns undefined if they could not be stored; never rejects. */
export type KeepBytes = (bytes: Uint8Array, mediaType: string) => Promise<OutputRef | undefined>;

/** What a tool has returned: what the model would see if it were short, or bytes. */
export type RawOutput = Content | Uint8Array;

/** What the model sees, and where the whole is. */
export interface ShownOutput {
  content: Content;
  outputRef?: OutputRef;
}

/** Outputs up to this size stay in the transcript whatever is pruned from it, so they need no reference. */
const smallBytes = 200;

/**
 * Stores an output, and shortens it to what the model sees. Without `keep`, what is left out is lost. `media`: how many bytes of images and files the
 * history has room for.
 */
export async function shownOutput(output: RawOutput, keep?: KeepBytes, media = maxImageBytes): Promise<ShownOutput> {
  if (output instanceof Uint8Array) return shownBytes(output, keep);
  if (!keep) return { content: capContent(output, { media }) };
  const content = typeof output === 'string' ? output : await withStoredMedia(output, keep, media);
  const bytes = Buffer.from(typeof content === 'string' ? content : textOfParts(content));
  const ref = bytes.length > smallBytes ? await keep(bytes, 'text/plain') : undefined;
  if (!ref) return { content: capContent(content, { media }) };
  if (!isOverCap(content)) return { content: capContent(content, { media }), outputRef: ref };
  return { content: capContent(content, { media, ref: ref.id }), outputRef: { ...ref, trimmed: true } };
}

async function shownBytes(bytes: Uint8Array, keep?: KeepBytes): Promise<ShownOutput> {
  if (isUtf8(bytes)) return shownOutput(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), keep);
  const ref = await keep?.(bytes, 'application/octet-stream');
  if (!ref) return { content: `[${bytes.length} bytes of binary data, not kept]` };
  return { content: `[${bytes.length} bytes of binary data; ref=${ref.id}]`, outputRef: { ...ref, trimmed: true } };
}

/** Moves images and files that are too large for the history into the store. Those that can't be stored stay, and are left out later. */
async function withStoredMedia(parts: readonly Part[], keep: KeepBytes, media: number): Promise<Part[]> {
  let room = media;
  const stored: Part[] = [];
  for (const [at, part] of parts.entries()) {
    const isLarge = part.type !== 'text' && at < maxParts && urlBytes(part, room) > room;
    const kept = isLarge ? await storedPart(part, keep) : part;
    if (kept.type !== 'text') room -= Math.min(room, urlBytes(kept, room));
    stored.push(kept);
  }
  return stored;
}

async function storedPart(part: ImagePart | FilePart, keep: KeepBytes): Promise<Part> {
  const data = parseDataUrl(part.url);
  const ref = data && (await keep(data.bytes, data.mediaType));
  return ref ? { ...part, url: artifactUrl(ref.mediaType, ref.id) } : part;
}

/** The content of a `data:` URL; undefined if it is none. */
function parseDataUrl(url: string): { mediaType: string; bytes: Buffer } | undefined {
  const comma = url.indexOf(',');
  if (!url.startsWith('data:') || comma === -1) return undefined;
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const data = url.slice(comma + 1);
  try {
    return { mediaType, bytes: parameters.includes('base64') ? Buffer.from(data, 'base64') : Buffer.from(decodeURIComponent(data)) };
  } catch {
    return undefined;
  }
}

/** The texts of an output's parts, with a line for each image or file. */
function textOfParts(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.type === 'file' ? fileWords(part) : imageWords(part))).join('\n');
}

function imageWords({ url }: ImagePart): string {
  return url.startsWith('data:') ? '[Image]' : `[Image: ${url}]`;
}
