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
  | { kind: 'run'; effect: Effect; timeoutMs: number; approval?: Approval; retry?: ToolRetry }
  | { kind: 'external'; approval?: Approval }
  | { kind: 'reject'; error: ToolError };

/** Present when a person must agree first. `reason` says why it is asked, where there is something to say. */
export interface Approval {
  reason?: string;
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

function isParts(value: unknown): value is Extract<Content, unknown[]> {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      (part) => (part?.type === 'text' && typeof part.text === 'string') || (part?.type === 'image' && typeof part.url === 'string'),
    )
  );
}
