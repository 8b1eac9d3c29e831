import { closest } from '../core/closest';
import { excerpt } from '../core/json';
import type { Agent } from './define-agent';

/** The agents of one worker. */
export interface Agents {
  /** Throws `AgentNotFoundError` for an unknown name. */
  get(name: string): Agent;
  names(): string[];
}

export class AgentNotFoundError extends Error {
  override readonly name = 'AgentNotFoundError';

  constructor(
    readonly agentName: string,
    /** The names of the worker's agents. */
    readonly known: readonly string[],
    readonly suggestion: string | undefined = closest(agentName, known),
  ) {
    const shown = excerpt(String(agentName), 100);
    super(`Unknown agent '${shown}'.${suggestion ? ` Did you mean '${suggestion}'?` : ''} This worker has: ${known.join(', ') || 'none'}.`);
  }
}

/** Creates the registry. Throws `TypeError` if two different agents share a name. */
export function createAgents(agents: readonly Agent[]): Agents {
  const byName = new Map<string, Agent>();
  for (const [at, agent] of agents.entries()) {
    if (typeof agent?.toolbox?.judge !== 'function') throw new TypeError(`agents[${at}] was not made by defineAgent.`);
    const before = byName.get(agent.name);
    if (before && before !== agent) throw new TypeError(`Two agents are named '${agent.name}'; threads are started by name. Rename one.`);
    byName.set(agent.name, agent);
  }
  return Object.freeze({
    names: () => [...byName.keys()],
    get(name: string): Agent {
      const agent = byName.get(name);
      if (!agent) throw new AgentNotFoundError(String(name), [...byName.keys()]);
      return agent;
    },
  });
}
