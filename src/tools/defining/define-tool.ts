import { askPolicy } from '../../core/ask-policy';
import { unknownFields } from '../../core/closest';
import { type AskPolicy, canBeUnknown, type Effect, onUnknownWays, type ToolRetry } from '../../core/tool';
import { checkedApproval } from './approval';
import type { InputSchema, Tool, ToolDefinition } from './tool-definition';
import { toolInput } from './tool-input';

export type { ApprovalAnswer, ApprovalPolicy, ApprovalRule } from './approval';
export type {
  Arguments,
  CommandSandbox,
  Dependencies,
  InputSchema,
  ProbeAnswer,
  ProbeRequest,
  Tool,
  ToolContext,
  ToolDefinition,
} from './tool-definition';

export const defaultToolTimeoutMs = 30_000;
const effects: readonly Effect[] = ['pure', 'keyed', 'once', 'verify', 'saga'];
/** A Node timer with a longer delay fires immediately. */
export const longestTimeoutMs = 2 ** 31 - 1;

/** Temporal counts attempts in 32 bits, and takes no interval of zero. */
const mostAttempts = 1_000;
const longestRetryMs = 24 * 3_600_000;

type Refuse = (field: string, problem: string) => Error;

/** Every field, to detect misspelt ones. The compiler rejects missing and unknown fields here. */
const fields: Record<keyof ToolDefinition, true> = {
  name: true,
  description: true,
  input: true,
  definitions: true,
  tags: true,
  effect: true,
  approval: true,
  timeoutMs: true,
  retry: true,
  background: true,
  onUnknown: true,
  ask: true,
  question: true,
  execute: true,
  probe: true,
  compensate: true,
};

/** Defines a tool: validates the definition and applies defaults. Throws `TypeError` that names the tool, the field and the remedy. */
export function defineTool<Input extends InputSchema>(definition: ToolDefinition<Input>): Tool {
  const { name, description, effect = 'once', timeoutMs, retry, execute } = definition;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`defineTool: the name ${JSON.stringify(name)} is not usable; use 1 to 64 letters, digits, '_' or '-'.`);
  }
  const refuse: Refuse = (field, problem) => new TypeError(`defineTool '${name}': ${field} ${problem}`);
  if (typeof description !== 'string' || description.trim() === '') {
    throw refuse('description', 'is empty; the model chooses tools by it.');
  }
  if (!effects.includes(effect))
    throw refuse('effect', `is ${JSON.stringify(effect)}; use ${effects.map((one) => `'${one}'`).join(', ')}.`);
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0 && timeoutMs <= longestTimeoutMs)) {
    throw refuse('timeoutMs', `is ${timeoutMs}; use milliseconds above 0 and at most ${longestTimeoutMs} (24 days).`);
  }
  if (execute !== undefined && typeof execute !== 'function') {
    throw refuse('execute', 'is not a function; leave it out for a tool that is answered from outside.');
  }
  const [unknown] = unknownFields(definition, Object.keys(fields));
  if (unknown) throw new TypeError(`defineTool '${name}': ${unknown}`);
  const approval = checkedApproval(definition.approval ?? 'never', (problem) => refuse('approval', problem));
  const { parameters, check } = toolInput(definition.input, definition.definitions, (problem) => refuse('input', problem));
  return Object.freeze({
    name,
    description,
    parameters,
    check,
    ...checkedTags(definition.tags, refuse),
    effect,
    ...(approval && { approval }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retry === undefined ? {} : { retry: checkedRetry(retry, effect, refuse) }),
    ...checkedWays(definition as ToolDefinition, refuse),
    ...(execute === undefined ? {} : { execute: execute.bind(definition) as Tool['execute'] }),
    ...checkedProbe(definition as ToolDefinition, refuse),
    ...checkedCompensate(definition as ToolDefinition, refuse),
    ...checkedOnUnknown(definition as ToolDefinition, refuse),
  });
}

const maxTags = 20;
const maxTagChars = 100;

function checkedTags(tags: readonly string[] | undefined, refuse: Refuse): Pick<Tool, 'tags'> {
  if (tags === undefined) return {};
  const isTag = (tag: unknown) => typeof tag === 'string' && tag.trim() !== '' && tag.length <= maxTagChars;
  if (!Array.isArray(tags) || tags.length > maxTags || !tags.every(isTag)) {
    throw refuse('tags', `must be a list of at most ${maxTags} texts of 1 to ${maxTagChars} characters.`);
  }
  return tags.length > 0 ? { tags: Object.freeze([...tags]) } : {};
}

