import { isAgentName, type StopPolicy } from '../core/agent';
import { unknownFields } from '../core/closest';
import { defaultCharsPerToken } from '../core/context/tokens';
import { checkModels } from '../core/thread-input';
import { messageOfThrown } from '../core/thrown';
import type { ToolStrategy } from '../core/tool';
import type { Hooks } from '../hooks/define-hooks';
import { problemOfWorkspacePath } from '../tools/built-in/thread-workspace';
import type { Permissions } from '../tools/permissions/permissions';
import type { AgentDefinition } from './agent';
import { charsOfTools, problemsOfTools, toolNames } from './agent-tools';
import { type AnswerFormat, answerFormat } from './answer-format';
import { problemsOfHostedTools, problemsOfLimits, problemsOfOptions, problemsOfRetry, problemsOfSettings } from './check-settings';
import { type ContextRules, contextRules } from './context-options';
import { stopPolicy } from './stop-policy';
import { problemsOfToolSearch } from './tool-search';

const strategies: readonly ToolStrategy[] = ['by-effect', 'sequential', 'parallel'];

/** Every field, to detect misspelt ones. The compiler rejects missing and unknown fields here. */
const fields: Record<keyof AgentDefinition, true> = {
  name: true,
  model: true,
  instructions: true,
  fallbackOnContentFilter: true,
  tools: true,
  toolSearch: true,
  readOutputs: true,
  hostedTools: true,
  settings: true,
  limits: true,
  threadLimits: true,
  atLimit: true,
  stop: true,
  toolFailure: true,
  output: true,
  outputRetries: true,
  emptyRetries: true,
  completionChecks: true,
  hooks: true,
  hookErrors: true,
  permissions: true,
  toolTimeoutMs: true,
  onUnknown: true,
  strategy: true,
  retry: true,
  context: true,
  workspace: true,
};

interface Read {
  problems: string[];
  stop: StopPolicy;
  answer?: AnswerFormat;
  context: ContextRules | null;
}

/** Expands a definition's short forms, and returns its problems, one line each; none if it is valid. */
export function readDefinition(definition: AgentDefinition): Read {
  const { policy, problems: ofStop } = stopPolicy(definition.stop);
  const { answer, problems: ofOutput } = readOutput(definition.output);
  const ofFields = problemsOfFields(definition, policy.kind === 'done-tool');
  const fixedTokens = () => (ofFields.length > 0 ? 0 : fixedTokensOf(definition));
  const { rules, problems: ofContext } = contextRules(definition.context, { settings: definition.settings, fixedTokens });
  const problems = [...ofFields, ...ofStop, ...ofOutput, ...ofContext, ...unknownFields(definition, Object.keys(fields))];
  return { problems, stop: policy, ...(answer && { answer }), context: rules };
}

/** Tokens of the instructions and tools, as far as they are known when the agent is defined. */
function fixedTokensOf(definition: AgentDefinition): number {
  const { instructions } = definition;
  const chars = (typeof instructions === 'string' ? instructions.length : 0) + charsOfTools(definition);
  return Math.ceil(chars / defaultCharsPerToken);
}

function problemsOfWorkspace(workspace: unknown): string[] {
  const problem = problemOfWorkspacePath(workspace);
  return problem === undefined ? [] : [`workspace: ${problem}`];
}

function problemsOfFields(definition: AgentDefinition, done: boolean): string[] {
  const { name, model, instructions, tools = [], toolSearch, hostedTools, hooks, permissions, workspace } = definition;
  const { settings = {}, limits = {}, threadLimits = {}, strategy = 'by-effect', retry = {} } = definition;
  const ofSearch = problemsOfToolSearch(toolSearch);
  return [
    ...(isAgentName(name) ? [] : [`the name ${JSON.stringify(name)} is not usable; use 1 to 64 letters, digits, '_', '-' or '.'`]),
    ...problemsOfModel(model),
    ...problemsOfHostedTools(hostedTools),
    ...(isText(instructions) || typeof instructions === 'function' ? [] : ['instructions: give a text, or a function that makes one']),
    ...ofSearch,
    ...problemsOfTools(tools, { done, search: ofSearch.length > 0 ? false : toolSearch }),
    ...problemsOfAlways(definition),
    ...(strategies.includes(strategy)
      ? []
      : [`strategy: is ${JSON.stringify(strategy)}; use ${strategies.map((s) => `'${s}'`).join(', ')}`]),
    ...(workspace === undefined ? [] : problemsOfWorkspace(workspace)),
    ...problemsOfSettings(settings, toolNames(tools, done)),
    ...problemsOfLimits('limits', limits),
    ...problemsOfLimits('threadLimits', threadLimits),
    ...problemsOfRetry(retry),
    ...problemsOfOptions(definition),
    ...problemsOfHooks(hooks),
    ...problemsOfPermissions(permissions),
  ];
}

/** Names that are always sent must be those of tools, if the tools are known. */
function problemsOfAlways({ tools = [], toolSearch }: AgentDefinition): string[] {
  const known = toolNames(tools, false);
  const always: unknown = typeof toolSearch === 'object' ? toolSearch?.always : undefined;
  if (!known || !Array.isArray(always)) return [];
  return always.filter((name) => !known.includes(name)).map((name) => `toolSearch.always: the agent has no tool ${JSON.stringify(name)}`);
}

function problemsOfModel(model: unknown): string[] {
  if (!Array.isArray(model) && !isText(model)) return ["model: name one, such as 'openai/gpt-5'"];
  return [checkModels(model)].filter((wrong) => wrong !== undefined);
}

function readOutput(output: AgentDefinition['output']): { answer?: AnswerFormat; problems: string[] } {
  if (output === undefined) return { problems: [] };
  try {
    return { answer: answerFormat(output), problems: [] };
  } catch (error) {
    return { problems: [messageOfThrown(error)] };
  }
}

/** Checks by shape, because `instanceof` fails across a test runner's realms or two copies of the package. */
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
