import { type AtLimit, limitNames, type ModelSettings } from './agent';
import { bounds } from './bounds';
import { checkDepth, checkInput, checkName, checkWords, show } from './check-input';
import { bytesOf } from './context/carry';
import { isObject } from './json';

/** Returns why a thread can't be started with this input, or undefined. The text names the field, its value and what it must be. */
export function checkThreadInput(input: unknown): string | undefined {
  const tooDeep = checkDepth('what the thread is started with', input);
  if (tooDeep) return tooDeep;
  if (!isObject(input)) return `a thread is started with { agent, input }; it was given ${show(input)}`;
  const { agent, mode, idleTimeoutMs, agentWaitMs, reopens } = input;
  if (typeof agent !== 'string' || agent.trim() === '') return `agent must be the name of an agent; it is ${show(agent)}`;
  const wrong = checkName('agent', agent) ?? checkInput(input.input);
  if (wrong) return wrong;
  if (mode !== undefined && mode !== 'one-shot' && mode !== 'conversation')
    return `mode must be "one-shot" or "conversation"; it is ${show(mode)}`;
  if (idleTimeoutMs !== undefined && !(isCount(idleTimeoutMs) && idleTimeoutMs <= longestIdleMs))
    return `idleTimeoutMs must be a whole number of milliseconds, at most ${longestIdleMs} (ten years; 0 is for ever); it is ${show(idleTimeoutMs)}`;
  if (agentWaitMs !== undefined && !(isCount(agentWaitMs) && agentWaitMs <= longestAgentWaitMs))
    return `agentWaitMs must be a whole number of milliseconds, at most ${longestAgentWaitMs} (30 days; 0 is not at all); it is ${show(agentWaitMs)}`;
  if (reopens !== undefined) return checkReopens(reopens);
  return unknownKey(input, ['agent', 'input', 'mode', 'idleTimeoutMs', 'agentWaitMs', ...overrideKeys]) ?? checkOverrides(input);
}

function checkReopens(reopens: unknown): string | undefined {
  if (!isObject(reopens)) return `reopens must be { execution }; it is ${show(reopens)}`;
  const { execution, reason, by } = reopens;
  if (typeof execution !== 'string' || execution.trim() === '' || execution.length > bounds.nameChars) {
    return `reopens.execution must be Temporal's run id of a closed execution of the thread; it is ${show(execution)}`;
  }
  return checkWords({ reason, by }) ?? unknownKey(reopens, ['execution', 'reason', 'by'], 'reopens.');
}

/** Bounded, because each model may use all its retries before the next one is tried. */
const mostModels = 10;

const overrideKeys = ['model', 'settings', 'limits', 'threadLimits', 'atLimit', 'strategy', 'tools'];

/** Returns what is wrong with the settings of a thread or a message that replace the agent's, or undefined. */
export function checkOverrides(fields: Record<string, unknown>): string | undefined {
  const { model, settings, limits, threadLimits, atLimit, strategy, tools } = fields;
  const unusable = model === undefined ? undefined : checkModels(model);
  if (unusable) return unusable;
  if (strategy !== undefined && !['by-effect', 'sequential', 'parallel'].includes(strategy as string)) {
    return `strategy must be "by-effect", "sequential" or "parallel"; it is ${show(strategy)}`;
  }
  if (atLimit !== undefined && !atLimits.includes(atLimit as AtLimit)) {
    return `atLimit must be one of ${atLimits.map((way) => JSON.stringify(way)).join(', ')}; it is ${show(atLimit)}`;
  }
  return checkSettings(settings) ?? checkLimits(limits) ?? checkLimits(threadLimits, 'threadLimits') ?? checkTools(tools);
}

/** Returns what is wrong with a model name or a list of models, or undefined. */
export function checkModels(model: unknown): string | undefined {
  if (typeof model === 'string' && model.trim() !== '') return checkName('model', model);
  if (!Array.isArray(model) || model.length === 0 || model.length > mostModels) {
    return `model must be a model's name, or a list of 1 to ${mostModels}; it is ${show(model)}`;
  }
  const wrong = model.map((name, i) => checkName(`model[${i}]`, name)).find((words) => words !== undefined);
  return wrong ?? (new Set(model).size < model.length ? 'model names a model twice' : undefined);
}

