import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import { type Attestation, callDecidedBy, type SignableRequest, type SignedCall } from '../core/attestation';
import { bounds } from '../core/bounds';
import { findCall } from '../core/calls';
import { bytesOf } from '../core/context/carry';
import type { Verified } from '../core/decisions';
import { activeRun, type CallState, type ThreadState } from '../core/state';
import { askPolicyOf, checkedCall, shownArguments } from '../core/views';
import { verifyDecisionOptions } from './activity-options';
import { activityEvents, grow } from './growth';
import { oneOfFew } from './one-of-few';
import { refuse } from './refuse';
import type { ThreadContext } from './thread-context';

const { verifyDecision } = proxyActivities<Activities>(verifyDecisionOptions);

export interface Attested extends Verified {
  signed: Attestation;
}

/**
 * Returns who signed a request, according to the worker's verifier. Throws a refusal if the signature is not valid or can't be checked. Whether
 * the signer may answer is checked when the answer is recorded, without an await between: several requests may be verified concurrently.
 */
export async function attest(thread: ThreadContext, request: SignableRequest): Promise<Attested> {
  const { state, growth } = thread;
  const { name, content } = request;
  const run = activeRun(state);
  const decided = callDecidedBy(request);
  const call = decided && findCall(run, decided.toolCallId);
  const asked = { agent: state.agent, runId: run?.id ?? '', request, ...(call && { call: signedCall(state, call) }) };
  // A server ends the workflow if an activity's arguments are too large.
  const bytes = bytesOf(asked);
  if (bytes > bounds.attestedBytes) {
    refuse(
      `${name}: the call and what is said of it have ${bytes} bytes, of which at most ${bounds.attestedBytes} can be signed; store the content elsewhere and give a reference`,
    );
  }
  grow(growth, activityEvents, asked);
  const answer = await oneOfFew(thread, name, () =>
    verifyDecision(asked).catch((error: { cause?: Error }) =>
      refuse(`${name}: the signature could not be checked: ${error.cause?.message ?? error}; what was asked still waits`, 'failed'),
    ),
  );
  grow(growth, 0, answer);
  if ('refused' in answer) refuse(`${name}: ${answer.refused}; what was asked still waits`, 'signature-refused');
  const { by, groups, statement } = answer;
  return { by, groups: groups ?? [], signed: { statement, signature: content.signature ?? '' } };
}

function signedCall(state: ThreadState, call: CallState): SignedCall {
  const { digest } = checkedCall(call);
  const { remember } = askPolicyOf(call.verdict, call.phase) ?? {};
  const since = call.phase === 'unsettled' && call.ask && { since: new Date(call.ask.since).toISOString() };
  return { name: call.name, arguments: shownArguments(state, call), ...(digest && { digest }), ...(remember && { remember }), ...since };
}
