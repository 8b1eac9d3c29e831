import type { Client } from '@temporalio/client';
import type { Payload, ProtoFailure } from '@temporalio/common';

/** Decodes a payload that the server returned as it is stored. Undefined if there is none, or this client can't read it, such as for lack of a key. */
export async function decodePayload({ options }: Client, payload: Payload | null | undefined): Promise<unknown> {
  if (!payload) return undefined;
  const { payloadConverter, payloadCodecs } = options.loadedDataConverter;
  try {
    let payloads = [payload];
    for (const codec of [...payloadCodecs].reverse()) payloads = await codec.decode(payloads);
    return payloads[0] && payloadConverter.fromPayload(payloads[0]);
  } catch {
    return undefined;
  }
}

/** The message of a failure from a history, which a worker with encryption puts into a payload. */
export async function messageOf(client: Client, { message, encodedAttributes }: ProtoFailure): Promise<string> {
  const texts = (await decodePayload(client, encodedAttributes)) as { message?: unknown } | null | undefined;
  return typeof texts?.message === 'string' ? texts.message : (message ?? '');
}
