import type { AgentFacts, AtLimit, LimitName, Limits, ModelSettings } from './agent';
import { endStatus, type RunStatus } from './event';
import type { JsonObject } from './json';
import type { LogRecord } from './log';
import { type Message, noUsage, type Usage, type UserMessage } from './message';
import type { FollowedRequest } from './request-ids';
import type { CheckedCall, PermissionRule, Suspension, ToolOutcome, ToolSpec, ToolStrategy, Verdict } from './tool';
import { emptyHash, type TranscriptRef, tokenOf } from './transcript';

/** How people are being asked about a call, and how far that is. Times are milliseconds since 1970. */
export interface AskState {
  since: number;
  dueAt?: number;
  groups?: string[];
  /** Who has agreed so far. */
  votes: string[];
  /** Deadlines that have passed. */
  passed: number;
}

/** A tool call of the current turn on its way to its outcome. */
export type CallState = {
  id: string;
  name: string;
  verdict: Verdict;
  editedArguments?: string;
  editedBy?: 'hook';
  /** Of arguments that a hook edited. */
  checked?: CheckedCall;
  ask?: AskState;
  approved?: true;
} & ({ phase: 'ready' | 'awaiting-approval' | 'awaiting-output' | 'running' } | { phase: 'done'; outcome: ToolOutcome; messageId: string });

/** How often answers without calls were sent back instead of ending the run. */
export interface SentBack {
  /** To be verified: since the last tool call, and in all. */
  verify: number;
  verifyInAll: number;
  /** Did not fit the schema. */
  output: number;
  /** Were empty, in a row. */
  empty: number;
  /** Came without a call of `done`, where that is asked for. */
  nudge: number;
  /** The hook `check:completion` said that there is more to do. */
  completion: number;
}

/** A limit that is reached, while a person is asked for more of it. */
export interface LimitAsk {
  id: string;
  limit: LimitName;
  max: number;
  scope: 'run' | 'thread';
  since: number;
}

export interface SuspensionState {
  correlationId: string;
  since: number;
  expiresAt: number;
  metadata?: JsonObject;
}

/** What limits are measured against. */
export interface Spent {
  turns: number;
  toolRounds: number;
  toolCalls: number;
  costUsd: number;
}

export interface RunState extends Omit<Spent, 'turns'> {
  id: string;
  /** From 1 within the thread. */
  number: number;
  status: RunStatus;
  /** Model calls begun. */
  turn: number;
  usage: Usage;
  startedAt: number;
  endedAt?: number;
  /** Time in which it rested for a person or was paused, which `wallClockMs` does not count. */
  restedMs: number;
  /** Since when it rests, while it does. */
  restingSince?: number;
  /** What its input asked to do differently from agent and thread. */
  overrides?: Overrides;
  /** More of a limit, granted by people: the new maxima. */
  extended?: Limits;
  sentBack: SentBack;
  /** Tokens of the last model call, about what the next one sends. */
  context: number;
  /** The calls of the last answer, in the model's order; empty once their results are in the transcript. */
  calls: CallState[];
  /** Ids of the messages it began with. */
  opening: string[];
  /** The answer's id while the model writes it. */
  shell?: string;
  /** What the tool `done` was given as the final words. */
  finalMessage?: string;
  /** A refusal ends the run: whose, and why. */
  stopped?: { by?: string; reason: string };
  limitAsk?: LimitAsk;
  /** The turn whose calls were counted as a round last. */
  roundOf?: number;
  /** A tool asked for it; the first that did. */
  suspendAsked?: Suspension;
  suspension?: SuspensionState;
}

/** What a thread or a run was asked to do differently from its agent. */
export interface Overrides {
  model?: string;
  settings?: ModelSettings;
  limits?: Limits;
  threadLimits?: Limits;
  atLimit?: AtLimit;
  strategy?: ToolStrategy;
  /** Tools that are answered from outside, beside the agent's own. */
  tools?: ToolSpec[];
}

/** A message that waits. With `after-run` it begins a run; its overrides hold for the run that it begins. */
export interface QueuedMessage extends UserMessage {
  delivery?: 'after-run';
  overrides?: Overrides;
}

/** The message alone, as the transcript has it. */
export function messageOf({ delivery: _, overrides: __, ...message }: QueuedMessage): UserMessage {
  return message;
}

/** What became of a message that someone sent. */
export interface MessageReceipt {
  id: string;
  state: 'accepted' | 'injected' | 'superseded';
  /** Of the event that says so. */
  seq: number;
  runId?: string;
  turn?: number;
  reason?: string;
}

/** What one model was used for. */
export interface ModelSpend {
  calls: number;
  usage: Usage;
  costUsd: number;
  durationMs: number;
  /** Attempts that failed. */
  retries: number;
  waitedMs: number;
}

