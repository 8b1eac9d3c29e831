import { createSecretKey, type KeyObject } from 'node:crypto';
import { keyMissing } from '../contract/key-missing';
import { EncryptionKeyUnavailable } from './key-error';
import { type EncryptionKey, type KeyProvider, keyBytes } from './key-provider';

/** How long the current key is used before the provider is asked again, in milliseconds. */
const refreshMs = 30_000;

export interface UsableKey {
  id: string;
  key: KeyObject;
}

/** The keys that a provider has given. */
export class KeyCache {
  #current: { key: UsableKey; until: number } | undefined;
  #asking: Promise<UsableKey> | undefined;
  readonly #byId = new Map<string, Promise<KeyObject>>();

  /** `keys`: undefined if this process has none. `isEncryptedWith`: how messages about a missing key begin; its id follows. */
  constructor(
    readonly keys: KeyProvider | undefined,
    private readonly isEncryptedWith: string = keyMissing,
  ) {}

  /** The key for what is written from now on. Undefined if this process has none. Rejects if the provider has never given one. */
  async current(): Promise<UsableKey | undefined> {
    if (!this.keys) return undefined;
    if (this.#current && Date.now() < this.#current.until) return this.#current.key;
    this.#asking ??= this.#askForCurrent().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** The key with this id. Rejects with a `EncryptionKeyUnavailable`. Calls at the same time share one request to the provider. */
  byId(id: string): Promise<KeyObject> {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const key = this.#find(id);
    this.#byId.set(id, key);
    key.catch(() => this.#byId.delete(id));
    return key;
  }

  async #askForCurrent(): Promise<UsableKey> {
    try {
      const given = await this.keys?.current();
      if (!given) throw new Error('there is none');
      this.#current = { key: usable(given), until: Date.now() + refreshMs };
    } catch (cause) {
      if (!this.#current)
        throw new Error(`Payloads can't be encrypted, because no key is available: ${(cause as Error).message}`, { cause });
      // The provider is away. The last key is as good as it was.
      this.#current.until = Date.now() + refreshMs;
    }
    return this.#current.key;
  }

  async #find(id: string): Promise<KeyObject> {
    const encrypted = encryptedWith(id, this.isEncryptedWith);
    if (!this.keys) {
      throw new EncryptionKeyUnavailable(
        `${encrypted}, and this process has no encryption keys. Set LONGHAUL_ENCRYPTION_KEYS_FILE or LONGHAUL_ENCRYPTION_KEYS, or the option encoding.keys`,
      );
    }
    let others: string[];
    try {
      const key = await this.keys.byId(id);
      if (key) return usable({ id, key }).key;
      others = this.keys.ids?.() ?? [];
    } catch (cause) {
      throw new EncryptionKeyUnavailable(`${encrypted}, which could not be read: ${(cause as Error).message}`, { cause });
    }
    const have = others.length > 0 ? ` (it has ${others.join(', ')})` : '';
    throw new EncryptionKeyUnavailable(`${encrypted}, which this process does not have${have}. Add that key to the keys of this process`);
  }
}

function usable({ id, key }: EncryptionKey): UsableKey {
  if (typeof id !== 'string' || id === '' || id.length > 200)
    throw new TypeError('an encryption key has no id, or one of more than 200 characters');
  if (key instanceof Uint8Array && key.length === keyBytes) return { id, key: createSecretKey(key) };
  throw new TypeError(`the encryption key "${printable(id)}" is not ${keyBytes} bytes long`);
}

/** The beginning of every message about a missing key. */
export function encryptedWith(id: string, isEncryptedWith = keyMissing): string {
  return `${isEncryptedWith} "${printable(id)}"`;
}

/** The id may come from a payload that anybody wrote. */
function printable(id: string): string {
  return id.replace(/[^\x20-\x7e]|"/g, '?').slice(0, 200);
}
