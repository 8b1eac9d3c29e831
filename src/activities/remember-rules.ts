import { ApplicationFailure } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { agentOf } from './steps/agent-of';
import type { ActivityDependencies } from './steps/dependencies';

/** Adds rules of a decision to the agent's permission store. Adding the same rules again has no effect. */
export function rememberRules({ agents }: Pick<ActivityDependencies, 'agents'>): Activities['rememberRules'] {
  return async ({ agent, rules }) => {
    const store = agentOf(agents, agent).permissions?.store;
    if (!store) {
      throw ApplicationFailure.nonRetryable(
        `Agent '${agent}' has nowhere to keep permission rules. Give its permissions a store, such as filePermissionStore(path), or remember for the thread only.`,
        'NoPermissionStore',
      );
    }
    await store.add(agent, rules);
  };
}
