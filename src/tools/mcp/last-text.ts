import { grownText } from '../../core/text';
import type { SecretMask } from '../running/secret-mask';

/** The end of what a server has written, without secrets. */
export class LastText {
  #text = '';
  #isCut = false;

  constructor(
    private readonly maxChars: number,
    private readonly secret: SecretMask,
  ) {}

  add(piece: string): void {
    const chars = this.#text.length + piece.length;
    this.#text = grownText(this.#text, piece, this.maxChars + this.secret.maxBytes);
    this.#isCut ||= this.#text.length < chars;
  }

  toString(): string {
    const shown = this.secret.text(this.#text);
    // A secret whose beginning was cut off is in the first characters.
    return shown.slice(this.#isCut ? this.secret.maxBytes : 0).slice(-this.maxChars);
  }
}
