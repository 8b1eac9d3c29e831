/**
 * Where the lines of a text in UTF-8 begin. It is built from the pieces of the text, and finds a line by looking into one piece only, so that the
 * lines of a long text neither are counted nor found in one go.
 */
export class LineIndex {
  /** For each piece, the number of line breaks up to its end. */
  readonly #breaks: number[] = [];
  /** For each piece, the position of its end. */
  readonly #ends: number[] = [];
  #endsWithBreak = true;

  /** Adds the next piece of the text. */
  add(piece: Uint8Array): void {
    let breaks = this.#breaks.at(-1) ?? 0;
    // Looking for the next line break from each one would take a hundred times as long if there are millions.
    for (let i = 0; i < piece.length; i++) if (piece[i] === newline) breaks += 1;
    this.#breaks.push(breaks);
    this.#ends.push((this.#ends.at(-1) ?? 0) + piece.length);
    if (piece.length > 0) this.#endsWithBreak = piece[piece.length - 1] === newline;
  }

  /** Number of lines. A line break at the end begins no further line. */
  get total(): number {
    return (this.#breaks.at(-1) ?? 0) + (this.#endsWithBreak ? 0 : 1);
  }

  /** The position in `text`, the whole of it, at which a line begins, counted from 1; undefined if there are not that many. */
  startOf(text: Uint8Array, line: number): number | undefined {
    if (line > this.total) return undefined;
    if (line <= 1) return 0;
    const piece = this.#breaks.findIndex((breaks) => breaks >= line - 1);
    let at = this.#ends[piece - 1] ?? 0;
    for (let breaks = this.#breaks[piece - 1] ?? 0; breaks < line - 1; at++) if (text[at] === newline) breaks += 1;
    return at;
  }
}

const newline = 0x0a;