function checkTools(tools: unknown): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools)) return `tools must be a list of { name, description, parameters }; it is ${show(tools)}`;
  const seen = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const { name, description, parameters, deadlineMs } = isObject(tool) ? tool : {};
    if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      return `tools[${i}].name must be 1 to 64 letters, digits, _ or -; it is ${show(name)}`;
    if (seen.has(name)) return `tools[${i}]: two tools are named "${name}"; the model could not tell them apart`;
    if (typeof description !== 'string' || description.trim() === '')
      return `tools[${i}] ("${name}") has no description; the model chooses tools by it`;
    if (!isObject(parameters) || parameters.type !== 'object')
      return `tools[${i}] ("${name}").parameters must be a JSON Schema of an object; it is ${show(parameters)}`;
    if (deadlineMs !== undefined && !(isCount(deadlineMs) && deadlineMs >= 1 && deadlineMs <= bounds.longestMs))
      return `tools[${i}] ("${name}").deadlineMs must be a whole number of milliseconds from 1, at most ${bounds.longestMs} (ten years); it is ${show(deadlineMs)}`;
    const unknown = unknownKey(tool as Record<string, unknown>, ['name', 'description', 'parameters', 'deadlineMs'], `tools[${i}].`);
    if (unknown) return unknown;
    seen.add(name);
  }
  const bytes = bytesOf(tools);
  return bytes > bounds.toolsBytes ? `tools have ${bytes} bytes; at most ${bounds.toolsBytes} go with a request` : undefined;
}

const settingNames: (keyof ModelSettings)[] = [
  'temperature',
  'maxTokens',
  'toolChoice',
  'reasoningEffort',
  'otherReasoning',
  'providerOptions',
];
const reasoningEfforts: readonly string[] = ['none', 'low', 'medium', 'high'] satisfies ModelSettings['reasoningEffort'][];

export function checkSettings(settings: unknown): string | undefined {
  if (settings === undefined) return undefined;
  if (!isObject(settings)) return `settings must be an object; it is ${show(settings)}`;
  const unknown = unknownKey(settings, settingNames, 'settings.');
  if (unknown) return `${unknown}; what only the provider knows goes into settings.providerOptions`;
  const { temperature, maxTokens, toolChoice, reasoningEffort, otherReasoning, providerOptions } = settings;
  if (temperature !== undefined && !(typeof temperature === 'number' && temperature >= 0 && temperature <= 2)) {
    return `settings.temperature must be a number from 0 to 2; it is ${show(temperature)}`;
  }
  if (maxTokens !== undefined && !(isCount(maxTokens) && maxTokens > 0))
    return `settings.maxTokens must be a whole number above 0; it is ${show(maxTokens)}`;
  const choice = toolChoice as unknown;
  if (
    choice !== undefined &&
    !['auto', 'none', 'required'].includes(choice as string) &&
    !(isObject(choice) && checkName('tool', choice.tool) === undefined)
  ) {
    return `settings.toolChoice must be "auto", "none", "required" or { tool: name }; it is ${show(choice)}`;
  }
  if (reasoningEffort !== undefined && !reasoningEfforts.includes(reasoningEffort as string))
    return `settings.reasoningEffort must be one of ${reasoningEfforts.map((one) => `"${one}"`).join(', ')}; it is ${show(reasoningEffort)}`;
  if (otherReasoning !== undefined && otherReasoning !== 'drop' && otherReasoning !== 'text')
    return `settings.otherReasoning must be "drop" or "text"; it is ${show(otherReasoning)}`;
  if (providerOptions !== undefined && !isObject(providerOptions))
    return `settings.providerOptions must be an object; it is ${show(providerOptions)}`;
  const bytes = bytesOf(settings);
  return bytes > bounds.settingsBytes ? `settings have ${bytes} bytes; at most ${bounds.settingsBytes} go with a request` : undefined;
}

export function checkLimits(limits: unknown, field = 'limits'): string | undefined {
  if (limits === undefined) return undefined;
  if (!isObject(limits)) return `${field} must be an object; it is ${show(limits)}`;
  for (const [name, value] of Object.entries(limits)) {
    if (!(limitNames as readonly string[]).includes(name)) return `${field}.${name} is not a limit; known are ${limitNames.join(', ')}`;
    if (value === undefined) continue;
    if (name === 'costUsd' && !(typeof value === 'number' && Number.isFinite(value) && value >= 0)) {
      return `${field}.costUsd must be a number of dollars, 0 or more; it is ${show(value)}`;
    }
    if (name !== 'costUsd' && !isCount(value)) return `${field}.${name} must be a whole number, 0 or more; it is ${show(value)}`;
  }
  return undefined;
}

const atLimits: readonly AtLimit[] = ['stop', 'summarize', 'hand-out', 'ask', 'fail'];

/** Generous maxima that the server's timers support. */
const longestAgentWaitMs = 30 * 24 * 3_600_000;
const longestIdleMs = bounds.longestMs;

function unknownKey(object: Record<string, unknown>, known: string[], path = ''): string | undefined {
  const key = Object.keys(object).find((name) => !known.includes(name) && object[name] !== undefined);
  return key === undefined ? undefined : `${path}${key} is not known; known are ${known.join(', ')}`;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
