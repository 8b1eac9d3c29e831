import type { HookName } from './hooks';
import type { JsonObject } from './json';
import type { ToolStrategy } from './tool';

/** Whether a value can be the name of an agent. */
export function isAgentName(name: unknown): name is string {
  return typeof name === 'string' && /^[a-zA-Z0-9_.-]{1,64}$/.test(name);
}

/** `provider/model`, or a bare model name. In a list, each next model is a fallback for failures that may be specific to the one before it. */
export type ModelChoice = string | readonly string[];

/** Settings of model calls. Unset fields have the provider's defaults. */
export interface ModelSettings {
  /** 0 to 2. */
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  /** `{ tool }` forces the tool of that name. */
  toolChoice?: 'auto' | 'none' | 'required' | { tool: string } | undefined;
  /** How much the model reasons before it answers, in the provider's own measure. `none`: no reasoning, if the model supports that. */
  reasoningEffort?: 'none' | 'low' | 'medium' | 'high' | undefined;
  /** What a model gets of earlier reasoning by models of other providers or families: nothing (`drop`, the default) or its text (`text`). */
  otherReasoning?: 'drop' | 'text' | undefined;
  /** Added to the provider's request unchanged. */
  providerOptions?: JsonObject | undefined;
}

/** A tool that the provider runs itself. Each provider documents the names it supports, such as `web-search`. */
export interface HostedTool {
  name: string;
  /** Passed to the provider's tool unchanged. */
  options?: JsonObject | undefined;
}

/**
 * Limits of a run or of a whole thread. `0` allows nothing; unset means no limit, except for `turns` of a run (default 100).
 * `toolRounds` and `toolCalls` are checked before tool calls, `turns` and `contextTokens` before each model call, the others before both.
 */
export interface Limits {
  /** Model calls. Default 100 per run. */
  turns?: number | undefined;
  /** Answers of which at least one tool call is run. */
  toolRounds?: number | undefined;
  toolCalls?: number | undefined;
  /** Input and output tokens together, as the provider reports them. */
  tokens?: number | undefined;
  costUsd?: number | undefined;
  /** Milliseconds of work. Time in which the run waits for people or a reply, or is paused, does not count. */
  wallClockMs?: number | undefined;
  /** Tokens of the last model call, about what the next one sends. */
  contextTokens?: number | undefined;
}

export type LimitName = keyof Limits;

const everyLimit: Record<LimitName, true> = {
  turns: true,
  toolRounds: true,
  toolCalls: true,
  tokens: true,
  costUsd: true,
  wallClockMs: true,
  contextTokens: true,
};
/** In the order in which they are checked. */
export const limitNames = Object.keys(everyLimit) as LimitName[];

/**
 * What happens at a limit.
 * - `stop`: the run ends as incomplete.
 * - `summarize`: one more model call without tools writes the output; the run ends as incomplete.
 * - `hand-out`: at a limit of tool calls or rounds, a client executes the pending calls and submits their outputs. At other limits as `stop`.
 * - `ask`: the run waits until a person raises the limit or refuses.
 * - `fail`: the run fails, code `limit_exceeded`.
 */
export type AtLimit = 'stop' | 'summarize' | 'hand-out' | 'ask' | 'fail';

/**
 * When an answer without tool calls ends the run.
 * - `immediate`: the answer ends the run.
 * - `verify`: the model must first check its work, up to `rounds` times in a row. A tool call in between resets the count. At most `max` checks
 *   per run.
 * - `done-tool`: never. The model must call the tool `done`; an answer without calls is sent back with `nudge`.
 */
export type StopPolicy =
  | { kind: 'immediate' }
  | { kind: 'verify'; rounds: number; max: number; prompt?: string | undefined }
  | { kind: 'done-tool'; nudge?: string | undefined };

export const defaultTurns = 100;

/** When and how a thread's transcript is shortened for the model. Sizes are in tokens. Created from `ContextOptions` by `defineAgent`. */
export interface ContextPolicy {
  /** The share of the window, without what is reserved for the answer, above which the transcript is shortened. */
  compactAt: number;
  /** Whether it is shortened then. If not: only on request, or if the provider rejects it as too long. */
  auto: boolean;
  /** The maximum number of last turns that a summary does not replace. */
  keepTurns: number;
  /** The maximum length of a summary. */
  summaryTokens: number;
  /** The newest outputs of tools, up to this size together, are not cleared. Default 40,000, less for windows below 190,000. */
  pruneProtectTokens?: number | undefined;
  /** Outputs are cleared only if that frees more than this. Default 20,000, less for windows below 190,000. */
  pruneMinimumTokens?: number | undefined;
  /** The model that writes summaries. Default: the model of the run. */
  model?: string | undefined;
  /** With more messages than this, the oldest are dropped until `keepMessages` are left. */
  maxMessages?: number | undefined;
  /** Default: half of `maxMessages`. */
  keepMessages?: number | undefined;
  /** `false`: the user's first message may be summarized or dropped like others. */
  keepTask?: false | undefined;
  /** `false`: of the turns that a summary does not replace, only texts stay. */
  keepTools?: false | undefined;
  /** `drop`: the oldest messages are dropped at once if a summary fails. */
  ifSummaryFails?: 'drop' | undefined;
  /** `provider`: models whose provider compacts conversations itself leave it to the provider. Unset: the engine compacts. */
  compaction?: 'provider' | undefined;
}

