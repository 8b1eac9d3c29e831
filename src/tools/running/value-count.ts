const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const comma = 0x2c;
const bracket = 0x5b;
const backslash = 0x5c;
const brace = 0x7b;

/**
 * Counts the values of JSON texts before they are parsed. Each byte is read once. The texts may be events of a stream: a line break ends a string,
 * because JSON has none within strings, so no line can hide the values of the next.
 */
export class ValueCount {
  #values = 0;
  #inString = false;
  #isEscaped = false;

  constructor(private readonly max: number) {}

  /** Counts the objects, lists and commas of the next bytes. Returns false if there are too many. */
  add(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === newline || byte === carriageReturn) this.#inString = this.#isEscaped = false;
      else if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === quote) this.#inString = !this.#inString;
      else if (this.#inString) this.#isEscaped = byte === backslash;
      else if (byte === comma || byte === bracket || byte === brace) this.#values += 1;
    }
    return this.#values <= this.max;
  }
}
