import { isObject } from './json';
import { checkInput, show } from './requests';

/** Why a thread can't be started with this, or undefined. Says which field, what it is, and what it should be. */
export function checkThreadInput(input: unknown): string | undefined {
  if (!isObject(input)) return `a thread is started with { agent, input }; it was given ${show(input)}`;
  const { agent, mode, model, settings, limits, strategy, idleTimeoutMs } = input;
  if (typeof agent !== 'string' || agent.trim() === '') return `agent must be the name of an agent; it is ${show(agent)}`;
  const wrong = checkInput(input.input);
  if (wrong) return wrong;
  if (mode !== undefined && mode !== 'one-shot' && mode !== 'conversation')
    return `mode must be "one-shot" or "conversation"; it is ${show(mode)}`;
  if (model !== undefined && (typeof model !== 'string' || model.trim() === ''))
    return `model must be a model's name; it is ${show(model)}`;
  if (strategy !== undefined && !['by-effect', 'sequential', 'parallel'].includes(strategy as string)) {
    return `strategy must be "by-effect", "sequential" or "parallel"; it is ${show(strategy)}`;
  }
  if (idleTimeoutMs !== undefined && !(isCount(idleTimeoutMs) && idleTimeoutMs <= longestIdleMs))
    return `idleTimeoutMs must be a whole number of milliseconds, at most ${longestIdleMs} (ten years; 0 is for ever); it is ${show(idleTimeoutMs)}`;
  const unknown = unknownKey(input, ['agent', 'input', 'mode', 'model', 'settings', 'limits', 'strategy', 'idleTimeoutMs']);
  if (unknown) return unknown;
  return checkSettings(settings) ?? checkLimits(limits);
}

export function checkSettings(settings: unknown): string | undefined {
  if (settings === undefined) return undefined;
  if (!isObject(settings)) return `settings must be an object; it is ${show(settings)}`;
  const unknown = unknownKey(settings, ['temperature', 'maxTokens', 'toolChoice', 'providerOptions'], 'settings.');
  if (unknown) return `${unknown}; what only the provider knows goes into settings.providerOptions`;
  const { temperature, maxTokens, toolChoice, providerOptions } = settings;
  if (temperature !== undefined && !(typeof temperature === 'number' && temperature >= 0 && temperature <= 2)) {
    return `settings.temperature must be a number from 0 to 2; it is ${show(temperature)}`;
  }
  if (maxTokens !== undefined && !(isCount(maxTokens) && maxTokens > 0))
    return `settings.maxTokens must be a whole number above 0; it is ${show(maxTokens)}`;
  const choice = toolChoice as unknown;
  if (
    choice !== undefined &&
    !['auto', 'none', 'required'].includes(choice as string) &&
    !(isObject(choice) && typeof choice.tool === 'string')
  ) {
    return `settings.toolChoice must be "auto", "none", "required" or { tool: name }; it is ${show(choice)}`;
  }
  if (providerOptions !== undefined && !isObject(providerOptions))
    return `settings.providerOptions must be an object; it is ${show(providerOptions)}`;
  return undefined;
}

export function checkLimits(limits: unknown): string | undefined {
  if (limits === undefined) return undefined;
  if (!isObject(limits)) return `limits must be an object; it is ${show(limits)}`;
  for (const [name, value] of Object.entries(limits)) {
    if (name !== 'turns' && name !== 'toolCalls') return `limits.${name} is not a limit; known are turns and toolCalls`;
    if (value !== undefined && !isCount(value)) return `limits.${name} must be a whole number, 0 or more; it is ${show(value)}`;
  }
  return undefined;
}

/** Beyond what the server's timers are good for. */
const longestIdleMs = 10 * 365 * 24 * 3_600_000;

function unknownKey(object: Record<string, unknown>, known: string[], path = ''): string | undefined {
  const key = Object.keys(object).find((name) => !known.includes(name) && object[name] !== undefined);
  return key === undefined ? undefined : `${path}${key} is not known; known are ${known.join(', ')}`;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
