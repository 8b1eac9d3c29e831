/**
 * The name of a global variable of the workflow sandbox. If it is true, the failure converter puts messages and stack traces into payloads, which a
 * codec can encrypt. The worker sets it in front of the bundle, so that one bundle serves workers with and without encryption.
 */
export const encodeFailures = '__longhaulEncodeFailures';
