import type { Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const type = temporal.api.common.v1.Payload;

export function serializePayload(payload: Payload): Uint8Array {
  return type.encode(payload).finish();
}

/** @throws if the bytes are not a serialized payload */
export function parsePayload(bytes: Uint8Array): Payload {
  return type.decode(bytes);
}

/** The payload's `encoding`, such as `json/plain`. */
export function encodingOf(payload: Payload): string | undefined {
  return metadataOf(payload, 'encoding');
}

export function metadataOf({ metadata }: Payload, name: string): string | undefined {
  const value = metadata?.[name];
  return value && Buffer.from(value).toString('utf8');
}

export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}
