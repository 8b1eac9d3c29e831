import type { JournalLine } from '../journal';
import type { KeyedEffect, LedgerLine } from '../ledger';
import type { ThreadPlan } from '../plan';
import type { ReaderLine } from '../reader-line';

// The data that the rules check. Its types are written from the documentation, not imported from the engine: a checker that shares the
// engine's code would share its mistakes.

/** An event of a thread's log, as the query `events` returns it. */
export interface LogEvent {
  seq: number;
  type: string;
  timestamp: string;
  threadId: string;
  runId: string | null;
  data: Record<string, unknown>;
}

export interface LogMessage {
  id: string;
  role: 'user' | 'assistant' | 'tool';
  content: unknown;
  toolCallId?: string;
  origin?: string;
}

/** The calls that an answer asks for. */
export function callsOf({ content }: LogMessage): { id: string; name: string }[] {
  const parts = Array.isArray(content) ? (content as { type: string; id: string; name: string }[]) : [];
  return parts.filter(({ type }) => type === 'tool-call');
}

export interface Execution {
  runId: string;
  /** Temporal's status: RUNNING, COMPLETED, CONTINUED_AS_NEW, … */
  status: string;
  events: number;
  bytes: number;
  /** Failed workflow tasks. */
  failures: { cause: string; message: string; eventId: number }[];
}

export interface ThreadEvidence {
  id: string;
  plan: ThreadPlan;
  /** Temporal's status of the newest execution. */
  status: string;
  /** Number of events in the newest execution's history; changes as long as something happens. */
  length?: number;
  /** Attempt of the pending workflow task, 0 if none is pending. */
  taskAttempt: number;
  executions: Execution[];
  /** Undefined if it could not be read; `unreadable` is the reason. */
  log?: LogEvent[];
  unreadable?: string;
  messages: LogMessage[];
  /** Result of the query `status`. */
  view?: { status: string; queued: number; paused?: unknown };
}

export interface ModelLine {
  n: string;
  at: number;
  thread: string;
  run: number;
  turn: number;
  /** The transcript of the request; each message is its role, then the ids of its calls and its mark, or its call's id, or its text. */
  saw: string[][];
  /** The size of the request: a quarter of its characters. */
  tokens: number;
  /** It asks for a summary of a transcript. */
  summary?: true;
}

export interface Evidence {
  threads: ThreadEvidence[];
  ledger: LedgerLine[];
  effects: KeyedEffect[];
  journal: JournalLine[];
  readers: ReaderLine[];
  model: ModelLine[];
  /** An execution continues as new after this many events. */
  carryAfter: number;
}

/** A violation of a guarantee. */
export interface Violation {
  rule: string;
  thread: string;
  what: string;
}

export type Rule = (evidence: Evidence) => Violation[];
