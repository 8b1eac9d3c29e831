import type { AgentFacts } from '../core/agent';
import { checkName } from '../core/check-input';
import { retryPolicy } from '../core/failure';
import type { ToolStrategy } from '../core/tool';
import type { Hooks } from '../hooks/define-hooks';
import { defaultToolTimeoutMs } from '../tools/define-tool';
import type { Permissions } from '../tools/permissions';
import { isToolset } from '../tools/toolset';
import type { Agent, AgentDefinition } from './agent';
import { agentTools } from './agent-tools';
import { answerFormat } from './answer-format';
import { problemsOfLimits, problemsOfOptions, problemsOfRetry, problemsOfSettings } from './check-settings';
import { stopPolicy } from './stop-policy';

export type { Agent, AgentDefinition, Instructions, InstructionsContext, StopOption, ToolSource } from './agent';

const strategies: readonly ToolStrategy[] = ['by-effect', 'sequential', 'parallel'];
/** What an agent has that says nothing else. What equals it is not among its facts. */
const defaults = {
  atLimit: 'stop',
  toolFailure: 'continue',
  outputRetries: 2,
  completionChecks: 1,
  hookErrors: 3,
} as const;

/** Checks an agent's definition and fills in its defaults. Throws `TypeError` that names the agent and every problem. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name, model, instructions, tools = [], output, hooks, permissions, workspace } = definition;
  const { settings = {}, limits = {}, threadLimits = {}, strategy = 'by-effect', retry = {}, toolTimeoutMs } = definition;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) {
    throw new TypeError(`defineAgent: the name ${JSON.stringify(name)} is not usable; use 1 to 64 letters, digits, '_', '-' or '.'.`);
  }
  const options = withDefaults(definition);
  const stop = stopPolicy(definition.stop === undefined ? 'immediate' : definition.stop);
  const hooksProblems = problemsOfHooks(hooks);
  const permissionsProblems = problemsOfPermissions(permissions);
  const own = permissionsProblems.length > 0 ? undefined : permissions?.forAgent(name);
  const box = agentTools(name, tools, {
    timeoutMs: toolTimeoutMs ?? defaultToolTimeoutMs,
    done: stop.policy.kind === 'done-tool',
    // Permissions that remember for an agent must know for which.
    ...(own && { permissions: own }),
  });
  const problems = [
    ...(isText(model) ? [checkName('model', model)].filter((wrong) => wrong !== undefined) : ["model: name one, such as 'openai/gpt-5'"]),
    ...(isText(instructions) || typeof instructions === 'function' ? [] : ['instructions: give a text, or a function that makes one']),
    ...(strategies.includes(strategy)
      ? []
      : [`strategy: is ${JSON.stringify(strategy)}; use ${strategies.map((s) => `'${s}'`).join(', ')}`]),
    ...(workspace === undefined || isText(workspace) ? [] : ['workspace: give the path of a folder']),
    // Which tools there will be is not known beforehand where they change.
    ...problemsOfSettings(settings, typeof tools === 'function' || isToolset(tools) ? undefined : box.toolbox.names()),
    ...problemsOfLimits('limits', limits),
    ...problemsOfLimits('threadLimits', threadLimits),
    ...problemsOfRetry(retry),
    ...problemsOfOptions({ ...options, emptyRetries: definition.emptyRetries, toolTimeoutMs }),
    ...stop.problems,
    ...hooksProblems,
    ...permissionsProblems,
  ];
  if (problems.length > 0) throw new TypeError(`defineAgent '${name}':\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
  const answer =
    output === undefined ? undefined : answerFormat(output, (problem) => new TypeError(`defineAgent '${name}': output ${problem}`));
  const agent = {
    name,
    model: model.trim(),
    instructions,
    settings: Object.freeze({ ...settings }),
    limits: Object.freeze({ ...limits }),
    threadLimits: Object.freeze({ ...threadLimits }),
    ...options,
    ...(definition.emptyRetries !== undefined && { emptyRetries: definition.emptyRetries }),
    stop: Object.freeze(stop.policy),
    ...(answer && { answer }),
    ...(hooks && { hooks }),
    ...(own && { permissions: own }),
    strategy,
    retry: Object.freeze(retryPolicy(retry)),
    ...(workspace === undefined ? {} : { workspace }),
  };
  // `box` keeps its getter: the tools of a set are read when they are asked for.
  return Object.freeze(Object.defineProperties(agent, Object.getOwnPropertyDescriptors(box)) as Agent);
}

/** What a workflow needs to know of an agent; what is as it is by default is left out. */
export function factsOf(agent: Agent): Omit<AgentFacts, 'searchAttributes' | 'contextWindow'> {
  const { name, model, limits, threadLimits, strategy, stop, answer, hooks } = agent;
  const said = Object.entries(defaults).filter(([option, value]) => option !== 'outputRetries' && agent[option as keyof Agent] !== value);
  const ids = hooks?.ids() ?? {};
  return {
    name,
    model,
    limits: { ...limits },
    strategy,
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

/** By their shape: a test runner's realms, or two copies of the package, would make `instanceof` lie. */
function problemsOfHooks(hooks: Hooks | undefined): string[] {
  const fine = hooks === undefined || (typeof hooks?.ids === 'function' && typeof hooks.run === 'function');
  return fine ? [] : ['hooks: give what defineHooks returned'];
}

function problemsOfPermissions(permissions: Permissions | undefined): string[] {
  const fine =
    permissions === undefined ||
    (typeof permissions?.decide === 'function' && typeof permissions.suggest === 'function' && typeof permissions.forAgent === 'function');
  return fine ? [] : ['permissions: give what createPermissions returned'];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
