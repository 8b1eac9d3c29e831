import type { JournalLine } from '../journal';
import type { KeyedEffect, LedgerLine } from '../ledger';
import type { ThreadPlan } from '../plan';
import type { ReaderLine } from '../reader-line';

// What the rules judge. Written down anew from the documents, not taken from the engine: a checker that shares its code shares its mistakes.

/** An event of a thread's log, as its query answers it. */
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
  toolCalls?: { id: string; name: string; arguments: string }[];
  toolCallId?: string;
  origin?: string;
}

export interface Execution {
  runId: string;
  /** Temporal's word: RUNNING, COMPLETED, CONTINUED_AS_NEW, … */
  status: string;
  events: number;
  bytes: number;
  /** Of workflow tasks that failed. */
  failures: { cause: string; message: string; eventId: number }[];
}

export interface ThreadEvidence {
  id: string;
  plan: ThreadPlan;
  /** Of the newest execution. */
  status: string;
  /** Events in the newest execution's history: another number while something happens. */
  length?: number;
  /** Attempts of the workflow task that is pending, 0 where none is. */
  taskAttempt: number;
  executions: Execution[];
  /** Undefined where it could not be read; `unreadable` says why. */
  log?: LogEvent[];
  unreadable?: string;
  messages: LogMessage[];
  /** What the query `status` says of it. */
  view?: { status: string; queued: number; paused?: unknown };
}

export interface ModelLine {
  n: string;
  at: number;
  thread: string;
  run: number;
  turn: number;
  /** The transcript that it was sent: role first, then calls' ids and the mark of the answer, the call's id, or the words. */
  saw: string[][];
}

export interface Evidence {
  threads: ThreadEvidence[];
  ledger: LedgerLine[];
  effects: KeyedEffect[];
  journal: JournalLine[];
  readers: ReaderLine[];
  model: ModelLine[];
  /** An execution may have so many events before it goes on in a new one. */
  carryAfter: number;
}

/** A guarantee that was broken. */
export interface Violation {
  rule: string;
  thread: string;
  what: string;
}

export type Rule = (evidence: Evidence) => Violation[];
