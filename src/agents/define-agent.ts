import type { AgentFacts, Limits, ModelSettings } from '../core/agent';
import { type RetryPolicy, retryPolicy } from '../core/failure';
import type { ToolStrategy } from '../core/tool';
import type { Tool } from '../tools/define-tool';
import { createToolbox, type Toolbox } from '../tools/toolbox';
import { problemsOfLimits, problemsOfRetry, problemsOfSettings } from './check-settings';

/** What instructions may depend on. They are made anew for every model call; what changes in them spoils the provider's prompt cache. */
export interface InstructionsContext {
  threadId: string;
  now: Date;
}

export type Instructions = string | ((ctx: InstructionsContext) => string | Promise<string>);

export interface AgentDefinition {
  /** 1 to 64 of a-z, A-Z, 0-9, `_`, `-` and `.`: threads are started by it. */
  name: string;
  /** `provider/model`, such as `openai/gpt-5`, or a bare model name. */
  model: string;
  /** The system prompt. */
  instructions: Instructions;
  /** None: a plain chat. */
  tools?: readonly Tool[];
  settings?: ModelSettings;
  limits?: Limits;
  /** Default `by-effect`: pure calls side by side, the others one after another. */
  strategy?: ToolStrategy;
  /** How model calls are retried; what is unset is the engine's default. */
  retry?: Partial<RetryPolicy>;
  /** The folder its tools work in; default is the worker's. */
  workspace?: string;
}

/** An agent as a worker keeps it: checked, frozen, with its toolbox. Made by `defineAgent` only. */
export interface Agent {
  readonly name: string;
  readonly model: string;
  readonly instructions: Instructions;
  readonly toolbox: Toolbox;
  readonly settings: Readonly<ModelSettings>;
  readonly limits: Readonly<Limits>;
  readonly strategy: ToolStrategy;
  readonly retry: Readonly<RetryPolicy>;
  readonly workspace?: string;
}

const strategies: readonly ToolStrategy[] = ['by-effect', 'sequential', 'parallel'];

/** Checks an agent's definition and fills in its defaults. Throws `TypeError` that names the agent and every problem. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name, model, instructions, tools = [], settings = {}, limits = {}, strategy = 'by-effect', retry = {}, workspace } = definition;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) {
    throw new TypeError(`defineAgent: the name ${JSON.stringify(name)} is not usable; use 1 to 64 letters, digits, '_', '-' or '.'.`);
  }
  const toolbox = toolboxOf(name, tools);
  const problems = [
    ...(isText(model) ? [] : ["model: name one, such as 'openai/gpt-5'"]),
    ...(isText(instructions) || typeof instructions === 'function' ? [] : ['instructions: give a text, or a function that makes one']),
    ...(strategies.includes(strategy)
      ? []
      : [`strategy: is ${JSON.stringify(strategy)}; use ${strategies.map((s) => `'${s}'`).join(', ')}`]),
    ...(workspace === undefined || isText(workspace) ? [] : ['workspace: give the path of a folder']),
    ...problemsOfSettings(settings, toolbox.names()),
    ...problemsOfLimits(limits),
    ...problemsOfRetry(retry),
  ];
  if (problems.length > 0) throw new TypeError(`defineAgent '${name}':\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
  return Object.freeze({
    name,
    model: model.trim(),
    instructions,
    toolbox,
    settings: Object.freeze({ ...settings }),
    limits: Object.freeze({ ...limits }),
    strategy,
    retry: Object.freeze(retryPolicy(retry)),
    ...(workspace === undefined ? {} : { workspace }),
  });
}

/** What a workflow needs to know of an agent. */
export function factsOf(agent: Agent): Omit<AgentFacts, 'searchAttributes'> {
  return { name: agent.name, model: agent.model, limits: { ...agent.limits }, strategy: agent.strategy };
}

function toolboxOf(agent: string, tools: readonly Tool[]): Toolbox {
  if (!Array.isArray(tools)) throw new TypeError(`defineAgent '${agent}': tools must be a list of what defineTool returned.`);
  const odd = tools.findIndex((tool) => typeof tool !== 'object' || tool === null || typeof tool.parameters !== 'object');
  if (odd !== -1) throw new TypeError(`defineAgent '${agent}': tools[${odd}] was not made by defineTool.`);
  try {
    return createToolbox(tools);
  } catch (error) {
    throw new TypeError(`defineAgent '${agent}': ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
