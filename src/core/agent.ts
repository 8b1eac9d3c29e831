import type { HookName } from './hooks';
import type { JsonObject } from './json';
import type { ToolStrategy } from './tool';

/** What is sent to the model beside the conversation. Everything unset is the provider's default. */
export interface ModelSettings {
  /** 0 to 2. */
  temperature?: number;
  maxTokens?: number;
  /** A tool's name forces that tool. */
  toolChoice?: 'auto' | 'none' | 'required' | { tool: string };
  /** Passed to the provider's request as it is. */
  providerOptions?: JsonObject;
}

/**
 * Where a run, or a whole thread, must stop. `0` means none at all; unset means no limit, but for `turns` of a run.
 * Checked before each model call, and `toolRounds` and `toolCalls` before each tool call.
 */
export interface Limits {
  /** Model calls. Default 100 a run. */
  turns?: number;
  /** Answers whose tool calls are run. */
  toolRounds?: number;
  toolCalls?: number;
  /** Input and output tokens together, as the provider counts them. */
  tokens?: number;
  costUsd?: number;
  /** Milliseconds at work: the time in which it rests for a person, or is paused, does not count. */
  wallClockMs?: number;
  /** Tokens of the last call, about what the next one sends. */
  contextTokens?: number;
}

export const limitNames = ['turns', 'toolRounds', 'toolCalls', 'tokens', 'costUsd', 'wallClockMs', 'contextTokens'] as const;
export type LimitName = keyof Limits;

/**
 * What happens at a limit.
 * - `stop`: the run ends as incomplete.
 * - `summarize`: one more model call without tools, whose words are the output; the run is incomplete.
 * - `hand-out`: at a limit of tool calls or rounds, the pending calls are handed out to whoever submits their outputs. At others as `stop`.
 * - `ask`: the run rests until a person grants more, or refuses.
 * - `fail`: the run fails, code `limit_exceeded`.
 */
export type AtLimit = 'stop' | 'summarize' | 'hand-out' | 'ask' | 'fail';

/**
 * When an answer without tool calls ends the run.
 * - `immediate`: at once.
 * - `verify`: it is first asked to check its work, up to `rounds` times in a row; calling a tool in between begins the count anew. `rounds` in
 *   all at most `max` a run.
 * - `done-tool`: never; the model must call the tool `done`, and is told so.
 */
export type StopPolicy =
  | { kind: 'immediate' }
  | { kind: 'verify'; rounds: number; max: number; prompt?: string }
  | { kind: 'done-tool'; nudge?: string };

export const defaultTurns = 100;

/** What a run needs to know of its agent, found out once by an activity and recorded. The instructions and schemas stay with the worker. */
export interface AgentFacts {
  name: string;
  /** `provider/model`, or a bare model name. */
  model: string;
  /** Of a run. */
  limits: Limits;
  /** Of the thread, all its runs together. */
  threadLimits?: Limits;
  /** Default `stop`. */
  atLimit?: AtLimit;
  strategy: ToolStrategy;
  /** Default `immediate`. */
  stop?: StopPolicy;
  /** `fail`: a tool that fails ends the run. Default `continue`. */
  toolFailure?: 'continue' | 'fail';
  /** The answer must fit a schema; so often it may be sent back. */
  outputRetries?: number;
  /** How often an empty answer is asked for again. */
  emptyRetries?: number;
  /** How often `check:completion` is heeded. Default 1. */
  completionChecks?: number;
  /** The ids of the hooks that are registered. */
  hooks?: Partial<Record<HookName, string[]>>;
  /** After so many errors in a row a hook is left out. Default 3. */
  hookErrors?: number;
  /** Tokens that the model takes, where it is known. */
  contextWindow?: number;
  /** How soon another worker takes over a step of one that died. Default 5,000 ms. */
  takeoverMs?: number;
  /**
   * Names of people are compared as `sameName` does. Runs that began with earlier code compare as it did: `true` as `earlierNames`, unset
   * letter by letter.
   */
  sameNames?: 'as-seen' | true;
  /** Decisions, outputs and answers count only where they are signed, as the worker's verifier has it. */
  signedDecisions?: true;
  /** Whether the agent has a store for what people have remembered for it. Unset in runs that began with earlier code. */
  remembers?: boolean;
  /** Whether the search attributes are registered with the server: an upsert of an unknown one would wedge the thread. */
  searchAttributes: boolean;
  /** The history, as the thread itself counts it, after which the thread continues as new. Default 2,000 events or 4,000,000 bytes. */
  carryAfter?: { events: number; bytes: number };
}
