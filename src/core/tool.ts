import type { JsonObject } from './json';
import type { Content } from './message';

/** What the model is told of a tool. `parameters` is a JSON Schema whose root is an object. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: JsonObject;
}

/**
 * What a crash in the middle of a call allows:
 * - `pure`: run it again as often as needed, and beside other pure calls;
 * - `keyed`: run it again with the same idempotency key;
 * - `once`: never run it twice; if the worker dies in the middle the outcome is `unknown`.
 */
export type Effect = 'pure' | 'keyed' | 'once';

/** How the calls of one answer are run. `by-effect`: pure calls side by side, the others one after another in the model's order. */
export type ToolStrategy = 'by-effect' | 'sequential' | 'parallel';

/** Attempts at a call whose `execute` threw, for `pure` and `keyed` tools. The first attempt counts. */
export interface ToolRetry {
  maxAttempts: number;
  initialMs?: number;
  maxMs?: number;
}

/**
 * What is to happen with a call, judged in the activity that has the tool's code and recorded in the answer,
 * so that workflow code decides on recorded facts only.
 */
export type Verdict =
  /** `background`: the model gets a placeholder at once, and the result later, as a message. */
  | ({ kind: 'run'; effect: Effect; timeoutMs: number; approval?: AskPolicy; retry?: ToolRetry; background?: true } & CheckedCall)
  /** Answered from outside; `ask` says by whom and until when, `question` that a person is asked something. */
  | ({ kind: 'external'; approval?: AskPolicy; ask?: AskPolicy; question?: true } & CheckedCall)
  /** The model says that it is done. */
  | { kind: 'done'; message?: string }
  /** `stop`: the run ends with it. */
  | { kind: 'reject'; error: ToolError; stop?: true };

/** What whoever is asked about a call is shown. Known where somebody may be asked. */
export interface CheckedCall {
  /** The arguments as the tool takes them, in the order in which it declares them; left out where the model wrote just that. */
  arguments?: string;
  /** Stands for thread, call, tool and these arguments: the beginning of a SHA-256. */
  digest?: string;
}

/** What happens when nobody answered by the deadline. `deny`: the call is refused; of a question, it fails. */
export type DeadlineAction = 'deny' | 'approve' | 'ask-again' | 'cancel' | { escalate: string[] };

/** How people are asked. Everything unset: anyone may answer, one is enough, and there is no deadline. */
export interface AskPolicy {
  /** Why it is asked. */
  reason?: string;
  /** Who may answer: these users, and members of these groups. */
  users?: string[];
  groups?: string[];
  /** How many different people must agree; one refusal is enough. Default 1. */
  approvers?: number;
  /** Milliseconds from when it is asked, and again from each escalation. */
  deadlineMs?: number;
  /** At the first deadline the first of these, and so on; `ask-again` at the end repeats. When the list is at its end: `deny`. */
  onDeadline?: DeadlineAction[];
  /** What a decision with `remember` allows from then on. */
  remember?: PermissionRule[];
}

/**
 * What is let through beside the rules.
 * - `minimal`: tools and commands that read; a person is asked about everything else.
 * - `trusted`: also those that edit files, but git's own.
 * - `full-access`: everything that no deny rule blocks.
 */
export type PermissionMode = (typeof permissionModes)[number];
export const permissionModes = ['minimal', 'trusted', 'full-access'] as const;

/** Calls of a tool: all of them, or those whose command begins with these words; with `exact`, consists of them. */
export interface PermissionRule {
  tool: string;
  prefix?: string[];
  exact?: true;
}

/** A run that rests until someone replies. */
export interface Suspension {
  /** By which the reply finds it. */
  correlationId: string;
  /** Milliseconds until the run expires. Default 7 days. */
  ttlMs?: number;
  metadata?: JsonObject;
}

export interface ToolError {
  /** ToolNotFoundError, InvalidToolArgumentsError, ToolTimeoutError, or the name of the error that was thrown. */
  name: string;
  message: string;
}

/**
 * What came of a call. Every status but `success` is an error to the model, and is told in `content`.
 * - `rejected`: unknown tool or unusable arguments; never ran.
 * - `denied`: a person said no.
 * - `unknown`: the worker was lost in the middle of a `once` call: it may or may not have happened.
 * - `skipped`: not started, because the run ended first.
 */
export interface ToolOutcome {
  status: 'success' | 'failed' | 'rejected' | 'denied' | 'timed-out' | 'unknown' | 'cancelled' | 'skipped';
  content: Content;
  error?: ToolError;
  durationMs?: number;
  /** Attempts the call needed, when more than one. */
  attempts?: number;
  /** The tool asks that the run rest after this turn. */
  suspend?: Suspension;
}

/** A tool result that a person or another program supplies for a tool without `execute`. */
export interface ToolOutput {
  toolCallId: string;
  /** A string as it is; anything else as JSON. */
  output: unknown;
  isError?: boolean;
}

export function isError(outcome: ToolOutcome): boolean {
  return outcome.status !== 'success';
}

/** What the model sees of a value: text as it is, parts as they are, everything else as JSON; nothing is `null`. */
export function toContent(value: unknown): Content {
  if (typeof value === 'string') return value;
  if (isParts(value)) return value;
  return JSON.stringify(value ?? null) ?? 'null';
}

/** Parts of one result, so that many small ones can't be large together. */
export const maxParts = 500;

export function isParts(value: unknown): value is Extract<Content, unknown[]> {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      (part) => (part?.type === 'text' && typeof part.text === 'string') || (part?.type === 'image' && typeof part.url === 'string'),
    )
  );
}
