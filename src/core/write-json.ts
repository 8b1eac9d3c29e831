import { bounds } from './bounds';
import type { Content } from './message';
import { isParts, maxParts } from './tool';

export interface WrittenJson {
  text: string;
  /** Whether the text was cut at `maxChars`. */
  isCut: boolean;
}

/**
 * Writes a value as `JSON.stringify` does, up to `maxChars` characters: a tool may return a list of ten million rows, of which only the beginning
 * is shown. It reads each part of the value once, and no more than it writes. Returns `undefined` for values without a JSON form. Throws what
 * getters and `toJSON` throw, `RangeError` if the value is nested too deeply, and `TypeError` if it contains itself.
 */
export function writeJson(value: unknown, maxChars: number): WrittenJson | undefined {
  const writer = new JsonWriter(maxChars);
  try {
    if (!writer.write(value, '')) return undefined;
  } catch (error) {
    if (error !== full) throw error;
  }
  return writer.written();
}

/** How much of a value is converted. One part more than is shown, so that the code that caps the parts sees that there are more. */
const shown = { chars: bounds.outputChars, parts: maxParts + 1 };

/** Converts a value to what the model sees, as `toContent` does, with bounded size: characters of JSON, and parts. */
export function boundedContent(value: unknown, { chars, parts }: { chars: number; parts: number } = shown): Content {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    const first: unknown = value.slice(0, parts);
    if (isParts(first)) return first;
  }
  const { text, isCut } = writeJson(value ?? null, chars) ?? { text: 'null', isCut: false };
  return isCut ? `${text}\n[... the rest left out: it has more than ${chars} characters of JSON ...]` : text;
}

const full = Symbol('full');

class JsonWriter {
  readonly #pieces: string[] = [];
  /** The objects being written: the current one and those that contain it. */
  readonly #around = new Set<object>();
  #room: number;

  constructor(maxChars: number) {
    this.#room = maxChars;
  }

  written(): WrittenJson {
    return { text: this.#pieces.join(''), isCut: this.#room < 0 };
  }

  /** Writes a value. Returns false if it has no JSON form. */
  write(given: unknown, key: string): boolean {
    // Shortened first: a buffer of 50 MB would convert itself to a list of 50 million numbers.
    const value = ofOwnWords(this.#shortened(given), key);
    switch (typeof value) {
      case 'undefined':
      case 'function':
      case 'symbol':
        return false;
      case 'string':
        // Cut before escaping, which never makes it shorter.
        this.#add(JSON.stringify(value.length > this.#room ? value.slice(0, this.#room + 1) : value));
        return true;
      case 'object':
        if (value === null || isBoxed(value)) this.#add(JSON.stringify(value));
        else this.#nested(value);
        return true;
      default:
        this.#add(JSON.stringify(value));
        return true;
    }
  }

  #nested(value: object): void {
    if (this.#around.has(value)) throw new TypeError('it contains itself (a circular structure)');
    if (this.#around.size >= bounds.payloadDepth) throw new RangeError(`it is nested deeper than ${bounds.payloadDepth} levels`);
    this.#around.add(value);
    if (Array.isArray(value)) this.#list(value);
    else this.#object(value);
    this.#around.delete(value);
  }

  #list(list: readonly unknown[]): void {
    this.#add('[');
    for (let i = 0; i < list.length; i++) {
      if (i > 0) this.#add(',');
      if (!this.write(list[i], String(i))) this.#add('null');
    }
    this.#add(']');
  }

  #object(object: object): void {
    this.#add('{');
    let isFirst = true;
    for (const key of Object.keys(object)) {
      const name = `${isFirst ? '' : ','}${JSON.stringify(key)}:`;
      const before = this.#pieces.length;
      this.#add(name);
      if (this.write((object as Record<string, unknown>)[key], key)) isFirst = false;
      else this.#pieces.length = before;
    }
    this.#add('}');
  }

  #shortened(value: unknown): unknown {
    if (!ArrayBuffer.isView(value) || value.byteLength <= this.#room || !('subarray' in value)) return value;
    return (value as Uint8Array).subarray(0, this.#room + 1);
  }

  #add(piece: string): void {
    this.#pieces.push(piece.length > this.#room ? piece.slice(0, this.#room) : piece);
    this.#room -= piece.length;
    if (this.#room < 0) throw full;
  }
}

/** Applies a value's `toJSON`, if it has one. */
function ofOwnWords(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value, key) : value;
}

/** Whether a value is a boxed primitive such as `new String('…')`, which is written as its content. */
function isBoxed(value: object): boolean {
  return ['[object String]', '[object Number]', '[object Boolean]', '[object BigInt]'].includes(Object.prototype.toString.call(value));
}
