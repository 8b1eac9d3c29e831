import type { Json, JsonObject } from './json';
import type { ToolSize } from './loaded-tools';
import type { Content, OutputRef, Part } from './message';
import type { ToolQuestion } from './questions';

/** The description of a tool that the model gets. `parameters` is a JSON Schema whose root is an object. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** A tool that came with a thread or a message, and is answered from outside. */
export interface ExtraTool extends ToolSpec {
  /** Milliseconds after which a call that nobody answered fails. */
  deadlineMs?: number | undefined;
}

/**
 * What may be done after a crash in the middle of a call:
 * - `pure`: the call may run again as often as needed, and concurrently with other pure calls;
 * - `keyed`: the call may run again with the same idempotency key;
 * - `once`: the call never runs twice; if the worker dies in the middle, the outcome is `unknown`;
 * - `verify`: the tool's probe is asked whether the call was carried out; if it can't tell, the outcome is `unknown`;
 * - `saga`: as `once`; and if the run does not succeed, the call is compensated.
 */
export type Effect = PlainEffect | 'verify' | 'saga';

/** The effects that need nothing but `execute`. */
export type PlainEffect = 'pure' | 'keyed' | 'once';

/**
 * What happens if the outcome of a call is unknown.
 * - `tell-model`: the model is told to check.
 * - `ask-person`: the run waits until someone settles the call.
 * - `probe-again`: the probe is asked again, several times over about 40 minutes; then as `ask-person`, or, for a call in the background, as
 *   `tell-model`.
 * - `fail-run`: the run fails.
 */
export type OnUnknown = (typeof onUnknownWays)[number];
export const onUnknownWays = ['tell-model', 'ask-person', 'probe-again', 'fail-run'] as const;

/** Whether a call with this effect has an unknown outcome after a crash. The others just run again. */
export const canBeUnknown: Readonly<Record<Effect, boolean>> = { pure: false, keyed: false, once: true, verify: true, saga: true };

/** Whether a call with this effect may ask people questions: it ends at the question, and runs again with the answer. */
export const mayAskPeople: Readonly<Record<Effect, boolean>> = { pure: true, keyed: true, once: false, verify: false, saga: false };

/** Whether a call with this effect never runs twice by itself. */
export const runsOnce: Readonly<Record<Effect, boolean>> = { pure: false, keyed: false, once: true, verify: false, saga: true };

/** How the calls of one answer are run. `by-effect`: pure calls concurrently, the others one after another in the model's order. */
export type ToolStrategy = 'by-effect' | 'sequential' | 'parallel';

/** Retries of a call whose `execute` threw, for tools that may run again, or of the `compensate` of a `saga`. `maxAttempts` includes the first. Times are in milliseconds. */
export interface ToolRetry {
  maxAttempts: number;
  initialMs?: number | undefined;
  maxMs?: number | undefined;
}

/**
 * What is to happen with a call. The activity that has the tool's code decides it, and it is recorded with the answer, so that workflow code
 * decides on recorded facts only.
 */
export type Verdict =
  /** `background`: the model gets a placeholder immediately, and the result later as a message. */
  | ({
      kind: 'run';
      effect: Effect;
      timeoutMs: number;
      approval?: AskPolicy;
      retry?: ToolRetry;
      background?: true;
      onUnknown?: OnUnknown;
      /** The tool may ask people questions in the middle of a call; who may answer, and by when. */
      questions?: AskPolicy;
    } & CheckedCall)
  /** Answered from outside the worker; `ask` says by whom and by when. With `question`, a person is asked something. */
  | ({ kind: 'external'; approval?: AskPolicy; ask?: AskPolicy; question?: true } & CheckedCall)
  /** A call of the tool `done`: the model has finished. */
  | { kind: 'done'; message?: string }
  /** The call can't run. With `stop`, it also ends the run. */
  | { kind: 'reject'; error: ToolError; stop?: true };

/** What people who are asked about a call are shown. Present if people may be asked. */
export interface CheckedCall {
  /** The arguments as the tool takes them, in the order in which it declares them. Absent if the model wrote exactly that. */
  arguments?: string;
  /** Identifies thread, call, tool and these arguments: the beginning of a SHA-256. */
  digest?: string;
}

/** What happens when nobody answers by the deadline. `deny`: the call is refused; a question fails. */
export type DeadlineAction = 'deny' | 'approve' | 'ask-again' | 'cancel' | { escalate: string[] };

/** How people are asked. By default anyone may answer, one person is enough, and there is no deadline. */
export interface AskPolicy {
  /** Why people are asked. */
  reason?: string | undefined;
  /** Who may answer: these users, and members of these groups. */
  users?: string[] | undefined;
  groups?: string[] | undefined;
  /** How many different people must approve. One refusal is enough to refuse. Default 1. */
  approvers?: number | undefined;
  /** Milliseconds from the request, and again from each escalation. */
  deadlineMs?: number | undefined;
  /** One action per deadline, in order. A last `ask-again` repeats. After the end of the list: `deny`. */
  onDeadline?: DeadlineAction[] | undefined;
  /** The calls that need no approval any more after a decision with `remember`. */
  remember?: PermissionRule[] | undefined;
}

