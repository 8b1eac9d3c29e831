import { failureTypes } from '../contract/activities';

/**
 * This process lacks the key of a payload. The payload itself is intact: the same operation succeeds in a process that has the key. The SDK uses the
 * name of the class as the type of a failure, so the workflow knows that an activity with such arguments did not begin.
 */
export class EncryptionKeyUnavailable extends Error {
  override readonly name = failureTypes.keyUnavailable;
}
