import type { z } from 'zod';
import type { AskOptions } from '../core/ask-policy';
import type { JsonObject } from '../core/json';
import type { AskPolicy, Effect, ToolRetry } from '../core/tool';
import type { Approval, ApprovalRule } from './approval';
import type { JsonSchema, SchemaDefinitions } from './json-schema';
import type { CheckedInput } from './tool-input';

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

/** What a tool takes: a zod object, or a JSON Schema of draft-07 or 2020-12. */
export type InputSchema = z.ZodType | JsonSchema;

/** What `execute` is given for it. */
export type Arguments<Input extends InputSchema> = Input extends z.ZodType ? z.output<Input> : Record<string, unknown>;

export interface ToolDefinition<Input extends InputSchema = z.ZodType> {
  /** 1 to 64 of a-z, A-Z, 0-9, `_` and `-`: what every provider accepts. */
  name: string;
  /** For the model: what it does and when to use it. */
  description: string;
  /** A zod object, whose optional fields stay optional for the model; or a JSON Schema whose root is an object. */
  input: Input;
  /** Where a JSON Schema's references to `#/components/schemas/…`, or to an `$anchor` there, lead. An OpenAPI document will do. */
  definitions?: SchemaDefinitions;
  /** What a crash in the middle allows. Default `once`: never run twice. */
  effect?: Effect;
  /** Default `never`. */
  approval?: ApprovalRule<Arguments<Input>>;
  /** For one attempt, in milliseconds. Default is the agent's `toolTimeoutMs`, 30,000 where it sets none. */
  timeoutMs?: number;
  /** Further attempts after a throw; only for `pure` and `keyed`. Default: one attempt. */
  retry?: ToolRetry;
  /** The run does not wait for it: the model is told that it goes on, and of its result by a message, later. */
  background?: boolean;
  /** Of a tool without `execute`: who may answer, and until when. */
  ask?: AskOptions;
  /** Of a tool without `execute`: it is a person who is asked something. */
  question?: boolean;
  /**
   * Returns what the model is to see: text, parts, or anything JSON can write; or `suspend(…)`. A throw is told to the model as
   * `Error: <message>`; throw `ToolFailure` to choose the words. Without `execute` the call waits for an output from outside.
   */
  execute?(args: Arguments<Input>, ctx: ToolContext): unknown;
}

/** A tool as the engine keeps it: checked, with its defaults filled in. Made by `defineTool` only. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of what the model must send. */
  readonly parameters: JsonObject;
  /** Rejects where a check of the author's throws. */
  check(value: unknown): Promise<CheckedInput>;
  readonly effect: Effect;
  /** Unset: no person need agree. */
  readonly approval?: Approval;
  /** The agent's, where unset. */
  readonly timeoutMs?: number;
  readonly retry?: ToolRetry;
  readonly background?: true;
  readonly ask?: AskPolicy;
  readonly question?: true;
  readonly execute?: (args: unknown, ctx: ToolContext) => unknown;
}
