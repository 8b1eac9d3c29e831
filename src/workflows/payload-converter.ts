import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { undecodable } from '../contract/undecodable';
import { bounds } from '../core/bounds';
import { wellFormedJson } from '../core/text';

/**
 * The default converter, but that texts are made well formed, and that payloads which it can't read don't fail the task: see `undecodable`.
 * Loaded by its path, inside the workflow sandbox too.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload<T>(payload: Payload): T {
    try {
      return wellFormedJson(defaultPayloadConverter.fromPayload<T>(payload), bounds.payloadDepth);
    } catch (error) {
      return undecodable((error as Error).message) as T;
    }
  },
};
