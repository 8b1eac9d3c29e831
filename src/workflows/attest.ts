import { ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import type { Attestation, SignableRequest } from '../core/attestation';
import type { Verified } from '../core/requests';
import { activeRun } from '../core/state';
import { checkedCall } from '../core/views';
import { verifyDecisionOptions } from './activity-options';
import { activityEvents, grow } from './growth';
import { oneOfFew } from './one-of-few';
import type { Thread } from './thread';

const { verifyDecision } = proxyActivities<Activities>(verifyDecisionOptions);

export interface Attested extends Verified {
  signed: Attestation;
}

/**
 * Who signed a request, as a worker's verifier has it. Throws where the signature does not count. Whether its signer may answer is checked in
 * the same breath as the answer is recorded: several requests may have been verified at once.
 */
export async function attest(thread: Thread, request: SignableRequest): Promise<Attested> {
  const { state, growth } = thread;
  const { name, content } = request;
  const run = activeRun(state);
  const call = name === 'approve' ? run?.calls.find(({ id }) => id === content.toolCallId) : undefined;
  const { digest } = call ? checkedCall(call) : {};
  const asked = { runId: run?.id ?? '', request, ...(digest && { digest }) };
  grow(growth, activityEvents, asked);
  const answer = await oneOfFew(thread, name, () =>
    verifyDecision(asked).catch((error: { cause?: Error }) =>
      refuse(`${name}: the signature could not be checked: ${error.cause?.message ?? error}; what was asked still waits`),
    ),
  );
  grow(growth, 0, answer);
  if ('refused' in answer) refuse(`${name}: ${answer.refused}; what was asked still waits`);
  const { by, groups, statement } = answer;
  return { by, groups: groups ?? [], signed: { statement, signature: content.signature ?? '' } };
}

function refuse(reason: string): never {
  throw ApplicationFailure.nonRetryable(reason, 'InvalidRequest');
}
