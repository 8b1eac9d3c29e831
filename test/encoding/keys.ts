import { randomBytes } from 'node:crypto';
import { type KeyProvider, keysFromText } from '../../src/encoding/key-provider';

/** A new key, as it is written in a file of keys. */
export function newKey(): string {
  return randomBytes(32).toString('base64');
}

/** Keys in order: the first one encrypts. */
export function keys(...texts: string[]): KeyProvider {
  return keysFromText(texts.join('\n'));
}
