import type { z } from 'zod';
import type { AtLimit, Limits, ModelSettings, StopPolicy } from '../core/agent';
import type { RetryPolicy } from '../core/failure';
import type { ToolStrategy } from '../core/tool';
import type { Hooks } from '../hooks/define-hooks';
import type { Tool } from '../tools/define-tool';
import type { Permissions } from '../tools/permissions';
import type { Toolbox } from '../tools/toolbox';
import type { Toolset } from '../tools/toolset';
import type { AnswerFormat } from './answer-format';

/** What instructions may depend on. They are made anew for every model call; what changes in them spoils the provider's prompt cache. */
export interface InstructionsContext {
  threadId: string;
  now: Date;
}

export type Instructions = string | ((ctx: InstructionsContext) => string | Promise<string>);

/**
 * A list; a `Toolset`, which may change; or a function that says what there is now, within 30 s. The last two are read again at every
 * model call.
 */
export type ToolSource = readonly Tool[] | Toolset | ((ctx: { threadId: string }) => readonly Tool[] | Promise<readonly Tool[]>);

/** `StopPolicy` in short: `verify` is one round and at most three a run. */
export type StopOption =
  | StopPolicy['kind']
  | { kind: 'immediate' }
  | { kind: 'verify'; rounds?: number; max?: number; prompt?: string }
  | { kind: 'done-tool'; nudge?: string };

/** The schema of an agent's answers, or that there is none. */
export type OutputSchema = z.ZodType | undefined;

export interface AgentDefinition<Output extends OutputSchema = OutputSchema> {
  /** 1 to 64 of a-z, A-Z, 0-9, `_`, `-` and `.`: threads are started by it. */
  name: string;
  /** `provider/model`, such as `openai/gpt-5`, or a bare model name. */
  model: string;
  /** The system prompt. */
  instructions: Instructions;
  /** None: a plain chat. */
  tools?: ToolSource;
  settings?: ModelSettings;
  /** Of a run. */
  limits?: Limits;
  /** Of a thread: all its runs together. */
  threadLimits?: Limits;
  /** Default `stop`: the run ends as incomplete. */
  atLimit?: AtLimit;
  /** When an answer without tool calls ends the run. Default `immediate`. With `done-tool` it has the tool `done` besides its own. */
  stop?: StopOption;
  /** `fail`: a tool that fails ends the run. Default `continue`: the model is told. */
  toolFailure?: 'continue' | 'fail';
  /** A zod object that the answer must fit, as JSON text. One that does not is sent back with what is wrong. */
  output?: Output;
  /** How often an answer is sent back. Default 2. */
  outputRetries?: number;
  /**
   * Takes an empty answer for an answer, which is asked for again so often, and then ends the run. Unset: a stream without anything in it is
   * a failure of the provider, tried again by `retry`.
   */
  emptyRetries?: number;
  /** How often the hook `check:completion` is heeded in a run. Default 1. */
  completionChecks?: number;
  /** Made by `defineHooks`. */
  hooks?: Hooks;
  /** A hook that fails so often in a row is left out from then on. Default 3. */
  hookErrors?: number;
  /** Made by `createPermissions`: which calls are refused, which need no approval, which need one. */
  permissions?: Permissions;
  /** For one attempt of tools that say nothing themselves. Milliseconds; default 30,000. */
  toolTimeoutMs?: number;
  /** Default `by-effect`: pure calls side by side, the others one after another. */
  strategy?: ToolStrategy;
  /** How model calls are retried; what is unset is the engine's default. */
  retry?: Partial<RetryPolicy>;
  /** The folder its tools work in; default is the worker's. */
  workspace?: string;
}

/** An agent as a worker keeps it: checked, frozen, with its toolbox. Made by `defineAgent` only. */
export interface Agent<Output extends OutputSchema = OutputSchema> {
  readonly name: string;
  readonly model: string;
  readonly instructions: Instructions;
  /** What is known without a thread: of a list everything, of a `Toolset` what it has now, of a function nothing. */
  readonly toolbox: Toolbox;
  /** The tools as they are now. Rejects with what a tool function threw, or with what is wrong with the tools it gave. */
  toolsFor(ctx: { threadId: string }): Promise<Toolbox>;
  readonly settings: Readonly<ModelSettings>;
  readonly limits: Readonly<Limits>;
  readonly threadLimits: Readonly<Limits>;
  readonly atLimit: AtLimit;
  readonly stop: StopPolicy;
  readonly toolFailure: 'continue' | 'fail';
  /** As it was defined: with `thread.result({ schema: agent.output })` the answer comes parsed. */
  readonly output: Output;
  readonly answer?: AnswerFormat;
  readonly outputRetries: number;
  readonly emptyRetries?: number;
  readonly completionChecks: number;
  readonly hooks?: Hooks;
  readonly hookErrors: number;
  readonly permissions?: Permissions;
  readonly strategy: ToolStrategy;
  readonly retry: Readonly<RetryPolicy>;
  readonly workspace?: string;
}
