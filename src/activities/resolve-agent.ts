import { Context } from '@temporalio/activity';
import { factsOf } from '../agents/define-agent';
import type { Activities } from '../contract/activities';
import { defaultTakeoverMs } from '../core/takeover';
import { agentOf } from './steps/agent-of';
import type { ActivityDependencies } from './steps/dependencies';

/** Returns what a run needs to know about its agent. It is recorded, so that a replay does not need the agent. */
export function resolveAgent(deps: ActivityDependencies): Activities['resolveAgent'] {
  const { agents, artifacts, limits, searchAttributes, takeoverMs, carryAfter, verifier } = deps;
  return async ({ agent }) => {
    const found = agentOf(agents, agent, { attempt: Context.current().info.attempt, searchAttributes });
    const facts = factsOf(found);
    const contextWindow = found.context?.windowTokens ?? contextWindowOf(deps, facts.model);
    return {
      ...facts,
      limits: { ...limits, ...facts.limits },
      ...(contextWindow !== undefined && { contextWindow }),
      ...(takeoverMs !== defaultTakeoverMs && { takeoverMs }),
      sameNames: 'as-seen',
      cutsToWindow: true,
      cutsMessages: true,
      ...(artifacts && { archivesDropped: true, archivesCarried: true }),
      ...(verifier && { signedDecisions: true }),
      searchAttributes,
      ...(carryAfter && { carryAfter }),
    };
  };
}

function contextWindowOf({ models, catalog }: ActivityDependencies, name: string): number | undefined {
  try {
    const { model, providerName = '' } = models.resolve(name);
    return catalog.describe(model, providerName).windowTokens;
  } catch {
    // The model call reports an unknown name.
    return undefined;
  }
}
