const newline = 0x0a;

/** Splits a stream of bytes into lines, each of at most `max` bytes. */
export class Lines {
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly max: number) {}

  /** Returns the lines that the chunk completes, without line breaks; undefined if a line is too long. */
  add(chunk: Buffer): string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      if (!this.#keep(chunk.subarray(from, at))) return undefined;
      lines.push(Buffer.concat(this.#pieces).toString('utf8'));
      this.#pieces = [];
      this.#bytes = 0;
      from = at + 1;
    }
    return this.#keep(chunk.subarray(from)) ? lines : undefined;
  }

  #keep(piece: Buffer): boolean {
    this.#bytes += piece.length;
    if (this.#bytes > this.max) return false;
    if (piece.length > 0) this.#pieces.push(piece);
    return true;
  }
}
