import { StringDecoder } from 'node:string_decoder';
import { ContentHash } from './content-hash';
import type { OpenFile } from './workspace';

/** Longer lines are clipped, so that one line of minified code doesn't take up the whole result. */
export const maxLineLength = 2_000;

export interface LineWindow {
  /** The requested lines, clipped, as many as fit `maxBytes` (at least one). */
  lines: string[];
  /** Number of lines in the whole file. A line break at the end begins no further line. */
  total: number;
  /** Of the whole file, as bytes. */
  hash: string;
}

/** Returns `undefined` for a binary file. Reads the whole file to count its lines, and keeps only the requested ones. */
export async function readLines(
  handle: OpenFile,
  want: { offset: number; limit: number; maxBytes: number },
  signal: AbortSignal,
): Promise<LineWindow | undefined> {
  const collector = new LineCollector(want);
  const decoder = new StringDecoder('utf8');
  const hash = new ContentHash();
  const chunk = Buffer.alloc(64 * 1024);
  for (let first = true; ; first = false) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, chunk.length);
    if (bytesRead === 0) break;
    const bytes = chunk.subarray(0, bytesRead);
    if (first && bytes.subarray(0, 8192).includes(0)) return undefined;
    hash.add(bytes);
    const text = decoder.write(bytes);
    collector.add(first ? text.replace(/^\uFEFF/, '') : text);
  }
  collector.add(decoder.end());
  return { ...collector.end(), hash: hash.end() };
}

class LineCollector {
  readonly #lines: string[] = [];
  #bytes = 0;
  #full = false;
  /** The current line: its number from 1, its beginning, and its total length. */
  #number = 1;
  #text = '';
  #length = 0;

  constructor(private readonly want: { offset: number; limit: number; maxBytes: number }) {}

  add(text: string): void {
    let from = 0;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      this.#append(text.slice(from, at));
      this.#endLine();
      from = at + 1;
    }
    this.#append(text.slice(from));
  }

  end(): Omit<LineWindow, 'hash'> {
    if (this.#length > 0) this.#endLine();
    return { lines: this.#lines, total: this.#number - 1 };
  }

  #append(text: string): void {
    this.#length += text.length;
    if (this.#wanted() && this.#text.length < maxLineLength) this.#text += text.slice(0, maxLineLength + 1 - this.#text.length);
  }

  #endLine(): void {
    if (this.#wanted()) {
      const line = shownLine(this.#number, this.#text, this.#length);
      this.#bytes += Buffer.byteLength(line) + 1;
      if (this.#bytes > this.want.maxBytes && this.#lines.length > 0) this.#full = true;
      else this.#lines.push(line);
    }
    this.#number += 1;
    this.#text = '';
    this.#length = 0;
  }

  #wanted(): boolean {
    return !this.#full && this.#number >= this.want.offset && this.#lines.length < this.want.limit;
  }
}

/** A line as `L{n}: text`, clipped. `text`: at least its beginning; `length`: of the whole line. */
export function shownLine(number: number, text: string, length: number = text.length): string {
  if (length <= maxLineLength) return `L${number}: ${text.replace(/\r$/, '')}`;
  const end = /[\uD800-\uDBFF]/.test(text[maxLineLength - 1] ?? '') ? maxLineLength - 1 : maxLineLength;
  return `L${number}: ${text.slice(0, end)}… [${length - end} more characters]`;
}
