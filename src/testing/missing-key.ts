import type { Payload, PayloadCodec } from '@temporalio/common';
import { failureTypes } from '../contract/activities';
import { encryptionKeyOf } from '../encoding/encryption-codec';
import type { History } from './history-file';

/** Why the payloads of a history can't be decrypted, or undefined. Tries one payload of each key. */
export async function missingKey(history: History, codecs: readonly PayloadCodec[]): Promise<string | undefined> {
  const tried = new Set<string>();
  for (const payload of encryptedIn(history.events)) {
    const id = encryptionKeyOf(payload) as string;
    if (tried.has(id)) continue;
    tried.add(id);
    try {
      for (const codec of [...codecs].reverse()) await codec.decode([payload]);
    } catch (error) {
      if ((error as Error).name !== failureTypes.keyUnavailable) throw error;
      return (error as Error).message;
    }
  }
  return undefined;
}

function* encryptedIn(value: unknown): Generator<Payload> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if ('metadata' in value && encryptionKeyOf(value as Payload) !== undefined) yield value as Payload;
  else for (const part of Object.values(value)) yield* encryptedIn(part);
}