/** Counted over all runs of the thread, and kept when their events are no longer. */
export interface Metrics {
  models: Record<string, ModelSpend>;
  tools: Record<string, { calls: number; failed: number; timedOut: number; durationMs: number }>;
  hooks: Record<string, { calls: number; errors: number; durationMs: number }>;
  approvals: { approved: number; refused: number; waitedMs: number };
}

/**
 * All that a thread is, as plain JSON: it crosses continue-as-new as it stands.
 * It changes in `evolve` and nowhere else.
 */
export interface ThreadState {
  format: 1;
  threadId: string;
  agent: string;
  mode: 'one-shot' | 'conversation';
  overrides: Overrides;
  facts: AgentFacts | null;
  /** The namespace has our search attributes, as a worker said that lacked the agent. What the facts say is newer. */
  searchable?: true;
  /** The run under way, or the last one. */
  run: RunState | null;
  /** Messages that wait to be taken in. */
  queue: QueuedMessage[];
  messages: Message[];
  epoch: number;
  hash: string;
  usage: Usage;
  /** Of the runs before the last one. */
  before: Spent & { workedMs: number };
  metrics: Metrics;
  /** More of the thread's limits, granted by people. */
  extended?: Limits;
  /** Nothing begins until it is resumed. */
  paused?: { reason: string; by?: string; since: number };
  /** What became of the newest messages. */
  receipts: MessageReceipt[];
  /** The newest requests that were followed, oldest first, by name and id: each is followed once however often it is sent. */
  requests: Record<string, FollowedRequest>;
  /** Calls that need no approval any more. */
  rules: PermissionRule[];
  /** Errors in a row, by the hook's id. */
  hookErrors: Record<string, number>;
  /** The newest event that `on:event` has had. */
  delivered: number;
  /** The transcript is to be shortened. Set where the thread goes on in a new execution before it was. */
  compact?: boolean;
  /** Calls that go on behind their placeholder. */
  background: { id: string; name: string }[];
  /** Of this execution of the workflow; what came before stands in the executions before it. */
  log: LogRecord[];
  nextSeq: number;
  /** Temporal's run id of the execution before this one, where the log goes on backwards. */
  previousExecution?: string;
  /** A conversation that takes no more messages. */
  closed: boolean;
}

export function newThread(seed: Pick<ThreadState, 'threadId' | 'agent' | 'mode' | 'overrides' | 'queue'>): ThreadState {
  return {
    format: 1,
    ...seed,
    facts: null,
    run: null,
    messages: [],
    epoch: 0,
    hash: emptyHash,
    usage: noUsage,
    before: { turns: 0, toolRounds: 0, toolCalls: 0, costUsd: 0, workedMs: 0 },
    metrics: { models: {}, tools: {}, hooks: {}, approvals: { approved: 0, refused: 0, waitedMs: 0 } },
    receipts: [],
    requests: {},
    rules: [],
    hookErrors: {},
    delivered: 0,
    background: [],
    log: [],
    nextSeq: 1,
    closed: false,
  };
}

export function isOver(run: RunState): boolean {
  return (Object.values(endStatus) as RunStatus[]).includes(run.status);
}

/** The run that is going on, if one is. */
export function activeRun(state: ThreadState): RunState | undefined {
  return state.run && !isOver(state.run) ? state.run : undefined;
}

export function stepIdOf(run: RunState): string {
  return `${run.id}-turn-${run.turn}`;
}

/** What holds for the run under way: its own wishes over the thread's, those over the agent's. */
export function inForce(state: ThreadState): Required<Pick<Overrides, 'strategy' | 'atLimit' | 'limits' | 'threadLimits'>> & Overrides {
  const { facts, overrides, run } = state;
  const own = run?.overrides ?? {};
  const model = own.model ?? overrides.model ?? facts?.model;
  const tools = [...(overrides.tools ?? []), ...(own.tools ?? [])];
  const settings = overrides.settings || own.settings ? { ...overrides.settings, ...own.settings } : undefined;
  return {
    strategy: own.strategy ?? overrides.strategy ?? facts?.strategy ?? 'by-effect',
    atLimit: own.atLimit ?? overrides.atLimit ?? facts?.atLimit ?? 'stop',
    limits: { ...facts?.limits, ...overrides.limits, ...own.limits, ...run?.extended },
    threadLimits: { ...facts?.threadLimits, ...overrides.threadLimits, ...state.extended },
    ...(model !== undefined && { model }),
    ...(settings && { settings }),
    ...(tools.length > 0 && { tools }),
  };
}

/** An answer has seldom so many calls that their results don't fit; where it has, a cache asks for what it could have placed. */
const mostRecent = 40;

export function transcriptRef(state: ThreadState): TranscriptRef {
  const { messages, epoch, hash } = state;
  // What came since the last model call: its answer, the results, what was said. A worker that made them can place them by this.
  const since = messages.findLastIndex((m) => m.role === 'assistant');
  const recent = messages.slice(Math.max(since, messages.length - mostRecent, 0)).map(tokenOf);
  return { epoch, length: messages.length, hash, recent };
}
