import { isObject, type Json, type JsonObject } from '../../core/json';
import type { ByProvider } from './spec';

/**
 * The `opaque` data of a part. `metadata` is the provider's, and is sent back with the same part. `provider` is the AI SDK provider that created
 * it, because another one may later be registered under the same name.
 */
export type Own = {
  provider: string;
  metadata?: JsonObject;
  /** A part that only the provider can read: `custom`, or a file that belongs to its reasoning. */
  custom?: string;
  file?: { mediaType: string; data?: string; url?: string };
  /** For a hosted tool: the vendor's name, and the metadata of its result. */
  tool?: string;
  result?: JsonObject;
  /** Whether its call was made in an earlier answer. */
  isLate?: boolean;
  /** The id of the hosted call that began last before this result arrived. */
  behind?: string;
};

export function ownOf(opaque: Json | undefined, provider: string): Own | undefined {
  return isObject(opaque) && opaque.provider === provider ? (opaque as Own) : undefined;
}

export function optionsOf(metadata: JsonObject | undefined): { providerOptions?: ByProvider } {
  return metadata && Object.keys(metadata).length > 0 ? { providerOptions: metadata as ByProvider } : {};
}
