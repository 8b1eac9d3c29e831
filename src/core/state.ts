import type { AgentFacts, AtLimit, LimitName, Limits, ModelChoice, ModelSettings } from './agent';
import type { Attestation, RememberedRule } from './attestation';
import type { ContextMeasure } from './context/budget';
import { type DurableEventData, endStatus, type RunStatus } from './event';
import type { JsonObject } from './json';
import type { LoadedTool } from './loaded-tools';
import type { LogRecord } from './log';
import { type Message, noUsage, type Usage, type UserMessage } from './message';
import type { QuestionAnswer, ToolQuestion } from './questions';
import type { FollowedRequest } from './request-ids';
import type { SagaCall } from './sagas';
import type { CheckedCall, ExtraTool, Suspension, ToolOutcome, ToolStrategy, Verdict } from './tool';
import { emptyHash, type TranscriptRef, tokenOf } from './transcript';

/** The progress of asking people about a call. Times are milliseconds since 1970. */
export interface AskState {
  since: number;
  dueAt?: number;
  groups?: string[];
  /** Who has approved so far. */
  votes: string[];
  /** Number of deadlines that have passed. */
  passed: number;
}

/** A tool call of the current turn, until its result is in the transcript. */
export type CallState = {
  id: string;
  name: string;
  verdict: Verdict;
  editedArguments?: string;
  editedBy?: 'hook' | 'person';
  /** For edited arguments: what people are shown of them. */
  checked?: CheckedCall;
  ask?: AskState;
  approved?: true;
  /** The signed approvals so far, if decisions are signed. The worker that runs the call verifies them again. */
  signed?: Attestation[];
  /** Why the outcome is unknown, if a person is asked to settle it. */
  unknown?: string;
  /** A person has settled that the call was not carried out, or answered its question, so it runs again. */
  again?: true;
  /** The question of its tool that waits for an answer. */
  question?: ToolQuestion;
  /** The answers to its questions so far, in order. */
  answers?: QuestionAnswer[];
} & (
  | { phase: 'ready' | 'awaiting-approval' | 'awaiting-output' | 'awaiting-answer' | 'running' | 'unsettled' }
  | { phase: 'done'; outcome: ToolOutcome; messageId: string }
);

/** How often answers without calls were sent back instead of ending the run, by reason. */
export interface SentBack {
  /** To verify the work: since the last tool call, and in total (`verifyInAll`). */
  verify: number;
  verifyInAll: number;
  /** Because the answer did not fit the output schema. */
  output: number;
  /** Because the answer was empty, in a row. */
  empty: number;
  /** Because the stop policy requires a call of `done`. */
  nudge: number;
  /** Because the hook `check:completion` found the work unfinished. */
  completion: number;
}

/** A limit that is reached, while a person is asked to raise it. */
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

/** Amounts that limits are compared with. */
export interface Spent {
  turns: number;
  toolRounds: number;
  toolCalls: number;
  costUsd: number;
}

export interface RunState extends Omit<Spent, 'turns'> {
  id: string;
  /** Counts the runs of the thread, from 1. */
  number: number;
  status: RunStatus;
  /** Model calls begun. */
  turn: number;
  usage: Usage;
  startedAt: number;
  endedAt?: number;
  /** Milliseconds in which the run waited for people or was paused. The limit `wallClockMs` does not count them. */
  waitedMs: number;
  /** Since when the run is waiting or paused, if it is. */
  waitingSince?: number;
  /** Settings that came with the run's messages, over those of agent and thread. */
  overrides?: Overrides;
  /** Limits that people raised, with their new values. */
  extended?: Limits;
  sentBack: SentBack;
  /** Number of models of the list that the run has given up on. */
  modelsFailed?: number;
  /** Tokens of the last model call, about what the next one sends. */
  context: number;
  /** The calls of the last answer, in the model's order; empty once their results are in the transcript. */
  calls: CallState[];
  /** Ids of the messages that the run began with. */
  opening: string[];
  /** The answer's id while the model writes it. */
  draft?: string;
  /** The message of the tool `done`. */
  finalMessage?: string;
  /** Set when a refusal ends the run: who refused, and why. */
  stopped?: { by?: string; reason: string };
  limitAsk?: LimitAsk;
  /** Its `saga` calls that began, oldest first. They are compensated if the run does not succeed. */
  sagas?: SagaCall[];
  /** The last turn whose calls were counted as a round. */
  roundOf?: number;
  /** The suspension that the first tool requested, if any. */
  suspendRequested?: Suspension;
  suspension?: SuspensionState;
}

