import { createCipheriv, createDecipheriv, createHash, createHmac, type Hmac, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { ArtifactKey } from './artifact-store';

/** The keys that artifacts are encrypted with. */
export interface SealingKeys {
  /** The key for new artifacts. Undefined if they are not encrypted. Rejects if there should be one and is none. */
  current(): Promise<{ id: string; key: KeyObject } | undefined>;
  /** Rejects with an error that names the key if this process does not have it. */
  byId(id: string): Promise<KeyObject>;
}

/** For a process without keys. */
export const noKeys: SealingKeys = {
  current: async () => undefined,
  byId: async (id) => {
    throw new Error(`it is encrypted with key "${id.replace(/[^\x20-\x7e]/g, '?')}", and this process has no encryption keys`);
  },
};

const algorithm = 'aes-256-gcm';
/** How a sealed artifact begins. It is followed by the length of the key's id, that id, the nonce, the encrypted bytes and the tag. */
const magic = Buffer.from('\x89longhaul\x01', 'latin1');
const nonceBytes = 12;
const tagBytes = 16;
/** What is encrypted at once, before the process does other work. */
const sliceBytes = 1024 * 1024;

/**
 * Makes the id of an artifact that is stored encrypted: a hash of the thread and the content that can't be computed without the key, so that who reads
 * names in the store can't test whether a content that they know is there.
 */
export function sealedId(key: KeyObject, threadId: string): Hmac {
  return createHmac('sha256', derived(key, 'id')).update(createHash('sha256').update(threadId).digest());
}

/** Encrypts an artifact. It can only be opened as the same artifact of the same thread. */
export async function seal({ threadId, id }: ArtifactKey, bytes: Uint8Array, by: { id: string; key: KeyObject }): Promise<Buffer> {
  const keyId = Buffer.from(by.id, 'utf8');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(keyId.length);
  const header = Buffer.concat([magic, length, keyId, randomBytes(nonceBytes)]);
  const cipher = createCipheriv(algorithm, derived(by.key, 'content'), header.subarray(-nonceBytes), { authTagLength: tagBytes });
  cipher.setAAD(boundTo(header, { threadId, id }));
  const sealed = Buffer.allocUnsafe(header.length + bytes.length + tagBytes);
  header.copy(sealed);
  await inSlices(bytes, (slice, at) => cipher.update(slice).copy(sealed, header.length + at));
  cipher.final();
  cipher.getAuthTag().copy(sealed, sealed.length - tagBytes);
  return sealed;
}

/** The id of the key that an artifact is encrypted with. Undefined if it is not encrypted. */
export function sealedWith(bytes: Buffer): string | undefined {
  return headerOf(bytes)?.keyId;
}

/** Decrypts an artifact. Returns undefined if it was changed, belongs to another reference or thread, or the key has other bytes. */
export async function unseal(key: ArtifactKey, bytes: Buffer, secret: KeyObject): Promise<Buffer | undefined> {
  const header = headerOf(bytes)?.bytes;
  if (!header) return undefined;
  const encrypted = bytes.subarray(header.length, -tagBytes);
  const decipher = createDecipheriv(algorithm, derived(secret, 'content'), header.subarray(-nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(boundTo(header, key));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  const opened = Buffer.allocUnsafe(encrypted.length);
  await inSlices(encrypted, (slice, at) => decipher.update(slice).copy(opened, at));
  try {
    decipher.final();
    return opened;
  } catch {
    return undefined;
  }
}

function headerOf(bytes: Buffer): { bytes: Buffer; keyId: string } | undefined {
  const start = magic.length + 2;
  if (bytes.length < start || !bytes.subarray(0, magic.length).equals(magic)) return undefined;
  const end = start + bytes.readUInt16BE(magic.length);
  if (bytes.length < end + nonceBytes + tagBytes) return undefined;
  return { bytes: bytes.subarray(0, end + nonceBytes), keyId: bytes.toString('utf8', start, end) };
}

/** The header and the id have known lengths, so two different triples never make the same bytes. */
function boundTo(header: Buffer, { threadId, id }: ArtifactKey): Buffer {
  return Buffer.concat([header, Buffer.from(id, 'latin1'), Buffer.from(threadId, 'utf8')]);
}

/** Payloads are encrypted with the key itself: what is encrypted for one purpose can't be passed off as the other. */
function derived(key: KeyObject, purpose: 'id' | 'content'): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `longhaul artifact ${purpose}`, 32));
}

async function inSlices(bytes: Uint8Array, work: (slice: Uint8Array, at: number) => void): Promise<void> {
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    if (at > 0) await setImmediate();
    work(bytes.subarray(at, at + sliceBytes), at);
  }
}
