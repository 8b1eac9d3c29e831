import type { ModelSettings } from './agent';
import type { RunStatus } from './event';
import type { Content, FinishReason, Message, ToolCall, Usage, UserMessage } from './message';
import type { AskPolicy, ToolOutcome } from './tool';

/** The points at which user code can observe and change a run. Hooks run on the worker, as an activity, and only if the agent registers any. */
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

/** The input of each hook, as plain JSON. Thread, run, turn and step are in the hook's context. */
export interface HookInput {
  /** A run begins with these messages. Once per run. */
  'before:execution': { messages: Message[] };
  /** A run is about to end with this status. Once per run, also if it failed or was cancelled. */
  'after:execution': { status: RunStatus; output: string; usage: Usage };
  /** Before each model call, before any other hook of the call. */
  'pause:check': object;
  'before:llm': { model: string; settings: ModelSettings };
  'after:llm': { text: string; toolCalls: ToolCall[]; finishReason: FinishReason; usage: Usage };
  'before:tool': { call: ToolCall };
  'after:tool': { call: ToolCall; status: ToolOutcome['status']; content: Content };
  /** For every call that may run. `ask` is the tool's policy, if the tool requires an approval. */
  'approve:tool': { call: ToolCall; ask?: AskPolicy };
  /** The model's answer would end the run. */
  'check:completion': { output: string };
  'on:compaction': {
    reason: string;
    prunedOutputs: number;
    droppedMessages: number;
    bytes: number;
    summary?: UserMessage;
    /** The model whose provider compacted the conversation. Absent: the engine did. */
    compactedBy?: string;
  };
  /** The `seq` range of events recorded since the last delivery. Each is delivered at least once. `ctx.events()` reads them. */
  'on:event': { from: number; to: number };
}

/**
 * The answers that hooks may return; all fields are optional, and a hook may return nothing. Answers of several hooks are merged, and later
 * ones win. `block` fails the run with code `blocked_by_hook`, for guardrails.
 */
export interface HookAnswer {
  /** `messages`: user messages that are added to those the run begins with. */
  'before:execution': { messages?: Content[]; block?: string };
  'after:execution': object;
  'pause:check': { pause?: boolean; reason?: string };
  /** `instructions` are added to the agent's own for this call. `skip` fails the run with code `llm_call_skipped`. */
  'before:llm': { model?: string; settings?: ModelSettings; instructions?: string; skip?: boolean; block?: string };
  /** `text` replaces the model's text. */
  'after:llm': { text?: string; block?: string };
  /** `args` replace the model's arguments. `skip`: the call does not run, and its result is `mockResult`, even if that is false, 0 or absent. */
  'before:tool': { args?: Record<string, unknown>; skip?: boolean; mockResult?: unknown; block?: string };
  /** `content` replaces the result that the model sees. `retry`: runs the call again, at most twice, and never for a `once` tool. */
  'after:tool': { content?: unknown; retry?: boolean; block?: string };
  /**
   * `approved: true` lets the call run, `false` refuses it with `reason`, and `ask` lets people decide. With neither, the tool's policy applies.
   * A hook that throws or times out refuses the call.
   */
  'approve:tool': { approved?: boolean; reason?: string; ask?: AskPolicy; args?: Record<string, unknown>; stop?: boolean };
  /** `prompt`: the work is not done; the model gets the prompt as a user message. At most `completionChecks` times per run, by default once. */
  'check:completion': { prompt?: string };
  'on:compaction': object;
  'on:event': object;
}

/** The result of one hook. */
export interface HookReport {
  /** `name#position`, or the name that the hook was declared with. */
  id: string;
  durationMs: number;
  /** The error, if it threw, timed out or returned an invalid answer. */
  error?: string;
  /** Keys of its answer. */
  answered?: string[];
  /** The hook's failure mode. `fail`: an error ends the run. `ignore`: an error is not recorded. */
  mode?: 'fail' | 'warn' | 'ignore';
}