/** A call that runs in the background. */
export interface BackgroundCall {
  id: string;
  name: string;
  /** The workflow that runs it. Absent: an activity of this execution does. */
  workflowId?: string;
  /** The id by which the model knows the call. */
  sentId?: string;
}

/** Settings of a thread or a run that replace those of its agent. */
export interface Overrides {
  model?: ModelChoice | undefined;
  settings?: ModelSettings | undefined;
  limits?: Limits | undefined;
  threadLimits?: Limits | undefined;
  atLimit?: AtLimit | undefined;
  strategy?: ToolStrategy | undefined;
  /** Tools that are executed outside the worker, in addition to the agent's. */
  tools?: ExtraTool[] | undefined;
}

/** A queued message. With `after-run` it begins a run of its own. Its overrides apply to the run that it begins. */
export interface QueuedMessage extends UserMessage {
  delivery?: 'after-run';
  overrides?: Overrides;
}

/** Returns the message without its queue fields, as it joins the transcript. */
export function messageOf({ delivery: _, overrides: __, ...message }: QueuedMessage): UserMessage {
  return message;
}

/** The queued messages that the active run takes in at its next turn. */
export function waiting({ queue, run }: ThreadState): QueuedMessage[] {
  return queue.filter((m) => m.delivery !== 'after-run' || run?.opening.includes(m.id));
}

/** What happened to a message that a client sent. */
export interface MessageReceipt {
  id: string;
  state: 'accepted' | 'injected' | 'superseded';
  /** The `seq` of the event that set this state. */
  seq: number;
  runId?: string;
  turn?: number;
  reason?: string;
}

/** The use of one model. */
export interface ModelSpend {
  calls: number;
  usage: Usage;
  costUsd: number;
  durationMs: number;
  /** Number of failed attempts. */
  retries: number;
  waitedMs: number;
}

/** Counts over all runs of the thread. They stay when the events themselves are no longer in the state. */
export interface Metrics {
  models: Record<string, ModelSpend>;
  tools: Record<string, { calls: number; failed: number; timedOut: number; durationMs: number }>;
  hooks: Record<string, { calls: number; errors: number; durationMs: number }>;
  approvals: { approved: number; refused: number; waitedMs: number };
}

/** What is known about the thread's context: the measure of its last model call, and what compactions left. */
export interface ContextState {
  measured?: ContextMeasure;
  /** Facts that every later summary repeats word for word, oldest first. */
  retained?: string[];
  /** References of the stored texts that summaries replaced, oldest first. */
  archives?: string[];
  /** After summaries that failed: how many in a row, and until which turn of the thread none is made. */
  backOff?: { failures: number; untilTurn: number };
}

export const stateFormat = 3;

/**
 * The complete state of a thread, as plain JSON: continue-as-new passes it on unchanged, without the log. It changes only in `evolve` and
 * `noteDelivered`.
 */
