import { type AgentFacts, type ContextPolicy, isAgentName } from '../core/agent';
import { retryPolicy } from '../core/failure';
import { isObject } from '../core/json';
import { type CommandSandbox, defaultToolTimeoutMs } from '../tools/defining/define-tool';
import type { Agent, AgentDefinition, OutputSchema } from './agent';
import { agentTools } from './agent-tools';
import { readDefinition } from './check-definition';
import type { ContextRules } from './context-options';

export type { Agent, AgentDefinition, Instructions, InstructionsContext, StopOption, ToolSource } from './agent';

/** Defaults of options. Options with these values are left out of the agent's facts. */
const defaults = {
  atLimit: 'stop',
  toolFailure: 'continue',
  outputRetries: 2,
  completionChecks: 1,
  hookErrors: 3,
  fallbackOnContentFilter: false,
} as const;

/** Defines an agent: validates the definition and applies defaults. Throws `TypeError` that names the agent and every problem. */
export function defineAgent<Output extends OutputSchema = undefined>(definition: AgentDefinition<Output>): Agent<Output> {
  if (!isObject(definition)) throw new TypeError('defineAgent: give an object with at least name, model and instructions.');
  const { problems, stop, answer, context } = readDefinition(definition);
  const { name, model, instructions, hostedTools = [], output, hooks, permissions, workspace, toolSearch } = definition;
  const { settings = {}, limits = {}, threadLimits = {}, strategy = 'by-effect', retry = {}, toolTimeoutMs } = definition;
  if (problems.length > 0) {
    const which = isAgentName(name) ? `defineAgent '${name}'` : 'defineAgent';
    throw new TypeError(`${which}:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
  }
  const [first = '', ...fallbackModels] = [model].flat().map((one) => one.trim());
  const { onUnknown } = definition;
  const own = permissions?.forAgent(name);
  const box = agentTools(name, definition, {
    timeoutMs: toolTimeoutMs ?? defaultToolTimeoutMs,
    done: stop.kind === 'done-tool',
    ...(onUnknown && { onUnknown }),
    // Permissions need the agent's name to read its remembered rules.
    ...(own && { permissions: own }),
  });
  const agent = {
    name,
    model: first,
    fallbackModels: Object.freeze(fallbackModels),
    hostedTools: Object.freeze([...hostedTools]),
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
    context: context && Object.freeze(context),
    ...(workspace === undefined ? {} : { workspace }),
    ...(typeof toolSearch === 'object' && toolSearch.limit !== undefined && { loadedTools: toolSearch.limit }),
  };
  // Copies the property descriptors of `box`, so that its getter is kept: the tools of a toolset are read on each access.
  return Object.freeze(Object.defineProperties(agent, Object.getOwnPropertyDescriptors(box)) as Agent<Output>);
}

/** The facts about an agent that a workflow needs; default values are left out. */
export function factsOf(agent: Agent): Omit<AgentFacts, 'searchAttributes' | 'contextWindow'> {
  const { name, model, fallbackModels, limits, threadLimits, strategy, stop, answer, hooks, permissions, context } = agent;
  const said = Object.entries(defaults).filter(([option, value]) => option !== 'outputRetries' && agent[option as keyof Agent] !== value);
  const ids = hooks?.ids() ?? {};
  const sandbox = sandboxOf(agent);
  return {
    name,
    model,
    ...(fallbackModels.length > 0 && { fallbackModels: [...fallbackModels] }),
    limits: { ...limits },
    strategy,
    remembers: permissions?.store !== undefined,
    judgesDecisions: true,
    checksEdits: true,
    ownBackground: true,
    context: context && policyOf(context),
    ...(Object.keys(threadLimits).length > 0 && { threadLimits: { ...threadLimits } }),
    ...(stop.kind !== 'immediate' && { stop: { ...stop } }),
    ...(answer && { outputRetries: agent.outputRetries }),
    ...(agent.emptyRetries !== undefined && { emptyRetries: agent.emptyRetries }),
    ...(agent.loadedTools !== undefined && { loadedTools: agent.loadedTools }),
    ...Object.fromEntries(said.map(([option]) => [option, agent[option as keyof Agent]])),
    ...(Object.keys(ids).length > 0 && { hooks: ids }),
    ...(sandbox && { sandbox: { state: sandbox.state, network: sandbox.network } }),
  };
}

/** The sandbox of the first tool that has one: the tools of an agent that run commands share theirs. */
function sandboxOf({ toolbox }: Agent): CommandSandbox | undefined {
  return toolbox.names().flatMap((name) => toolbox.get(name)?.sandbox ?? [])[0];
}

/** The part of the rules that workflow code decides on. */
function policyOf({ windowTokens: _, reserveTokens: __, prompt: ___, ...policy }: ContextRules): ContextPolicy {
  return policy;
}

function withDefaults(definition: AgentDefinition): Pick<Agent, keyof typeof defaults> {
  const given = Object.keys(defaults).map((option) => [option, definition[option as keyof typeof defaults]]);
  return { ...defaults, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) };
}
