import { createDecipheriv } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

// Written from docs/encryption.md, without the engine's code: what the engine encrypts must be readable by that page.

/** The parts of a failure in a history that have its text. */
export interface Failure {
  message?: string | null;
  encodedAttributes?: Payload | null;
}

/** Codecs for Temporal's client that decrypt and decompress payloads. They encode nothing. */
export function decoders(keys: readonly Buffer[]): PayloadCodec {
  return { encode: async (payloads) => payloads, decode: async (payloads) => payloads.map((payload) => decoded(payload, keys)) };
}

function decoded(payload: Payload, keys: readonly Buffer[]): Payload {
  const data = Buffer.from(payload.data ?? []);
  const encoding = textOf(payload.metadata?.encoding);
  if (encoding === 'binary/encrypted') return decoded(inner(decrypted(data, keys)), keys);
  return encoding === 'binary/zlib' ? decoded(inner(inflateSync(data)), keys) : payload;
}

/** Tries all keys: a wrong one is detected by the authentication tag. */
function decrypted(data: Buffer, keys: readonly Buffer[]): Buffer {
  for (const key of keys) {
    const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12));
    decipher.setAuthTag(data.subarray(-16));
    try {
      return Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]);
    } catch {
      // Encrypted with another key.
    }
  }
  throw new Error(`none of ${keys.length} keys decrypts a payload`);
}

function inner(bytes: Uint8Array): Payload {
  return temporal.api.common.v1.Payload.decode(bytes);
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString('utf8');
}

/** The message of a failure, also if its texts are encoded. */
export function messageOf({ message, encodedAttributes }: Failure, keys: readonly Buffer[]): string {
  if (!encodedAttributes) return message ?? '';
  const { message: encoded = '' } = JSON.parse(textOf(decoded(encodedAttributes, keys).data)) as { message?: string };
  return encoded;
}
