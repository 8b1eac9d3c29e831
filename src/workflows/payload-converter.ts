import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { undecodable } from '../contract/undecodable';

/** The default converter, but for payloads that it can't read: see `undecodable`. Loaded by its path, inside the workflow sandbox too. */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload<T>(payload: Payload): T {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch (error) {
      return undecodable((error as Error).message) as T;
    }
  },
};
