import type { Payload, PayloadCodec } from '@temporalio/common';
import { readEncoding } from '../config';
import { compressionCodec } from './compression-codec';
import { encryptionCodec } from './encryption-codec';
import { KeyCache } from './key-cache';
import { type KeyProvider, keysFromFile, keysFromText } from './key-provider';

/** How payloads are written. All of them are read in any case, if the key is known. */
export interface EncodingOptions {
  /** Compresses payloads of 256 bytes or more. Default: true if there are `keys`. */
  compression?: boolean | undefined;
  /** Encrypts every payload, the texts of failures, and stored outputs. Default: nothing is encrypted. */
  keys?: KeyProvider | undefined;
}

/** The codecs of clients, workers, replays and codec endpoints: what one of them writes, the others can read. */
export function payloadCodecs({ keys, compression = keys !== undefined }: EncodingOptions): PayloadCodec[] {
  return [compressionCodec({ compresses: compression }), encryptionCodec(keys)];
}

/** The keys for outputs that are stored outside of Temporal: the same as for payloads. */
export function outputKeys({ keys }: EncodingOptions): KeyCache {
  return new KeyCache(keys, 'it is encrypted with key');
}

export interface Encoding {
  codecs: PayloadCodec[];
  encrypts: boolean;
}

/** For a process that writes payloads: rejects if there is no key to encrypt them with. */
export async function startEncoding(options: EncodingOptions): Promise<Encoding> {
  const codecs = payloadCodecs(options);
  let payloads: Payload[] = [{ data: new Uint8Array() }];
  for (const codec of codecs) payloads = await codec.encode(payloads);
  return { codecs, encrypts: options.keys !== undefined };
}

/**
 * The options that LONGHAUL_ENCRYPTION_KEYS_FILE, LONGHAUL_ENCRYPTION_KEYS and LONGHAUL_COMPRESSION define.
 * @throws Error if one of them is invalid
 */
export function configuredEncoding(): EncodingOptions {
  const { keys, keysFile, compression } = readEncoding();
  const provider = keysFile ? keysFromFile(keysFile) : keys ? named('LONGHAUL_ENCRYPTION_KEYS', () => keysFromText(keys)) : undefined;
  return { ...(provider && { keys: provider }), ...(compression !== undefined && { compression }) };
}

function named<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new TypeError(`${variable}: ${(error as Error).message}`);
  }
}
