import { ApplicationFailure } from '@temporalio/activity';
import { factsOf } from '../agents/define-agent';
import { type Activities, failureTypes } from '../contract/activities';
import type { ActivityDependencies } from './dependencies';

/** Finds out what a run needs to know of its agent, so that it is recorded and replay need not know the agent. */
export function resolveAgent({ agents, searchAttributes }: ActivityDependencies): Activities['resolveAgent'] {
  return async ({ agent }) => {
    if (!agents.names().includes(agent)) throw unknownAgent(agents, agent);
    return { ...factsOf(agents.get(agent)), searchAttributes };
  };
}

function unknownAgent(agents: ActivityDependencies['agents'], name: string): unknown {
  try {
    return agents.get(name);
  } catch (error) {
    return ApplicationFailure.nonRetryable((error as Error).message, failureTypes.unknownAgent);
  }
}
