import { ApplicationFailure } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { agentOf } from './agent-of';
import type { ActivityDependencies } from './dependencies';

/** Keeps what a decision asked to remember where the agent's permissions are kept. Saying it twice changes nothing. */
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