export interface ThreadState {
  /** The version of this interface. A change that a carried-over state does not fit needs a new version, and an upgrade in carried.ts. */
  format: typeof stateFormat;
  threadId: string;
  agent: string;
  mode: 'one-shot' | 'conversation';
  overrides: Overrides;
  facts: AgentFacts | null;
  /** The namespace has our search attributes, as reported by a worker without the agent. The facts, once known, replace this. */
  searchable?: true;
  /** The active run, or the last one. */
  run: RunState | null;
  /** Messages that a run has not taken in yet. */
  queue: QueuedMessage[];
  messages: Message[];
  epoch: number;
  hash: string;
  usage: Usage;
  /** Totals of all runs before `run`. */
  before: Spent & { workedMs: number };
  metrics: Metrics;
  /** The agent's plan, as the tool `update_plan` returned it last. */
  plan?: string;
  /** The tools that the model found, in the order in which it gets them. */
  loadedTools?: LoadedTool[];
  /** Limits of the thread that people raised, with their new values. */
  extended?: Limits;
  /** Set while the thread is paused. */
  paused?: { reason: string; by?: string; since: number };
  /** What happened to the newest messages. */
  receipts: MessageReceipt[];
  /** The newest accepted requests with an id, oldest first, by name and id, so that a repeated request takes effect only once. */
  requests: Record<string, FollowedRequest>;
  /** Rules for calls that need no approval any more. */
  rules: RememberedRule[];
  /** Number of errors in a row, by the hook's id. */
  hookErrors: Record<string, number>;
  /** The `seq` of the newest event that `on:event` received, and of the newest compaction that `on:compaction` received. */
  delivered: { events: number; compactions: number };
  /** Set while a requested compaction is due: before the next model call, at the end of the run, or in a run of its own. */
  compact?: Pick<DurableEventData['thread.context.kept'], 'requestedBy' | 'requestReason'>;
  context?: ContextState;
  /** Messages that compactions of this execution replaced, as they were, oldest first. Continue-as-new does not pass them on. */
  archived?: Message[];
  /** Calls that run in the background. */
  background: BackgroundCall[];
  /** The log of this execution of the workflow. Earlier events are in the earlier executions. */
  log: LogRecord[];
  nextSeq: number;
  /** Temporal's run id of the previous execution, which has the earlier part of the log. */
  previousExecution?: string;
  /** Whether the thread accepts no more messages. */
  closed: boolean;
}

export function newThread(seed: Pick<ThreadState, 'threadId' | 'agent' | 'mode' | 'overrides' | 'queue'>): ThreadState {
  return {
    format: stateFormat,
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
    delivered: { events: 0, compactions: 0 },
    background: [],
    log: [],
    nextSeq: 1,
    closed: false,
  };
}

export function isOver(run: RunState): boolean {
  return (Object.values(endStatus) as RunStatus[]).includes(run.status);
}

/** Returns the run that has not ended, if there is one. */
export function activeRun(state: ThreadState): RunState | undefined {
  return state.run && !isOver(state.run) ? state.run : undefined;
}

export function stepIdOf(run: RunState): string {
  return `${run.id}-turn-${run.turn}`;
}

type InForce = Omit<Overrides, 'model'> &
  Required<Pick<Overrides, 'strategy' | 'atLimit' | 'limits' | 'threadLimits'>> & {
    /** The model for the next call. */
    model?: string;
    /** The models to use if it fails, in order. */
    fallbackModels: string[];
  };

/** Returns the settings in force: the run's over the thread's, and those over the agent's. */
export function inForce(state: ThreadState): InForce {
  const { facts, overrides, run } = state;
  const own = run?.overrides ?? {};
  const [model, ...fallbackModels] = modelsOf(state).slice(run?.modelsFailed ?? 0);
  const tools = [...(overrides.tools ?? []), ...(own.tools ?? [])];
  const settings = overrides.settings || own.settings ? { ...overrides.settings, ...own.settings } : undefined;
  return {
    strategy: own.strategy ?? overrides.strategy ?? facts?.strategy ?? 'by-effect',
    atLimit: own.atLimit ?? overrides.atLimit ?? facts?.atLimit ?? 'stop',
    limits: { ...facts?.limits, ...overrides.limits, ...own.limits, ...run?.extended },
    threadLimits: { ...facts?.threadLimits, ...overrides.threadLimits, ...state.extended },
    ...(model !== undefined && { model }),
    fallbackModels,
    ...(settings && { settings }),
    ...(tools.length > 0 && { tools }),
  };
}

/** Enough for the results of almost every answer. With more, a worker queries messages that its cache could have placed. */
const mostRecent = 40;

export function transcriptRef(state: ThreadState): TranscriptRef {
  const { messages, epoch, hash } = state;
  // The messages from the last answer on: the answer, results, user messages. A worker that produced them can put them in order by these.
  const since = messages.findLastIndex((m) => m.role === 'assistant');
  const recent = messages.slice(Math.max(since, messages.length - mostRecent, 0)).map(tokenOf);
  return { epoch, length: messages.length, hash, recent };
}

/** All models, the first included. Models of the run or the thread replace the agent's list. */
function modelsOf({ facts, overrides, run }: ThreadState): readonly string[] {
  const asked = run?.overrides?.model ?? overrides.model;
  if (asked !== undefined) return typeof asked === 'string' ? [asked] : asked;
  return facts ? [facts.model, ...(facts.fallbackModels ?? [])] : [];
}
