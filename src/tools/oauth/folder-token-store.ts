import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isObject, parseObject } from '../../core/json';
import type { KeyProvider } from '../../encoding/key-provider';
import { lockFile } from '../built-in/file-lock';
import { replacePrivateFile } from '../built-in/private-file';
import { codeOf } from '../built-in/workspace';
import { type StoredTokens, type TokenStore, TokenStoreError } from './token-store';

export interface FolderTokenStoreOptions {
  /** A folder that all workers of the host can write to. It is created if it is missing. */
  folder: string;
  /** The keys that encrypt tokens, such as `keysFromFile('/run/secrets/keys')`: those of payloads, or others. */
  keys: KeyProvider;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;
/** Servers limit the length of tokens; a larger file was not written by this store. */
const maxFileBytes = 4_000_000;

/**
 * Keeps tokens in a folder, one file for each user of each connector, encrypted with AES-256-GCM. A file can only be read as that of its own user. Writers
 * of the same host wait for each other, and a reader sees either the old or the new tokens.
 */
export function folderTokenStore({ folder, keys }: FolderTokenStoreOptions): TokenStore {
  if (typeof folder !== 'string' || folder.trim() === '') throw new TypeError('folderTokenStore: give the path of a folder.');
  if (typeof keys?.current !== 'function' || typeof keys.byId !== 'function') {
    throw new TypeError("folderTokenStore: give keys, such as keysFromFile('/run/secrets/keys').");
  }
  const home = resolve(folder);
  // Hashed, because a user may have any name.
  const fileOf = (key: string) => join(home, `${createHash('sha256').update(key).digest('hex')}.tokens`);
  return Object.freeze({
    id: `folder ${home}`,
    async get(key: string) {
      const file = fileOf(key);
      const text = await textOf(file);
      return text === undefined ? undefined : opened(text, key, file, keys);
    },
    async set(key: string, tokens: StoredTokens) {
      await replacePrivateFile(fileOf(key), await sealed(tokens, key, keys));
    },
    async delete(key: string) {
      await unlink(fileOf(key)).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
      });
    },
    async exclusively<T>(key: string, work: () => Promise<T>) {
      const release = await lockFile(fileOf(key));
      try {
        return await work();
      } finally {
        await release();
      }
    },
  });
}

async function sealed(tokens: StoredTokens, key: string, keys: KeyProvider): Promise<string> {
  const { id, key: secret } = await keys.current();
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, derived(secret, id), nonce, { authTagLength: tagBytes });
  cipher.setAAD(boundTo(key, id));
  const data = Buffer.concat([cipher.update(JSON.stringify(tokens), 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return JSON.stringify({ key: id, nonce: nonce.toString('base64'), data: data.toString('base64') });
}

/** What is damaged, or encrypted with an unknown key, is never treated as missing: a refresh token would be lost. */
async function opened(text: string, key: string, file: string, keys: KeyProvider): Promise<StoredTokens> {
  const unreadable = (why: string) =>
    new TokenStoreError(
      `the tokens in ${file} ${why}. Delete the file to begin without them; the user must then authorize the connector again.`,
    );
  const { key: id, nonce, data } = parseObject(text) ?? {};
  if (typeof id !== 'string' || typeof nonce !== 'string' || typeof data !== 'string') throw unreadable('are damaged');
  const secret = await keys.byId(id);
  if (!secret) throw unreadable(`are encrypted with the key '${printable(id)}', which this process does not have: add that key`);
  const [iv, bytes] = [Buffer.from(nonce, 'base64'), Buffer.from(data, 'base64')];
  const own = derived(secret, id);
  let tokens: unknown;
  try {
    const decipher = createDecipheriv(algorithm, own, iv, { authTagLength: tagBytes });
    decipher.setAAD(boundTo(key, id));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    tokens = parseObject(Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]).toString('utf8'));
  } catch {
    throw unreadable(
      `can't be decrypted with the key '${printable(id)}': they were changed, or are those of another user, or the key has other bytes`,
    );
  }
  if (!isTokens(tokens)) throw unreadable('are none');
  return tokens;
}

function isTokens(value: unknown): value is StoredTokens {
  return isObject(value) && typeof value.accessToken === 'string' && typeof value.scope === 'string' && typeof value.renewAt === 'number';
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = await handle.stat();
      if (size > maxFileBytes) throw new TokenStoreError(`the file ${file} has ${size} bytes, so it holds no tokens. Delete it.`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** As JSON, so that two different pairs never make the same bytes. */
function boundTo(key: string, id: string): Buffer {
  return Buffer.from(JSON.stringify([id, key]));
}

/** Payloads are encrypted with the key itself: what is encrypted for one purpose can't be passed off as the other. */
function derived(key: Uint8Array, id: string): Buffer {
  if (!(key instanceof Uint8Array) || key.length !== keyBytes)
    throw new TokenStoreError(`the encryption key '${printable(id)}' is not ${keyBytes} bytes long.`);
  return Buffer.from(hkdfSync('sha256', key, '', 'longhaul oauth tokens', keyBytes));
}

function printable(id: string): string {
  return id.replace(/[^\x20-\x7e]|'/g, '?').slice(0, 200);
}
