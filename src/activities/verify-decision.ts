import { createHash } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { statementOf } from '../core/attestation';
import { checkPerson } from '../core/people';
import type { ActivityDependencies } from './steps/dependencies';
import { ownThread } from './steps/own-thread';

/** Who signed a decision. */
export interface Signatory {
  /** The name that is recorded with the decision and compared with the people who are asked. */
  by: string;
  /** The signer's groups. The groups in the decision itself are ignored. */
  groups?: readonly string[];
}

/** Verifies signatures of decisions. It must not depend on anything that tools can access. */
export interface DecisionVerifier {
  /** The names of all accepted signers, if known. A worker process prints them when it starts. */
  readonly names?: readonly string[] | undefined;
  /** Returns who signed the statement with the claimed name `by`, or undefined if the signature is invalid. Rejects if it can't be checked now. */
  verify(signed: { statement: string; signature: string; by: string }): Promise<Signatory | undefined> | Signatory | undefined;
}

/** Verifies that a decision, an output or an answer was signed by the person it names. */
export function verifyDecision({ verifier }: Pick<ActivityDependencies, 'verifier'>): Activities['verifyDecision'] {
  return async ({ request, ...at }) => {
    const { by = '', signature = '' } = request.content;
    // Retried: another worker may have a verifier.
    if (!verifier)
      throw ApplicationFailure.retryable('This worker has no decision verifier. Configure the same verifier on all workers of the agent.');
    const statement = statementOf(request, { threadId: ownThread(), ...at }, sha256);
    const signatory = await verifier.verify({ statement, signature, by });
    if (!signatory) return { refused: `the signature is not one of "${by}" over this decision, or no "${by}" is known to the worker` };
    const { by: signer, groups } = signatory;
    const wrong = [signer, ...(groups ?? [])].map((name) => checkPerson('a name of the verifier', name)).find(Boolean);
    if (wrong) throw ApplicationFailure.nonRetryable(wrong, 'InvalidVerifier');
    return { by: signer, ...(groups && { groups: [...groups] }), statement };
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
