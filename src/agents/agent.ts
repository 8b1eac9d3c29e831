import type { z } from 'zod';
import type { AtLimit, HostedTool, Limits, ModelChoice, ModelSettings, StopPolicy } from '../core/agent';
import type { RetryPolicy } from '../core/failure';
import type { ToolCall } from '../core/message';
import type { OnUnknown, ToolStrategy } from '../core/tool';
import type { Hooks } from '../hooks/define-hooks';
import type { Tool } from '../tools/defining/define-tool';
import type { ToolProvider, ToolsWanted } from '../tools/defining/tool-provider';
import type { Toolset } from '../tools/defining/toolset';
import type { Permissions } from '../tools/permissions/permissions';
import type { Toolbox } from '../tools/running/toolbox';
import type { AnswerFormat } from './answer-format';
import type { ContextOptions, ContextRules } from './context-options';
import type { ToolSearchOptions } from './tool-search';

/** The argument of an instructions function. It is called before every model call; changing instructions invalidate the provider's prompt cache. */
export interface InstructionsContext {
  threadId: string;
  now: Date;
  /** Absolute path of the agent's folder. */
  workspace: string;
  /** The tool calls of the transcript, oldest first. A summary replaces older ones. */
  toolCalls: readonly ToolCall[];
}

export type Instructions = string | ((ctx: InstructionsContext) => string | Promise<string>);

/**
 * A list, a `Toolset`, or a function that returns the current tools within 30 s. A list may contain toolsets, and providers, such as those of
 * `mcpTools`. If several of them have a tool of the same name, the first in the list supplies it; tools that are in the list one by one come first.
 * Toolsets, functions and providers are asked again at every model call.
 */
export type ToolSource =
  | readonly (Tool | Toolset | ToolProvider)[]
  | Toolset
  | ((ctx: { threadId: string }) => readonly Tool[] | Promise<readonly Tool[]>);

/** Short form of `StopPolicy`: `verify` means one round, and at most three per run. */
export type StopOption =
  | StopPolicy['kind']
  | { kind: 'immediate' }
  | { kind: 'verify'; rounds?: number | undefined; max?: number | undefined; prompt?: string | undefined }
  | { kind: 'done-tool'; nudge?: string | undefined };

/** The schema of an agent's answers, if any. */
export type OutputSchema = z.ZodType | undefined;

export interface AgentDefinition<Output extends OutputSchema = OutputSchema> {
  /** 1 to 64 of a-z, A-Z, 0-9, `_`, `-` and `.`. Threads are started by this name. */
  name: string;
  /**
   * `provider/model`, such as `openai/gpt-5`, or a bare model name. With a list, the run falls back to the next model if one fails in a way that
   * may not affect another.
   */
  model: ModelChoice;
  /** Whether to fall back also if a content filter rejects the conversation or stops the answer. Default `false`. */
  fallbackOnContentFilter?: boolean | undefined;
  /** The system prompt. */
  instructions: Instructions;
  /** Default: no tools. */
  tools?: ToolSource | undefined;
  /**
   * With many tools, the model is sent only some, and a tool `find_tools` with which it finds the others. Default: above 100 tools, or 120,000
   * characters of them. `false`: never. `true`: always.
   */
  toolSearch?: boolean | ToolSearchOptions | undefined;
  /**
   * Whether the model also gets tools that read and search long outputs of its tools, if the worker has an artifact store: `read_output`,
   * `read_output_line` and `grep_output`. A tool of the agent's own with such a name takes precedence. Default `true`.
   */
  readOutputs?: boolean | undefined;
  /** Tools that the model's provider runs itself, such as `{ name: 'web-search' }`. */
  hostedTools?: readonly HostedTool[] | undefined;
  settings?: ModelSettings | undefined;
  /** Limits of a run. */
  limits?: Limits | undefined;
  /** Limits of a thread: all its runs together. */
  threadLimits?: Limits | undefined;
  /** Default `stop`: the run ends as incomplete. */
  atLimit?: AtLimit | undefined;
  /** When an answer without tool calls ends the run. Default `immediate`. With `done-tool`, the agent also has the tool `done`. */
  stop?: StopOption | undefined;
  /** `fail`: a failed tool call ends the run. Default `continue`: the model is told. */
  toolFailure?: 'continue' | 'fail' | undefined;
  /** A zod object that the answer must match, as JSON text. An invalid answer is sent back to the model with its problems. */
  output?: Output | undefined;
  /** How often an invalid answer is sent back. Default 2. */
  outputRetries?: number | undefined;
  /**
   * Accepts empty answers as answers: the model is called again up to this many times, then the run ends. Unset: an empty stream is a failure of
   * the provider, retried according to `retry`.
   */
  emptyRetries?: number | undefined;
  /** How often the hook `check:completion` can continue a run. Default 1. */
  completionChecks?: number | undefined;
  /** Created by `defineHooks`. */
  hooks?: Hooks | undefined;
  /** After this many consecutive errors a hook is disabled. Default 3. */
  hookErrors?: number | undefined;
  /** Created by `createPermissions`: which calls are refused, which need no approval, which need one. */
  permissions?: Permissions | undefined;
  /** Timeout of one attempt for tools without their own. Milliseconds; default 30,000. */
  toolTimeoutMs?: number | undefined;
  /** What happens if nobody knows whether a call was carried out, for tools that set nothing else. Default `tell-model`. */
  onUnknown?: Exclude<OnUnknown, 'probe-again'> | undefined;
  /** Default `by-effect`: `pure` calls run concurrently, the others one after another. */
  strategy?: ToolStrategy | undefined;
  /** How model calls are retried; unset fields use the engine's defaults. */
  retry?: { [Setting in keyof RetryPolicy]?: RetryPolicy[Setting] | undefined } | undefined;
  /** When and how the transcript is shortened for the model's context window. `null`: never; a request that is too long then fails the run. */
  context?: ContextOptions | null | undefined;
  /** The folder in which its tools work; with `{threadId}` as the name of a folder in the path, one for each thread. Default: the worker's folder. */
  workspace?: string | undefined;
}

/** A validated, frozen agent with its toolbox. Created only by `defineAgent`. */
export interface Agent<Output extends OutputSchema = OutputSchema> {
  readonly name: string;
  readonly model: string;
  readonly fallbackModels: readonly string[];
  readonly fallbackOnContentFilter: boolean;
  readonly hostedTools: readonly HostedTool[];
  readonly instructions: Instructions;
  /** The tools known without a thread: all of a list, the current ones of toolsets, none of a function or a provider. */
  readonly toolbox: Toolbox;
  /**
   * The current tools. Rejects with the error of a tools function, or with the problems of the tools that it returned. `outputTools`: those that
   * read long outputs, which are added unless the agent has no tools, or `readOutputs: false`.
   */
  toolsFor(ctx: ToolsWanted & { outputTools?: readonly Tool[] }): Promise<Toolbox>;
  /** Entries of its tools that have connections. */
  readonly providers: readonly ToolProvider[];
  /** How many tools that the model found are sent to it. Unset: the default. */
  readonly loadedTools?: number;
  readonly settings: Readonly<ModelSettings>;
  readonly limits: Readonly<Limits>;
  readonly threadLimits: Readonly<Limits>;
  readonly atLimit: AtLimit;
  readonly stop: StopPolicy;
  readonly toolFailure: 'continue' | 'fail';
  /** The schema as defined: `thread.result({ schema: agent.output })` returns the parsed answer. */
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
  readonly context: Readonly<ContextRules> | null;
  readonly workspace?: string;
}
