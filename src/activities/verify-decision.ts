import { createHash } from 'node:crypto';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { statementOf } from '../core/attestation';
import { checkPerson } from '../core/people';
import type { ActivityDependencies } from './dependencies';

/** Who signed a decision. */
export interface Signatory {
  /** The name by which the decision is kept and compared with those who are asked. */
  by: string;
  /** The groups that they are in. What the decision itself says of groups does not count. */
  groups?: readonly string[];
}

/** Knows whose signatures count. Must not need anything that tools can reach. */
export interface DecisionVerifier {
  /** Of those whose signatures count, where it is known: a worker process tells them when it starts. */
  readonly names?: readonly string[];
  /** Who made the signature over the statement, by the name that was claimed; or undefined. Rejects where it can't be found out now. */
  verify(signed: { statement: string; signature: string; by: string }): Promise<Signatory | undefined> | Signatory | undefined;
}

/** Whether a decision, an output or an answer was signed by who it says. */
export function verifyDecision({ verifier }: Pick<ActivityDependencies, 'verifier'>): Activities['verifyDecision'] {
  return async ({ request, ...at }) => {
    const { by = '', signature = '' } = request.content;
    // Tried again: another worker may know.
    if (!verifier) throw ApplicationFailure.retryable('The worker that was asked has no verifier. Give all workers of the agent the same.');
    const threadId = Context.current().info.workflowExecution?.workflowId ?? '';
    const statement = statementOf(request, { threadId, ...at }, sha256);
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
