import type { AgentFacts, Limits } from '../core/agent';
import type { DurableEvent, PendingCall, RunStatus } from '../core/event';
import type { Content, Message, Usage } from '../core/message';
import type { CompensationView } from '../core/sagas';
import type { Metrics, Overrides, ThreadState } from '../core/state';
import type { Verdict } from '../core/tool';
import type { RunToolRequest } from './activities';

/** The workflow's type, for `temporal workflow start --type`. */
export const workflowType = 'agentThread';
/** The type of the workflow in which a background call runs. */
export const backgroundType = 'backgroundCall';
export const defaultTaskQueue = 'longhaul';

/** The input of a thread, as plain JSON. Only `agent` and `input` are required. */
export interface ThreadInput extends Overrides {
  /** The name of an agent of the worker. */
  agent: string;
  /** The first message: a text or a list of parts. */
  input: Content;
  /** `one-shot` (default): the workflow ends with its run. `conversation`: it stays open for the next message. */
  mode?: 'one-shot' | 'conversation' | undefined;
  /** How long a conversation waits for its next message before it closes. Milliseconds; default 30 days; 0 means forever. */
  idleTimeoutMs?: number | undefined;
  /** How long a run waits for a worker that has its agent before it fails. Milliseconds; default 5 minutes; 0 means no wait. */
  agentWaitMs?: number | undefined;
  /** Set by `LonghaulClient.reopen` only: the conversation goes on with the state of a closed execution of the same thread. */
  reopens?: ReopenRequest | undefined;
}

export interface ReopenRequest {
  /** Temporal's run id of the closed execution. */
  execution: string;
  reason?: string | undefined;
  by?: string | undefined;
}

/** What a closed conversation passes on when it is reopened. */
export interface ClosedThread {
  input: ThreadInput;
  state: ThreadState;
}

/**
 * The result of a run. A thread's workflow returns that of its last run. If that run failed, the workflow fails with the code as failure type; if it
 * was cancelled, the workflow is Canceled.
 */
export interface ThreadResult {
  status: Extract<RunStatus, 'completed' | 'incomplete'>;
  /** The model's last text, trimmed. `messages()` has the exact text. */
  output: string;
  /** Why the run is incomplete. */
  reason?: string;
  /** The run that this is the result of. `turns`, `usage` and `costUsd` are its own; `thread` has the totals. */
  runId: string;
  turns: number;
  usage: Usage;
  /** US dollars, as far as the models' prices are known. */
  costUsd: number;
  thread: ThreadTotals;
}

/** What all runs of a thread used together, up to the end of a run. */
export interface ThreadTotals {
  runs: number;
  turns: number;
  usage: Usage;
  /** US dollars, as far as the models' prices are known. */
  costUsd: number;
}

/** The input of a background call's workflow. */
export interface BackgroundInput {
  threadId: string;
  request: RunToolRequest;
  verdict: Extract<Verdict, { kind: 'run' }>;
  /** As in the agent's facts and in the thread's input. */
  takeoverMs?: number;
  lostAfterMs?: number;
  agentWaitMs?: number;
}

export interface StatusView {
  threadId: string;
  agent: string;
  model: string | null;
  mode: 'one-shot' | 'conversation';
  /** Present while the thread is paused. */
  paused?: { reason: string; by?: string };
  /** The thread accepts no more messages. */
  closed: boolean;
  /** `idle`: a conversation between runs. */
  status: RunStatus | 'idle';
  runId: string | null;
  turn: number;
  messages: number;
  queued: number;
  pending: PendingCall[];
  /** The compensations of the run's `saga` calls, in their order, once the first has begun. */
  compensations?: CompensationView[];
  /** What is left of each limit that is set, for the run and for the whole thread. */
  remaining: { run: Limits; thread: Limits };
  costUsd: number;
  /** The share of the model's context window that is left, from 0 to 100; null if it is not known. */
  contextLeftPercent: number | null;
  /** The agent's plan as text, if it has made one with the tool `update_plan`. */
  plan?: string;
  /** The names of the tools that the model found and gets. */
  loadedTools?: string[];
  /** The `seq` of the newest event. */
  seq: number;
  facts: AgentFacts | null;
}

export interface UsageView {
  /** Tokens of all runs. `spent.thread` has the other sums. */
  thread: Usage;
  /** Tokens of the current or last run. */
  run: Usage | null;
  /** The current or last run. */
  runId: string | null;
  runs: number;
  /** Turns of the current or last run; those of all runs are `spent.thread.turns`. */
  turns: number;
  /** US dollars of all runs. */
  costUsd: number;
  /** What was used of each amount that can be limited, by the current or last run and by all runs. */
  spent: { run: Required<Limits>; thread: Required<Limits> };
  /** What is left of each limit that is set. */
  remaining: { run: Limits; thread: Limits };
  /** Counts by model, tool and hook, over all runs, including events that are no longer stored. Durations are in milliseconds. */
  metrics: Metrics;
}

export interface EventsRequest {
  /** The first `seq` to return. Default 1. */
  from?: number | undefined;
  /** Maximum number of events. Default 1,000. Pages are also limited in bytes. */
  limit?: number | undefined;
}

export interface EventsPage {
  events: DurableEvent[];
  /** The `from` of the next page. */
  next: number;
  /** Whether there are more events already. */
  more: boolean;
  /** Whether a conversation waits for its next message, as of this page. A worker of an older version does not say. */
  idle?: boolean;
  /** Present if `from` is older than this execution: the run id of the previous execution, and the first `seq` of this one. */
  earlier?: { execution: string; before: number };
}

export interface MessagesPage {
  messages: Message[];
  next: number;
  more: boolean;
}

/** The query of an activity to its own workflow on a cache miss: the messages from `from` on, of the first `length`. */
export interface TranscriptRequest {
  epoch: number;
  from: number;
  length: number;
}

/** `stale`: the transcript was rewritten since, so the result of the querying activity is no longer needed. */
export type TranscriptPage = { messages: Message[] } | { stale: true };