/** What a run needs to know about its agent. An activity looks it up once per run and it is recorded. Instructions and schemas are not included. */
export interface AgentFacts {
  name: string;
  /** `provider/model`, or a bare model name. */
  model: string;
  /** Used in order after failures that may be specific to one model. */
  fallbackModels?: string[];
  /** Whether the fallback models are also used when the provider's content filter refuses the conversation or stops the answer. */
  fallbackOnContentFilter?: boolean;
  /** Limits of a run. */
  limits: Limits;
  /** Limits of the thread, for all its runs together. */
  threadLimits?: Limits;
  /** Default `stop`. */
  atLimit?: AtLimit;
  strategy: ToolStrategy;
  /** Default `immediate`. */
  stop?: StopPolicy;
  /** `fail`: a tool that fails ends the run. Default `continue`. */
  toolFailure?: 'continue' | 'fail';
  /** How often an answer that does not fit the output schema is sent back. */
  outputRetries?: number;
  /** How often in a row an empty answer is sent back. */
  emptyRetries?: number;
  /** How often per run `check:completion` may send an answer back. Default 1. */
  completionChecks?: number;
  /** The ids of the hooks that are registered. */
  hooks?: Partial<Record<HookName, string[]>>;
  /** After this many errors in a row a hook is disabled. Default 3. */
  hookErrors?: number;
  /** The model's context window in tokens, if known. */
  contextWindow?: number;
  /** `null`: the transcript is never shortened for the model. Unset in runs that began with earlier code: it is halved if it is too long. */
  context?: ContextPolicy | null;
  /** How many tools that the model found are sent to it. Default 30. */
  loadedTools?: number;
  /** Milliseconds until another worker takes over a step of a worker that died. Default 5,000. */
  takeoverMs?: number;
  /** The heartbeat timeout of `once`, `saga` and `verify` calls, in milliseconds. Default 60,000. Only `crashEverywhere` sets it. */
  lostAfterMs?: number;
  /**
   * How names of people are compared. `as-seen`: by `sameName`. Runs that began with earlier code have `true` (by `earlierNames`) or nothing
   * (character by character).
   */
  sameNames?: 'as-seen' | true;
  /** How its commands run, where a sandbox is set: `unused` is without one, because the worker's machine can't have it. */
  sandbox?: { state: 'used' | 'unused' | 'missing'; network: boolean };
  /** Decisions, outputs and answers must have a signature that the worker's verifier accepts. */
  signedDecisions?: true;
  /** Whether the agent has a store for remembered rules. Unset in runs that began with earlier code. */
  remembers?: boolean;
  /**
   * Decisions are checked against what will run: edited arguments by policy and hooks of the edited call, and each call against the digest of
   * what was shown. Unset in runs that began with earlier code.
   */
  judgesDecisions?: true;
  /** Arguments that a person edited are recorded as the tool takes them, too. Unset in runs that began with earlier code. */
  checksEdits?: true;
  /**
   * Background calls run in workflows of their own, so that the thread may continue as new meanwhile. Unset in runs that began with earlier
   * code: they run in activities, which the thread waits for.
   */
  ownBackground?: true;
  /** Messages that are dropped without a summary are stored for the model. Unset without a store, and in runs that began with earlier code. */
  archivesDropped?: true;
  /**
   * Requests that would exceed the model's window are cut to fit before they are sent, even if a summary fails or settings forbid clearing.
   * Unset in runs that began with earlier code: they send them, and shorten the transcript once the provider rejects it.
   */
  cutsToWindow?: true;
  /**
   * A single message that takes most of the window is cut if nothing else makes room, and what the run began with is not dropped. Unset in runs that
   * began with earlier code.
   */
  cutsMessages?: true;
  /**
   * What continue-as-new would remove is stored for the model first. Unset without a store, and in runs that began with earlier code: continue-as-new
   * removes it, and only people can read it.
   */
  archivesCarried?: true;
  /** Whether the search attributes are registered with the server. Without them, an upsert would fail every workflow task of the thread. */
  searchAttributes: boolean;
  /** The history, by the thread's own count, after which the thread continues as new. Default 2,500 events or 4,000,000 bytes. */
  carryAfter?: { events: number; bytes: number };
}