/** Validates the fields that apply only to tools with `execute`, and those that apply only to tools without it. */
function checkedWays(
  { background, ask, question, execute }: ToolDefinition,
  refuse: Refuse,
): Pick<Tool, 'background' | 'ask' | 'question'> {
  for (const [field, value] of Object.entries({ background, question })) {
    if (value !== undefined && typeof value !== 'boolean') throw refuse(field, `is ${JSON.stringify(value)}; use true or false.`);
  }
  if (background && !execute) throw refuse('background', 'needs execute: a tool that is answered from outside does not run on the worker.');
  if (question && execute) throw refuse('question', 'is for tools without execute, which a person answers.');
  if (ask === undefined) return { ...(background && { background }), ...(question && { question }) };
  if (execute) throw refuse('ask', 'is for tools without execute; use approval to set who must agree to a call.');
  const { policy, problems } = askPolicy(ask);
  if (problems.length === 0 && policy.onDeadline?.includes('approve'))
    problems.push("onDeadline is 'approve', which answers nothing; use 'deny'");
  if (problems.length > 0) throw refuse('ask', `can't be used: ${problems.join('; ')}.`);
  const copy: AskPolicy = structuredClone(policy);
  return { ...(question && { question }), ...(Object.keys(copy).length > 0 && { ask: copy }) };
}

/** Validates that a `verify` tool has a probe, and that no other tool has one, because it would never be asked. */
function checkedProbe(definition: ToolDefinition, refuse: Refuse): Pick<Tool, 'probe'> {
  const { effect, probe, execute } = definition;
  if (probe === undefined && effect !== 'verify') return {};
  if (effect !== 'verify') throw refuse('probe', "is only asked for effect 'verify'; set that effect, or leave probe out.");
  if (typeof probe !== 'function') {
    throw refuse('probe', "is not a function; effect 'verify' needs one that says whether a call was carried out.");
  }
  if (!execute) throw refuse('probe', 'needs execute: a tool that is answered from outside has no attempts.');
  return { probe: probe.bind(definition) as NonNullable<Tool['probe']> };
}

function checkedCompensate(definition: ToolDefinition, refuse: Refuse): Pick<Tool, 'compensate'> {
  const { effect, compensate, execute } = definition;
  if (compensate === undefined && effect !== 'saga') return {};
  if (effect !== 'saga') throw refuse('compensate', "is only called for effect 'saga'; set that effect, or leave compensate out.");
  if (typeof compensate !== 'function') throw refuse('compensate', "is not a function; effect 'saga' needs one that undoes a call.");
  if (!execute) throw refuse('compensate', 'needs execute: a tool that is answered from outside is undone outside.');
  return { compensate: compensate.bind(definition) as NonNullable<Tool['compensate']> };
}

function checkedOnUnknown({ effect = 'once', onUnknown, background, execute }: ToolDefinition, refuse: Refuse): Pick<Tool, 'onUnknown'> {
  if (onUnknown === undefined) return {};
  if (!onUnknownWays.includes(onUnknown)) {
    throw refuse('onUnknown', `is ${JSON.stringify(onUnknown)}; use ${onUnknownWays.map((one) => `'${one}'`).join(', ')}.`);
  }
  if (!execute || !canBeUnknown[effect]) throw refuse('onUnknown', `is for tools whose outcome can be unknown; leave it out.`);
  if (onUnknown === 'probe-again' && effect !== 'verify')
    throw refuse('onUnknown', "is 'probe-again', which needs effect 'verify' and a probe.");
  if (background && onUnknown !== 'probe-again' && onUnknown !== 'tell-model') {
    throw refuse(
      'onUnknown',
      `is '${onUnknown}', but the run goes on without a call in the background; use 'probe-again' or 'tell-model'.`,
    );
  }
  return { onUnknown };
}

function checkedRetry(retry: ToolRetry, effect: Effect, refuse: Refuse): ToolRetry {
  if (effect === 'once') throw refuse('retry', "needs another effect: a 'once' tool is never run twice.");
  const { maxAttempts, initialMs, maxMs } = retry;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > mostAttempts) {
    throw refuse('retry.maxAttempts', `is ${maxAttempts}; use a whole number of attempts from 1 to ${mostAttempts}, the first included.`);
  }
  for (const [field, value] of Object.entries({ initialMs, maxMs })) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 1 && value <= longestRetryMs)) {
      throw refuse(`retry.${field}`, `is ${value}; use milliseconds from 1 to ${longestRetryMs} (a day).`);
    }
  }
  if (initialMs !== undefined && maxMs !== undefined && maxMs < initialMs) {
    throw refuse('retry.maxMs', `(${maxMs}) is below retry.initialMs (${initialMs}).`);
  }
  return Object.freeze({ ...retry });
}
