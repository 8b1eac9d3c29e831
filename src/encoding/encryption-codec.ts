import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { encryptedWith, KeyCache, type UsableKey } from './key-cache';
import { EncryptionKeyUnavailable } from './key-error';
import type { KeyProvider } from './key-provider';
import { encodingOf, metadataOf, parsePayload, serializePayload, utf8 } from './payload';

const algorithm = 'aes-256-gcm';
/** As in Temporal's examples, with the same format: the nonce, then the encrypted payload, then the authentication tag. */
const encoding = 'binary/encrypted';
const keyIdField = 'encryption-key-id';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts payloads with the provider's current key, and decrypts with any of its keys. Without a provider it encrypts nothing, and rejects encrypted
 * payloads with an error that names the key. Payloads that were written without encryption are left as they are.
 */
export function encryptionCodec(provider: KeyProvider | undefined): PayloadCodec {
  const keys = new KeyCache(provider);
  return {
    async encode(payloads) {
      const current = payloads.length === 0 ? undefined : await keys.current();
      return current ? payloads.map((payload) => encrypted(payload, current)) : payloads;
    },
    decode: (payloads) =>
      Promise.all(
        payloads.map(async (payload) => {
          const id = encryptionKeyOf(payload);
          return id === undefined ? payload : decrypted(payload, id, await keys.byId(id));
        }),
      ),
  };
}

/** The id of the key that the payload is encrypted with. Undefined for other payloads, and for one that no key can decrypt. */
export function encryptionKeyOf(payload: Payload): string | undefined {
  if (encodingOf(payload) !== encoding || (payload.data?.length ?? 0) < nonceBytes + tagBytes) return undefined;
  return metadataOf(payload, keyIdField);
}

function encrypted(payload: Payload, { id, key }: UsableKey): Payload {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  const data = Buffer.concat([nonce, cipher.update(serializePayload(payload)), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: utf8(encoding), [keyIdField]: utf8(id) }, data };
}

function decrypted({ data = new Uint8Array() }: Payload, id: string, key: KeyObject): Payload {
  const bytes = data as Uint8Array;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return parsePayload(Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]));
  } catch (cause) {
    throw new EncryptionKeyUnavailable(
      `${encryptedWith(id)}, and the bytes of that key in this process do not decrypt it: they are others, or the payload was changed. Check where the key comes from`,
      { cause },
    );
  }
}
