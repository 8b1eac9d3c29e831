import { ValueCount } from '../running/value-count';

const newline = 0x0a;

/** Splits a stream of bytes into lines of JSON, each of at most `maxBytes` bytes and `maxValues` values. */
export class Lines {
  #pieces: Buffer[] = [];
  #bytes = 0;
  #values: ValueCount;

  constructor(
    private readonly maxBytes: number,
    private readonly maxValues: number,
  ) {
    this.#values = new ValueCount(maxValues);
  }

  /** Returns the lines that the chunk completes, without line breaks; undefined if a line is too large. */
  add(chunk: Buffer): string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      if (!this.#keep(chunk.subarray(from, at))) return undefined;
      lines.push(Buffer.concat(this.#pieces).toString('utf8'));
      this.#pieces = [];
      this.#bytes = 0;
      this.#values = new ValueCount(this.maxValues);
      from = at + 1;
    }
    return this.#keep(chunk.subarray(from)) ? lines : undefined;
  }

  #keep(piece: Buffer): boolean {
    this.#bytes += piece.length;
    if (this.#bytes > this.maxBytes || !this.#values.add(piece)) return false;
    if (piece.length > 0) this.#pieces.push(piece);
    return true;
  }
}
