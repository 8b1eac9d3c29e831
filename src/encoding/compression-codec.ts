import { promisify } from 'node:util';
import { deflate, deflateSync, inflate, inflateSync } from 'node:zlib';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { encodingOf, parsePayload, serializePayload, utf8 } from './payload';

/** The encoding of the codec for zlib in Temporal's Go SDK, with the same format. */
const encoding = 'binary/zlib';

/** A shorter payload would gain too little. */
const leastBytes = 256;

/** A larger payload is compressed and decompressed in another thread. */
const mostBytesHere = 32 * 1024;

/** The largest payload that is compressed and decompressed. A server accepts 2 MiB. */
const mostBytes = 4 * 1024 * 1024;

/**
 * A payload is at most this many times as large as its compressed form, so that a client that sends a few megabytes can't fill the memory of workers.
 * What could be compressed more is padded; zlib ignores what follows the end of its data.
 */
const mostTimes = 10;

/**
 * Compresses payloads, if `compresses` is set and it makes them smaller. Decompresses in any case. One that can't be decompressed is left as it is, and
 * the payload converter reports it: it can't be read by any worker.
 */
export function compressionCodec({ compresses }: { compresses: boolean }): PayloadCodec {
  return {
    encode: async (payloads) => (compresses ? Promise.all(payloads.map(compressed)) : payloads),
    decode: (payloads) => Promise.all(payloads.map(decompressed)),
  };
}

async function compressed(payload: Payload): Promise<Payload> {
  const bytes = payload.data?.length ?? 0;
  if (bytes < leastBytes || bytes > mostBytes) return payload;
  const plain = serializePayload(payload);
  const data = plain.length > mostBytesHere ? await deflateAside(plain) : deflateSync(plain);
  if (data.length >= plain.length) return payload;
  return {
    metadata: { encoding: utf8(encoding) },
    data: Buffer.concat([data], Math.max(data.length, Math.ceil(plain.length / mostTimes))),
  };
}

async function decompressed(payload: Payload): Promise<Payload> {
  if (encodingOf(payload) !== encoding) return payload;
  const data = payload.data ?? new Uint8Array();
  // The metadata comes on top of the data.
  const options = { maxOutputLength: Math.max(1, Math.min(mostBytes + 64 * 1024, data.length * mostTimes)) };
  try {
    return parsePayload(data.length > mostBytesHere / 4 ? await inflateAside(data, options) : inflateSync(data, options));
  } catch (error) {
    // Not enough memory is a problem of this process, not of the payload.
    if ((error as NodeJS.ErrnoException).code === 'Z_MEM_ERROR') throw error;
    return payload;
  }
}

const deflateAside = promisify<Uint8Array, Buffer>(deflate);
const inflateAside = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflate);
