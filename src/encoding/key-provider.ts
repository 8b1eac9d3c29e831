import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface EncryptionKey {
  /** Written into every payload that is encrypted with the key. Visible to everyone who can read histories. At most 200 characters. */
  id: string;
  /** 32 bytes. */
  key: Uint8Array;
}

/** Provides the keys for payloads. Implement it to use a key management service. */
export interface KeyProvider {
  /** The key for new payloads. Asked for at most every 30 s; if it rejects later, the last key stays in use. */
  current(): Promise<EncryptionKey>;
  /** The key with this id, or undefined if it is not known. A key that was found is asked for only once. */
  byId(id: string): Promise<Uint8Array | undefined>;
  /** The ids of all keys, for error messages. */
  ids?(): string[];
}

export const keyBytes = 32;

/**
 * Keys in a text, separated by blanks, commas or line breaks: each is the base64 of 32 random bytes (`openssl rand -base64 32`). The first one encrypts
 * new payloads, the others only decrypt. Lines that begin with `#` are comments.
 * @throws TypeError if there is no key, or one is not the base64 of 32 bytes
 */
export function keysFromText(text: string): KeyProvider {
  const keys = parseKeys(text);
  return {
    current: async () => keys[0],
    byId: async (id) => keys.find((key) => key.id === id)?.key,
    ids: () => keys.map(({ id }) => id),
  };
}

/**
 * Keys in a file, in the format of `keysFromText`. The file is read again while it is in use, so a key can be added or replaced without a restart.
 * @throws Error if the file can't be read or has an invalid key
 */
export function keysFromFile(file: string): KeyProvider {
  const read = () => {
    try {
      return keysFromText(readFileSync(file, 'utf8'));
    } catch (cause) {
      throw new Error(`The file of encryption keys ${file} can't be used: ${(cause as Error).message}`, { cause });
    }
  };
  read();
  return { current: async () => read().current(), byId: async (id) => read().byId(id), ids: () => read().ids?.() ?? [] };
}

/** Derived from the key, so that two different keys never have the same id by mistake. It reveals nothing about a random key. */
export function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update('longhaul encryption key\n').update(key).digest('hex').slice(0, 12);
}

function parseKeys(text: string): [EncryptionKey, ...EncryptionKey[]] {
  const words = text.replace(/^\s*#.*$/gm, '').split(/[\s,]+/);
  const [first, ...more] = words.filter((word) => word !== '').map(parseKey);
  if (!first) throw new TypeError('there is no encryption key. Give the base64 of 32 random bytes: openssl rand -base64 32');
  return [first, ...more];
}

/** The text of a key must not appear in the error. */
function parseKey(text: string, i: number): EncryptionKey {
  const key = Buffer.from(text, 'base64');
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text);
  if (isBase64 && key.length === keyBytes) return { id: keyIdOf(key), key };
  throw new TypeError(`encryption key ${i + 1} is not the base64 of ${keyBytes} bytes. Make one with: openssl rand -base64 32`);
}
