import { createHash } from 'node:crypto';
import type { SignedCall } from '../core/attestation';
import { digestOfCall } from '../core/call-digest';
import type { PendingCall } from '../core/event';
import { outcomeMark } from '../core/settling';
import { LonghaulError } from './errors';

/**
 * Returns a waiting call as it is signed. What a thread answers is not relied on: a client may run a workflow of its own that shows one call to a
 * person and another to the signer, so the digest is computed from the arguments that are signed, and must be the shown and the expected one.
 * @throws LonghaulError with the refusal `not-as-expected`
 */
export function callToSign(threadId: string, call: PendingCall, expect: string | undefined): SignedCall {
  const { kind, toolCallId, name, arguments: args, digest: claimed, remember, since } = call;
  const digest = digestOfCall(threadId, { id: toolCallId, name, arguments: args }, (text) =>
    createHash('sha256').update(text).digest('hex'),
  );
  // An unknown outcome is identified by the time as well: the same call can be lost twice.
  const shown = kind === 'outcome' ? outcomeMark({ ...(claimed && { digest }), ...(since && { since }) }) : digest;
  const [wrong] = [
    ...(claimed === undefined || claimed === digest ? [] : [claimed]),
    ...(expect === undefined || expect === shown ? [] : [expect]),
  ];
  if (wrong !== undefined) {
    throw new LonghaulError(
      'request-refused',
      `Nothing was signed: what waits as "${toolCallId}" (${name}) ${kind === 'outcome' ? 'is' : 'has the digest'} ${shown}, and ${wrong} was expected. Look at it again before you decide.`,
      undefined,
      { refusal: 'not-as-expected' },
    );
  }
  return {
    name,
    arguments: args,
    ...(claimed && { digest }),
    ...(remember && { remember }),
    ...(kind === 'outcome' && since && { since }),
  };
}
