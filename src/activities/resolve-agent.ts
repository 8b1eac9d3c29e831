import { ApplicationFailure } from '@temporalio/activity';
import { factsOf } from '../agents/define-agent';
import { type Activities, failureTypes } from '../contract/activities';
import type { ActivityDependencies } from './dependencies';

/** Finds out what a run needs to know of its agent, so that it is recorded and replay need not know the agent. */
export function resolveAgent(deps: ActivityDependencies): Activities['resolveAgent'] {
  const { agents, limits, searchAttributes } = deps;
  return async ({ agent }) => {
    if (!agents.names().includes(agent)) throw unknownAgent(agents, agent);
    const facts = factsOf(agents.get(agent));
    const contextWindow = contextWindowOf(deps, facts.model);
    return {
      ...facts,
      limits: { ...limits, ...facts.limits },
      ...(contextWindow !== undefined && { contextWindow }),
      searchAttributes,
    };
  };
}

function contextWindowOf({ models, prices }: ActivityDependencies, name: string): number | undefined {
  try {
    const { model, providerName = '' } = models.resolve(name);
    return prices.contextWindow(model, providerName);
  } catch {
    // A name that nobody knows is the model call's to report.
    return undefined;
  }
}

function unknownAgent(agents: ActivityDependencies['agents'], name: string): unknown {
  try {
    return agents.get(name);
  } catch (error) {
    return ApplicationFailure.nonRetryable((error as Error).message, failureTypes.unknownAgent);
  }
}
