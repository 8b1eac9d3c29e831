import { createHash } from 'node:crypto';
import { z } from 'zod';

/** Long enough to detect a change, and short enough for a model to repeat it without a mistake. */
const hexDigits = 16;

/** Collects the hash that identifies the content of a file: the first 16 hexadecimal digits of its SHA-256. */
export class ContentHash {
  readonly #hash = createHash('sha256');

  add(bytes: Uint8Array): this {
    this.#hash.update(bytes);
    return this;
  }

  end(): string {
    return this.#hash.digest('hex').slice(0, hexDigits);
  }
}

export function contentHash(bytes: Uint8Array): string {
  return new ContentHash().add(bytes).end();
}

/** The argument by which a model says which content of a file it has seen. */
export const expectedHash = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be the 16 hexadecimal digits that read_file shows as the hash')
  .optional()
  .describe('The hash that read_file showed. If the file has changed since, nothing is written.');

/** `undefined`: the file does not exist. */
export function staleHash(path: string, expected: string, found: string | undefined): string {
  const now = found === undefined ? 'does not exist any more' : `has changed: its hash is ${found}, not ${expected}`;
  return `'${path}' ${now}. Nothing was written. Read the file again, and repeat the change on what it contains now.`;
}
