import type { z } from 'zod';
import type { AskOptions } from '../../core/ask-policy';
import type { JsonObject } from '../../core/json';
import type { QuestionAnswer } from '../../core/questions';
import type { AskPolicy, Effect, OnUnknown, ToolRetry } from '../../core/tool';
import type { Approval, ApprovalContext, ApprovalRule } from './approval';
import type { JsonSchema, SchemaDefinitions } from './json-schema';
import type { CheckedInput } from './tool-input';

/** The second argument of `execute`. */
export interface ToolContext {
  /** Aborted on cancel and at the tool's timeout; `reason` says which. */
  signal: AbortSignal;
  /** Identifies the call: the same for every attempt, on every worker. */
  idempotencyKey: string;
  threadId: string;
  runId: string;
  toolCallId: string;
  /** 1 for the first attempt. */
  attempt: number;
  /** Reports progress; shown live, never recorded. */
  progress(message: string): void;
  /** Absolute path of the agent's folder. */
  workspace: string;
  /** Returns the worker's dependency of this name; created on first use, once per attempt. Rejects for an unknown name. */
  resolve<T>(name: string): Promise<T>;
  now(): Date;
  /** How many bytes of text are of use in a result: the rest would neither be shown nor stored. For tools whose output has no end. */
  maxOutputBytes: number;
  /** The answers that people gave to earlier questions of the call. Absent: the call can't ask. For tools of MCP servers. */
  answers?: readonly QuestionAnswer[];
  /** The mode is `full-access`, and the agent's commands run without a sandbox: the tools for files may leave the workspace, as commands can. */
  fullAccess?: true;
  /** For the tool `update_plan`: the thread's plan, as the tool returned it last. */
  plan?: string;
}

/** The dependencies of `ctx.resolve`: by name, a function that creates the dependency for one attempt at a call. */
export type Dependencies = Readonly<Record<string, (ctx: ToolContext) => unknown>>;

/** What a probe is asked about: a call of which an attempt may have been carried out. */
export interface ProbeRequest<Args = Record<string, unknown>> {
  /** The key that `execute` got. */
  idempotencyKey: string;
  args: Args;
}

/** `done`: the call was carried out, and `output` is what `execute` would have returned. `unknown`: the probe can't tell; `reason` says why. */
export type ProbeAnswer = { status: 'done'; output?: unknown } | { status: 'not-done' } | { status: 'unknown'; reason?: string };

/** A tool's input: a zod object, or a JSON Schema of draft-07 or 2020-12. */
export type InputSchema = z.ZodType | JsonSchema;

/** The type of the arguments that `execute` receives. */
export type Arguments<Input extends InputSchema> = Input extends z.ZodType ? z.output<Input> : Record<string, unknown>;

export interface ToolDefinition<Input extends InputSchema = z.ZodType> {
  /** 1 to 64 of a-z, A-Z, 0-9, `_` and `-`, which every provider accepts. */
  name: string;
  /** For the model: what the tool does and when to use it. */
  description: string;
  /** A zod object, whose optional fields stay optional for the model; or a JSON Schema whose root is an object. */
  input: Input;
  /** Definitions for a JSON Schema's references to `#/components/schemas/…` or to an `$anchor` there. May be a whole OpenAPI document. */
  definitions?: SchemaDefinitions | undefined;
  /** What the tool is about, such as `orders`. Agents with many tools find it by these words, and `groupTools` groups by them. At most 20. */
  tags?: readonly string[] | undefined;
  /** Whether a call may run again after a crash. Default `once`: it never runs twice. */
  effect?: Effect | undefined;
  /** Default `never`. */
  approval?: ApprovalRule<Arguments<Input>> | undefined;
  /** Timeout of one attempt, in milliseconds. Default: the agent's `toolTimeoutMs`, which defaults to 30,000. */
  timeoutMs?: number | undefined;
  /**
   * Retries after an error; not for `once`. Default: one attempt. For `saga`, of `compensate`: `execute` never runs twice. Default then: 15 attempts,
   * 1 s to 60 s apart.
   */
  retry?: ToolRetry | undefined;
  /** Runs the call in the background: the model continues, and receives the result later in a message. */
  background?: boolean | undefined;
  /**
   * What happens if nobody knows whether a call was carried out, for `once`, `verify` and `saga`. Default: the agent's `onUnknown`, which defaults to
   * `tell-model`. `probe-again` needs a probe. A tool with `background` takes only `tell-model` and `probe-again`.
   */
  onUnknown?: OnUnknown | undefined;
  /** For a tool without `execute`: who may answer, and until when. */
  ask?: AskOptions | undefined;
  /** For a tool without `execute`: the call is a question to a person. */
  question?: boolean | undefined;
  /**
   * Returns the result for the model: text, parts, anything that JSON can represent, or `suspend(…)`. If it throws, the model receives
   * `Error: <message>`; throw `ToolFailure` to choose the message. Without `execute`, the call waits for an output from outside.
   */
  execute?(args: Arguments<Input>, ctx: ToolContext): unknown;
  /**
   * For `verify`: says whether a call was carried out. Asked before another attempt, if an earlier one may have begun. It must find every attempt that
   * had an effect, so it answers `unknown` if it can't tell, for example because the service is not reachable. It has 10 s, and is asked three
   * times if it throws.
   */
  probe?(request: ProbeRequest<Arguments<Input>>, ctx: ToolContext): ProbeAnswer | Promise<ProbeAnswer>;
  /**
   * For `saga`: undoes a call if its run fails, expires or is cancelled. `output` is what `execute` returned, as JSON; undefined if it is longer than
   * 4,000 bytes, or if the call did not succeed. Then the call may have been carried out in part or not at all, and this must be safe. It may run
   * more than once, with the same `ctx.idempotencyKey`, which differs from that of the call.
   */
  compensate?(args: Arguments<Input>, output: unknown, ctx: ToolContext): unknown;
}

/** A validated tool with its defaults. Created only by `defineTool`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  readonly tags?: readonly string[];
  /** Validates arguments. Rejects if the tool author's own check throws. */
  check(value: unknown): Promise<CheckedInput>;
  readonly effect: Effect;
  /** Unset: no approval needed. */
  readonly approval?: Approval;
  /** Unset: the agent's timeout. */
  readonly timeoutMs?: number;
  readonly retry?: ToolRetry;
  readonly background?: true;
  readonly onUnknown?: OnUnknown;
  readonly ask?: AskPolicy;
  readonly question?: true;
  /** It may ask people questions in the middle of a call; who may answer, and by when. Set for tools of MCP servers. */
  readonly questions?: AskPolicy;
  readonly execute?: (args: unknown, ctx: ToolContext) => unknown;
  readonly compensate?: (args: unknown, output: unknown, ctx: ToolContext) => unknown;
  readonly probe?: (request: ProbeRequest<unknown>, ctx: ToolContext) => unknown;
  /** What a call is about, for the people who decide about it, if its arguments don't show that. Never rejects. */
  readonly subject?: (args: unknown, ctx: ApprovalContext) => Promise<string | undefined>;
  /** Of a tool that runs commands, if a sandbox is set. */
  readonly sandbox?: CommandSandbox;
}

/** The sandbox in which a tool runs commands. */
export interface CommandSandbox {
  /** `unused`: it can't be used on this machine, and commands run without it. `missing`: it can't be used, and no command runs. */
  readonly state: 'used' | 'unused' | 'missing';
  /** Why it can't be used. */
  readonly problem?: string;
  /** Whether commands can use the network. */
  readonly network: boolean;
  /** It is used, and commands reach nothing outside it: they have no network. */
  readonly confines: boolean;
}
