import type { AgentFacts } from '../core/agent';
import { retryPolicy } from '../core/failure';
import { isObject } from '../core/json';
import { defaultToolTimeoutMs } from '../tools/define-tool';
import type { Agent, AgentDefinition, OutputSchema } from './agent';
import { agentTools } from './agent-tools';
import { isAgentName, readDefinition } from './check-definition';

export type { Agent, AgentDefinition, Instructions, InstructionsContext, StopOption, ToolSource } from './agent';

/** What an agent has that says nothing else. What equals it is not among its facts. */
const defaults = {
  atLimit: 'stop',
  toolFailure: 'continue',
  outputRetries: 2,
  completionChecks: 1,
  hookErrors: 3,
} as const;

/** Checks an agent's definition and fills in its defaults. Throws `TypeError` that names the agent and every problem. */
export function defineAgent<Output extends OutputSchema = undefined>(definition: AgentDefinition<Output>): Agent<Output> {
  if (!isObject(definition)) throw new TypeError('defineAgent: give an object with at least name, model and instructions.');
  const { problems, stop, answer } = readDefinition(definition);
  const { name, model, instructions, tools = [], output, hooks, permissions, workspace } = definition;
  const { settings = {}, limits = {}, threadLimits = {}, strategy = 'by-effect', retry = {}, toolTimeoutMs } = definition;
  if (problems.length > 0) {
    const which = isAgentName(name) ? `defineAgent '${name}'` : 'defineAgent';
    throw new TypeError(`${which}:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
  }
  const own = permissions?.forAgent(name);
  const box = agentTools(name, tools, {
    timeoutMs: toolTimeoutMs ?? defaultToolTimeoutMs,
    done: stop.kind === 'done-tool',
    // Permissions that remember for an agent must know for which.
    ...(own && { permissions: own }),
  });
  const agent = {
    name,
    model: model.trim(),
    instructions,
    settings: Object.freeze({ ...settings }),
    limits: Object.freeze({ ...limits }),
    threadLimits: Object.freeze({ ...threadLimits }),
    ...withDefaults(definition),
    ...(definition.emptyRetries !== undefined && { emptyRetries: definition.emptyRetries }),
    stop: Object.freeze(stop),
    output,
    ...(answer && { answer }),
    ...(hooks && { hooks }),
    ...(own && { permissions: own }),
    strategy,
    retry: Object.freeze(retryPolicy(retry)),
    ...(workspace === undefined ? {} : { workspace }),
  };
  // `box` keeps its getter: the tools of a set are read when they are asked for.
  return Object.freeze(Object.defineProperties(agent, Object.getOwnPropertyDescriptors(box)) as Agent<Output>);
}

/** What a workflow needs to know of an agent; what is as it is by default is left out. */
export function factsOf(agent: Agent): Omit<AgentFacts, 'searchAttributes' | 'contextWindow'> {
  const { name, model, limits, threadLimits, strategy, stop, answer, hooks, permissions } = agent;
  const said = Object.entries(defaults).filter(([option, value]) => option !== 'outputRetries' && agent[option as keyof Agent] !== value);
  const ids = hooks?.ids() ?? {};
  return {
    name,
    model,
    limits: { ...limits },
    strategy,
    remembers: permissions?.store !== undefined,
    ...(Object.keys(threadLimits).length > 0 && { threadLimits: { ...threadLimits } }),
    ...(stop.kind !== 'immediate' && { stop: { ...stop } }),
    ...(answer && { outputRetries: agent.outputRetries }),
    ...(agent.emptyRetries !== undefined && { emptyRetries: agent.emptyRetries }),
    ...Object.fromEntries(said.map(([option]) => [option, agent[option as keyof Agent]])),
    ...(Object.keys(ids).length > 0 && { hooks: ids }),
  };
}

function withDefaults(definition: AgentDefinition): Pick<Agent, keyof typeof defaults> {
  const given = Object.keys(defaults).map((option) => [option, definition[option as keyof typeof defaults]]);
  return { ...defaults, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) };
}