/**
 * Which calls run without an approval, in addition to those that rules allow.
 * - `minimal`: tools and commands that read; a person is asked about everything else.
 * - `trusted`: also those that edit files, except git's own files.
 * - `sandboxed`: also commands that run in a sandbox without network.
 * - `full-access`: everything that no deny rule blocks.
 */
export type PermissionMode = (typeof permissionModes)[number];
export const permissionModes = ['minimal', 'trusted', 'sandboxed', 'full-access'] as const;

/**
 * Whether commands run in a sandbox, in which they can't use the network, change only the workspace, and see of the machine only programs, libraries
 * and their settings. `auto`: where it works. `required`: where it does not, no command runs.
 */
export type SandboxMode = (typeof sandboxModes)[number];
export const sandboxModes = ['off', 'auto', 'required'] as const;

/**
 * Matches calls of a tool: all of them, or those whose command begins with the words of `prefix` (with `exact`, equals them), or those whose `url` has
 * the host, with its port if it is not the default one. `docs.example.com` allows `https:` only, and `http://docs.example.com` allows `http:` only.
 */
export interface PermissionRule {
  tool: string;
  prefix?: string[] | undefined;
  exact?: true | undefined;
  host?: string | undefined;
}

export function isForWholeTool({ prefix, host }: PermissionRule): boolean {
  return prefix === undefined && host === undefined;
}

/** A tool's request to suspend the run until someone replies. */
export interface Suspension {
  /** The id that the reply must contain. */
  correlationId: string;
  /** Milliseconds until the run expires. Default 7 days. */
  ttlMs?: number | undefined;
  metadata?: JsonObject | undefined;
}

export interface ToolError {
  /** ToolNotFoundError, InvalidToolArgumentsError, ToolTimeoutError, or the name of the error that was thrown. */
  name: string;
  message: string;
}

/**
 * The outcome of a call. Every status except `success` is an error for the model, which `content` describes.
 * - `rejected`: unknown tool or invalid arguments; the call never ran.
 * - `denied`: a person, a deadline or a hook refused it, or permissions deny it.
 * - `unknown`: the worker was lost in the middle of the call, which may or may not have been carried out, and must not just run again.
 * - `skipped`: not started, because the run ended or a limit was reached first.
 */
export interface ToolOutcome {
  status: 'success' | 'failed' | 'rejected' | 'denied' | 'timed-out' | 'unknown' | 'cancelled' | 'skipped';
  content: Content;
  /** Where the whole output is. */
  outputRef?: OutputRef;
  error?: ToolError;
  durationMs?: number;
  /** Number of attempts, if more than one. */
  attempts?: number;
  /** The tool requests that the run is suspended after this turn. */
  suspend?: Suspension;
  /** The tool found these tools, which the model gets from its next call on. */
  found?: ToolSize[];
  /** What the tool returned, if a compensation may need it. */
  result?: Json;
  /** The call ended at this question to a person, and runs again once it is answered. */
  asks?: ToolQuestion;
}

/** By status: whether the call ran or may have run, and whether it fails a run whose agent has `toolFailure: 'fail'`. */
export const outcomes: Readonly<Record<ToolOutcome['status'], { ran: boolean; fails: boolean }>> = {
  success: { ran: true, fails: false },
  failed: { ran: true, fails: true },
  'timed-out': { ran: true, fails: true },
  unknown: { ran: true, fails: true },
  cancelled: { ran: true, fails: false },
  rejected: { ran: false, fails: true },
  denied: { ran: false, fails: false },
  skipped: { ran: false, fails: false },
};

/** A tool result that a person or another program submits for a call that is executed outside the worker. */
export interface ToolOutput {
  toolCallId: string;
  /** The model sees a string or a list of parts as it is, and anything else as JSON. */
  output: unknown;
  isError?: boolean | undefined;
}

export function isError(outcome: ToolOutcome): boolean {
  return outcome.status !== 'success';
}

/** Converts a value to what the model sees: text and parts unchanged, everything else as JSON, `undefined` as `null`. */
export function toContent(value: unknown): Content {
  if (typeof value === 'string') return value;
  if (isParts(value)) return value;
  return JSON.stringify(value ?? null) ?? 'null';
}

/** Maximum number of parts in one result, which bounds the total size of many small parts. */
export const maxParts = 500;

export function isParts(value: unknown): value is Extract<Content, unknown[]> {
  return Array.isArray(value) && value.length > 0 && value.every(isPart);
}

function isPart(part: Partial<Part> | null | undefined): boolean {
  switch (part?.type) {
    case 'text':
      return typeof part.text === 'string';
    case 'image':
      return typeof part.url === 'string';
    case 'file':
      return typeof part.url === 'string' && typeof part.mediaType === 'string';
    default:
      return false;
  }
}
