import { ApplicationFailure } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { agentOf } from './steps/agent-of';
import type { ActivityDependencies } from './steps/dependencies';
import { ownThread } from './steps/own-thread';
import { remembersForAgent } from './steps/signed-approvals';

/** Adds rules of a decision to the agent's permission store. Adding the same rules again has no effect. With a verifier, the decision must be signed. */
export function rememberRules({ agents, verifier }: Pick<ActivityDependencies, 'agents' | 'verifier'>): Activities['rememberRules'] {
  return async ({ agent, rules, signed }) => {
    const store = agentOf(agents, agent).permissions?.store;
    if (!store) {
      throw ApplicationFailure.nonRetryable(
        `Agent '${agent}' has nowhere to keep permission rules. Give its permissions a store, such as filePermissionStore(path), or remember for the thread only.`,
        'NoPermissionStore',
      );
    }
    if (verifier && !(await remembersForAgent(verifier, { threadId: ownThread(), agent, rules, signed }))) {
      throw ApplicationFailure.nonRetryable(
        `No signed decision that this worker accepts remembers these rules for agent '${agent}'.`,
        'SignatureRequired',
      );
    }
    await store.add(agent, rules);
  };
}
