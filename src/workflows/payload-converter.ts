import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { undecodable } from '../contract/undecodable';
import { bounds } from '../core/bounds';
import { wellFormedJson } from '../core/text';

/**
 * The default converter with two changes: it makes texts well formed, and a payload that it can't read does not fail the task, see
 * `undecodable`. Loaded by its path, also inside the workflow sandbox.
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
