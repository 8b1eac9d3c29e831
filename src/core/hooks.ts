import type { ModelSettings } from './agent';
import type { RunStatus } from './event';
import type { Content, FinishReason, Message, ToolCall, Usage } from './message';
import type { AskPolicy, ToolOutcome } from './tool';

/** Where user code may look on and step in. It runs on the worker, as an activity, and only where an agent registers something. */
export const hookNames = [
  'before:execution',
  'after:execution',
  'pause:check',
  'before:llm',
  'after:llm',
  'before:tool',
  'after:tool',
  'approve:tool',
  'check:completion',
  'on:compaction',
  'on:event',
] as const;

export type HookName = (typeof hookNames)[number];

/** What a hook is told, as plain JSON. Thread, run, turn and step come with its context. */
export interface HookInput {
  /** A run begins with these messages; once a run. */
  'before:execution': { messages: Message[] };
  /** A run is about to end so; once a run, also where it failed or was cancelled. */
  'after:execution': { status: RunStatus; output: string; usage: Usage };
  /** Before each model call, ahead of everything else. */
  'pause:check': object;
  'before:llm': { model: string; settings: ModelSettings };
  'after:llm': { text: string; toolCalls: ToolCall[]; finishReason: FinishReason; usage: Usage };
  'before:tool': { call: ToolCall };
  'after:tool': { call: ToolCall; status: ToolOutcome['status']; content: Content };
  /** For every call that may run; `ask` is the tool's own opinion, where it wants a person to agree. */
  'approve:tool': { call: ToolCall; ask?: AskPolicy };
  /** The model came to an answer: is the work done? */
  'check:completion': { output: string };
  'on:compaction': { reason: string; prunedOutputs: number; droppedMessages: number; bytes: number };
  /** Events recorded since the last time, by their numbers; at least once each. `ctx.events()` reads them. */
  'on:event': { from: number; to: number };
}

/**
 * What a hook may answer; nothing is fine too. Answers of several hooks are merged, the later wins.
 * `block` ends the run (failed, code `blocked_by_hook`), for guardrails.
 */
export interface HookAnswer {
  /** `messages`: user messages that join the ones the run begins with. */
  'before:execution': { messages?: Content[]; block?: string };
  'after:execution': object;
  'pause:check': { pause?: boolean; reason?: string };
  /** `instructions` are added to the agent's own, for this call. `skip` ends the run (failed, `LLM call skipped by hook`). */
  'before:llm': { model?: string; settings?: ModelSettings; instructions?: string; skip?: boolean; block?: string };
  /** `text` replaces what the model said. */
  'after:llm': { text?: string; block?: string };
  /** `args` replace the model's. `skip`: the call does not run, and its result is `mockResult`, be it false, 0 or nothing. */
  'before:tool': { args?: Record<string, unknown>; skip?: boolean; mockResult?: unknown; block?: string };
  /** `content` replaces what the model sees of the result. `retry`: run the call once more, at most twice; never a `once` tool's. */
  'after:tool': { content?: unknown; retry?: boolean; block?: string };
  /**
   * `approved: true` lets it run, `false` refuses it with `reason`; `ask` has people decide. Neither: the tool's own opinion stands.
   * It fails closed: a hook that throws or hangs refuses the call.
   */
  'approve:tool': { approved?: boolean; reason?: string; ask?: AskPolicy; args?: Record<string, unknown>; stop?: boolean };
  /** `prompt`: it is not done; said to the model as a user's message. Heeded once a run, or as often as the agent's `completionChecks`. */
  'check:completion': { prompt?: string };
  'on:compaction': object;
  'on:event': object;
}

/** What came of one hook. */
export interface HookReport {
  /** `name#position` or the name it was given. */
  id: string;
  durationMs: number;
  /** What it threw, that it did not answer in time, or that its answer was nonsense. */
  error?: string;
  /** Keys of its answer. */
  answered?: string[];
  /** What its own failure mode says about an error. `fail`: the run ends. `ignore`: nobody is told. */
  mode?: 'fail' | 'warn' | 'ignore';
}
