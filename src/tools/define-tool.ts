import type { z } from 'zod';
import type { JsonObject } from '../core/json';
import type { Effect, ToolRetry } from '../core/tool';
import { toolParameters } from './tool-parameters';

/** What a tool is given beside its arguments. */
export interface ToolContext {
  /** Aborted on cancel and at the tool's timeout; `reason` says which. */
  signal: AbortSignal;
  /** The same for every attempt at this call, on every worker. */
  idempotencyKey: string;
  threadId: string;
  runId: string;
  toolCallId: string;
  /** 1 for the first. */
  attempt: number;
  /** Says how far it is; shown live, never recorded. */
  progress(message: string): void;
  /** The folder the agent works in, absolute. */
  workspace: string;
  /** Whatever the worker was created with under this name; made once a call, on first use. Throws for an unknown name. */
  resolve<T>(name: string): Promise<T>;
  now(): Date;
}

/** What `ctx.resolve` knows: a name and how to make the thing for one call. */
export type Dependencies = Readonly<Record<string, (ctx: ToolContext) => unknown>>;

/**
 * Whether a person must agree first. A function is asked with validated arguments; `true` means ask, a string means ask and says why.
 * It fails closed: a throw, no answer within 10 s, or anything but a boolean or a string means ask.
 */
export type ApprovalRule<Args> = 'never' | 'always' | ((args: Args) => boolean | string | Promise<boolean | string>);

export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> {
  /** 1 to 64 of a-z, A-Z, 0-9, `_` and `-`: what every provider accepts. */
  name: string;
  /** For the model: what it does and when to use it. */
  description: string;
  /** A zod object; optional fields stay optional for the model. */
  input: Schema;
  /** What a crash in the middle allows. Default `once`: never run twice. */
  effect?: Effect;
  /** Default `never`. */
  approval?: ApprovalRule<z.output<Schema>>;
  /** For one attempt, in milliseconds. Default is the agent's `toolTimeoutMs`, 30,000 where it sets none. */
  timeoutMs?: number;
  /** Further attempts after a throw; only for `pure` and `keyed`. Default: one attempt. */
  retry?: ToolRetry;
  /**
   * Returns what the model is to see: text, parts, or anything JSON can write. A throw is told to the model as `Error: <message>`;
   * throw `ToolFailure` to choose the words. Without `execute` the call waits for an output from outside.
   */
  execute?(args: z.output<Schema>, ctx: ToolContext): unknown;
}

/** A tool as the engine keeps it: checked, with its defaults filled in. Made by `defineTool` only. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  /** JSON Schema (2020-12) of what the model must send. */
  readonly parameters: JsonObject;
  readonly effect: Effect;
  readonly approval: ApprovalRule<unknown>;
  /** The agent's, where unset. */
  readonly timeoutMs?: number;
  readonly retry?: ToolRetry;
  readonly execute?: (args: unknown, ctx: ToolContext) => unknown;
}

export const defaultToolTimeoutMs = 30_000;
const effects: readonly Effect[] = ['pure', 'keyed', 'once'];
/** Beyond this a Node timer fires at once. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Checks a tool's definition and fills in its defaults. Throws `TypeError` that names the tool, the field and the remedy. */
export function defineTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, input, effect = 'once', approval = 'never', timeoutMs, retry, execute } = definition;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`defineTool: the name ${JSON.stringify(name)} is not usable; use 1 to 64 letters, digits, '_' or '-'.`);
  }
  const refuse = (field: string, problem: string) => new TypeError(`defineTool '${name}': ${field} ${problem}`);
  if (typeof description !== 'string' || description.trim() === '') {
    throw refuse('description', 'is empty; the model chooses tools by it.');
  }
  if (!effects.includes(effect)) throw refuse('effect', `is ${JSON.stringify(effect)}; use 'pure', 'keyed' or 'once'.`);
  if (approval !== 'never' && approval !== 'always' && typeof approval !== 'function') {
    throw refuse('approval', `is ${JSON.stringify(approval)}; use 'never', 'always' or a function of the arguments.`);
  }
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0 && timeoutMs <= longestTimeoutMs)) {
    throw refuse('timeoutMs', `is ${timeoutMs}; use milliseconds above 0 and at most ${longestTimeoutMs} (24 days).`);
  }
  if (execute !== undefined && typeof execute !== 'function') {
    throw refuse('execute', 'is not a function; leave it out for a tool that is answered from outside.');
  }
  const parameters = toolParameters(input, (problem) => refuse('input', problem));
  return Object.freeze({
    name,
    description,
    input,
    parameters,
    effect,
    approval: approval as ApprovalRule<unknown>,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retry === undefined ? {} : { retry: checkedRetry(retry, effect, refuse) }),
    ...(execute === undefined ? {} : { execute: execute.bind(definition) as Tool['execute'] }),
  });
}

function checkedRetry(retry: ToolRetry, effect: Effect, refuse: (field: string, problem: string) => Error): ToolRetry {
  if (effect === 'once') throw refuse('retry', "needs effect 'pure' or 'keyed': a 'once' tool is never run twice.");
  const { maxAttempts, initialMs, maxMs } = retry;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1) {
    throw refuse('retry.maxAttempts', `is ${maxAttempts}; use a whole number of attempts, the first included.`);
  }
  for (const [field, value] of Object.entries({ initialMs, maxMs })) {
    if (value !== undefined && !(Number.isFinite(value) && value > 0)) {
      throw refuse(`retry.${field}`, `is ${value}; use milliseconds above 0.`);
    }
  }
  if (initialMs !== undefined && maxMs !== undefined && maxMs < initialMs) {
    throw refuse('retry.maxMs', `(${maxMs}) is below retry.initialMs (${initialMs}).`);
  }
  return Object.freeze({ ...retry });
}
