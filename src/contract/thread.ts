import type { AgentFacts, Limits } from '../core/agent';
import type { DurableEvent, PendingCall, RunStatus } from '../core/event';
import type { Content, Message, Usage } from '../core/message';
import type { Metrics, Overrides } from '../core/state';

/** The workflow's type: what `temporal workflow start --type` takes. */
export const workflowType = 'agentThread';
export const defaultTaskQueue = 'longhaul';

/** The start of a thread, as plain JSON. `agent` and `input` are enough. */
export interface ThreadInput extends Overrides {
  /** The name of an agent that the worker has. */
  agent: string;
  /** A text, or parts. */
  input: Content;
  /** `one-shot` (default): the workflow ends with its run. `conversation`: it stays open for the next message. */
  mode?: 'one-shot' | 'conversation';
  /** How long a conversation waits for its next message before it closes. Milliseconds; default 30 days, 0 for ever. */
  idleTimeoutMs?: number;
  /** How long a run waits for a worker that has its agent before it fails. Milliseconds; default 5 minutes, 0 not at all. */
  agentWaitMs?: number;
}

/** What a thread's workflow returns. A failed run is thrown instead, as a failure whose type is the code; a cancelled one is Canceled. */
export interface ThreadResult {
  status: Extract<RunStatus, 'completed' | 'incomplete'>;
  /** The model's last words, without blanks around them; `messages()` has them to the letter. */
  output: string;
  runId: string;
  runs: number;
  turns: number;
  usage: Usage;
  /** Of all runs, where the models' prices are known. */
  costUsd: number;
  /** Why it is incomplete. */
  reason?: string;
}

export interface StatusView {
  threadId: string;
  agent: string;
  model: string | null;
  mode: 'one-shot' | 'conversation';
  /** Why nothing begins. */
  paused?: { reason: string; by?: string };
  /** `idle`: a conversation between runs. */
  status: RunStatus | 'idle';
  runId: string | null;
  turn: number;
  messages: number;
  queued: number;
  pending: PendingCall[];
  /** How much of each limit that is set is left, to the run and to the whole thread. */
  remaining: { run: Limits; thread: Limits };
  costUsd: number;
  /** The newest event's number. */
  seq: number;
  facts: AgentFacts | null;
}

export interface UsageView {
  thread: Usage;
  run: Usage | null;
  runs: number;
  /** Of the last run. */
  turns: number;
  costUsd: number;
  remaining: { run: Limits; thread: Limits };
  /** By model, tool and hook, over all runs; kept when the events are no longer. Durations are milliseconds. */
  metrics: Metrics;
}

export interface EventsRequest {
  /** First seq wanted; default 1. */
  from?: number;
  /** At most so many; pages are also cut by their bytes. */
  limit?: number;
}

export interface EventsPage {
  events: DurableEvent[];
  /** Where the next page begins. */
  next: number;
  /** Whether more is there already. */
  more: boolean;
  /** Whether a conversation waits for its next message, as of this page. A worker of an older version does not say. */
  rests?: boolean;
  /** Where `from` is older than this execution of the workflow: the run id of the execution that has it. */
  earlier?: { execution: string; before: number };
}

export interface MessagesPage {
  messages: Message[];
  next: number;
  more: boolean;
}

/** What an activity asks its own workflow on a cache miss: the messages from `from` on, as of `length`. */
export interface TranscriptRequest {
  epoch: number;
  from: number;
  length: number;
}

/** `stale`: the transcript was rewritten since, and the asking activity's work is of no use any more. */
export type TranscriptPage = { messages: Message[] } | { stale: true };
