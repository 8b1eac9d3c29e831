import type { LimitName } from './agent';
import type { Attestation } from './attestation';
import type { FailedAttempt } from './failure';
import type { HookName } from './hooks';
import type { JsonObject } from './json';
import type { AssistantMessage, Content, FinishReason, Message, ToolCall, Usage } from './message';
import type { CheckedCall, PermissionRule, ToolError, ToolOutcome } from './tool';
import type { Waste } from './waste';

/**
 * Everything that can happen in a thread. The names are the Assistants API's where it has one.
 * Durable events carry `seq`: per thread, from 1, without gaps, across runs, retries and continue-as-new.
 */
export interface DurableEventData {
  /** A run begins with these messages. */
  'agent.run.created': { status: 'in_progress'; initialMessages: Message[] };
  'agent.run.status.changed': { status: RunStatus; previousStatus: RunStatus | null; details?: string };
  /** A turn begins: one model call and its tool calls. */
  'agent.run.step.created': { stepId: string; turn: number };
  /** A message joined the transcript; or, with `inProgress`, the model is about to write it and its text comes as deltas. */
  'thread.message.created': { stepId?: string; message: Message; inProgress?: true };
  /** The model's message is whole. `attempts` lists the attempts that failed before, with what each waited. */
  'thread.message.completed': {
    stepId: string;
    message: AssistantMessage;
    finishReason: FinishReason;
    usage: Usage;
    model: string;
    durationMs: number;
    /** Where the model's price is known. */
    costUsd?: number;
    attempts?: FailedAttempt[];
    /** What attempts cost that came to nothing; beside `usage` and `costUsd`. */
    wasted?: Waste;
    /** Why an answer does not fit the schema that the agent wants of it. */
    problems?: string[];
  };
  /** The model's message was announced and will not be whole: the call failed, was cancelled, or made way for a message that could not wait. */
  'thread.message.incomplete': {
    stepId: string;
    messageId: string;
    reason: 'failed' | 'cancelled' | 'superseded';
    /** What it cost all the same. */
    spent?: SpentOnCall;
  };
  'thread.run.step.tool_call.created': { stepId: string; toolCall: Pick<ToolCall, 'id' | 'name'> };
  'thread.run.step.tool_call.completed_by_llm': { stepId: string; toolCall: ToolCall };
  'agent.tool.execution.started': { stepId: string; toolCallId: string; name: string };
  /** What came of a call; `output` is what the model will see. A call that never ran has no `started` before. */
  'agent.tool.execution.completed': {
    stepId: string;
    toolCallId: string;
    name: string;
    status: ToolOutcome['status'];
    isError: boolean;
    messageId: string;
    output: Content;
    error?: ToolError;
    durationMs?: number;
    attempts?: number;
    /** The call goes on behind this result; what comes of it is told later. */
    background?: true;
    /** Who answered, of a question or a call that is executed outside. */
    by?: string;
    signed?: Attestation;
  };
  /** What came of a call whose result the model did not wait for; it reaches the model as a message. */
  'agent.tool.background.completed': {
    toolCallId: string;
    name: string;
    status: ToolOutcome['status'];
    isError: boolean;
    message: Message;
    error?: ToolError;
    durationMs?: number;
  };
  /**
   * A person must agree before the call runs. `arguments`: as the tool takes them, which is what a person is shown, where the model wrote
   * them otherwise: without those that the tool does not know, in the tool's order, with its defaults.
   */
  'agent.approval.requested': { stepId: string; toolCall: ToolCall; arguments?: string } & Asked;
  /** One of several people who must agree did. */
  'agent.approval.voted': { toolCallId: string; by: string; signed?: Attestation; reason?: string; outstanding: number };
  /** The deadline passed: others are asked, or the same again. */
  'agent.approval.escalated': { toolCallId: string; groups?: string[]; dueAt?: string };
  /** `source`: no person did. `editedArguments` take the place of the model's. `signed`: what `by` signed, where the worker demands it. */
  'agent.approval.decided': {
    toolCallId: string;
    approved: boolean;
    by?: string;
    signed?: Attestation;
    reason?: string;
    editedArguments?: string;
    /** Of the edited arguments; see `Asked`. */
    digest?: string;
    source?: 'deadline' | 'hook';
    /** These calls need no approval in this thread from now on. */
    remembered?: PermissionRule[];
    /** A refusal that ends the run. */
    stop?: true;
  };
  /** Nobody answered by the deadline: what became of a question, or of a call that is executed outside. */
  'agent.input.expired': { toolCallId: string };
  /** A limit is reached, and a person is asked for more. */
  'agent.limit.reached': { id: string; limit: LimitName; max: number; scope: 'run' | 'thread' };
  /** These calls are not run here any more: whoever waits for the run submits their outputs. */
  'agent.limit.handed_out': { limit: LimitName; max: number; scope: 'run' | 'thread'; toolCallIds: string[] };
  'agent.limit.extended': {
    id: string;
    limit: LimitName;
    max: number;
    scope: 'run' | 'thread';
    by?: string;
    signed?: Attestation;
    reason?: string;
  };
  /** No model call and no tool begins until it is resumed. */
  'agent.run.paused': { reason: string; by?: string };
  'agent.run.resumed': { by?: string; reason?: string };
  /** The run rests until someone replies, or `expiresAt` has passed. */
  'agent.run.suspended': { correlationId: string; expiresAt: string; metadata?: JsonObject; output: string };
  /** Hooks ran. `ignored`: what of their answer is not followed, and why. `errors`: those that failed; `disabled`, that they did so too often. */
  'agent.hook.completed': {
    hook: HookName;
    toolCallId?: string;
    durationMs: number;
    /** What they changed: keys of their merged answer. */
    answered?: string[];
    /** What takes the place of the model's arguments, as JSON. */
    editedArguments?: string;
    /** Of these: what whoever is asked about the call is shown. */
    checked?: CheckedCall;
    ignored?: string;
    errors?: { id: string; message: string; consecutive: number; disabled?: true }[];
  };
  /** The run rests until someone outside acts; nothing else means this. */
  'thread.run.requires_action': { pending: PendingCall[] };
  /** A message waits to be taken in, at the next turn or, where no run is going, at once. */
  'thread.message.queued': { message: Message; delivery?: Delivery };
  /** A message that was accepted is not taken in, and why. */
  'thread.message.superseded': { messageId: string; message: Message; reason: string };
  /** A conversation takes no more messages. */
  'thread.closed': { reason: 'requested' | 'idle' | 'cancelled' };
  /** A request was accepted that changes nothing yet: the transcript is shortened at the next turn, the run is cancelled when it begins. */
  'agent.request.accepted': { request: string; reason?: string; by?: string };
  /** A signal could not be followed: what was asked and why not. Nothing else changed. */
  'agent.request.rejected': { request: string; reason: string };
  /** Older parts of the transcript made way. */
  'thread.context.compacted': {
    reason: 'carry-over' | 'context-length' | 'requested';
    prunedOutputs: number;
    droppedMessages: number;
    bytes: number;
  };
  /** A model call without tools, for closing words: at a limit, or before the run rests suspended. They are not in the transcript. */
  'agent.run.summarized': {
    stepId: string;
    output: string;
    usage: Usage;
    model: string;
    durationMs: number;
    costUsd?: number;
    attempts?: FailedAttempt[];
    wasted?: Waste;
    /** The call failed, and `output` are words of ours. */
    failed?: string;
  };
  'thread.run.completed': { finalMessages: Message[]; output: string; usage: Usage; turns: number };
  'thread.run.failed': { code: string; message: string; details?: FailureDetails };
  /** A limit ended the run. */
  'thread.run.incomplete': { limit: LimitName; max: number; scope?: 'thread'; message: string; output: string };
  /** `stopped`: a refusal of one of its calls ended it. */
  'thread.run.cancelled': { reason?: string; by?: string; stopped?: true };
  /**
   * `suspended`: no reply came in time. Otherwise the thread was ended from outside, or ran out of its time: written by the client, because
   * a workflow that is terminated records nothing.
   */
  'thread.run.expired': { reason: 'terminated' | 'timed-out' | 'suspended'; message: string };
}

/** When a message that is sent while a run is going is taken in. `now` aborts the model call under way; `after-run` begins the next run. */
export type Delivery = 'next-turn' | 'now' | 'after-run';

/** What a model call cost. `costUsd` where the model's price is known; `attempts`: those that failed before. */
export interface SpentOnCall {
  usage: Usage;
  model: string;
  durationMs: number;
  costUsd?: number;
  attempts?: FailedAttempt[];
  /** What attempts cost that came to nothing; beside `usage` and `costUsd`. */
  wasted?: Waste;
}

/** Who is asked, and until when. */
export interface Asked {
  reason?: string;
  users?: string[];
  groups?: string[];
  approvers?: number;
  /** ISO 8601, UTC. */
  dueAt?: string;
  /** What a decision with `remember` would allow from then on. */
  remember?: PermissionRule[];
  /**
   * Of an approval: stands for thread, call, tool and arguments, so that a decision can say what it is on. A beginning of the SHA-256
   * over them.
   */
  digest?: string;
}

/** Of a run that failed at a model call: the provider's HTTP status, the attempts made, and how many there may be; or at a limit: which. */
export interface FailureDetails {
  /** As it was asked for. */
  model?: string;
  status?: number;
  attempts?: FailedAttempt[];
  maxAttempts?: number;
  /** The limit that was reached, where that is why. */
  limit?: LimitName;
}

/** Live only: they ride beside the log, have no `seq`, and nobody's truth depends on them. */
export interface EphemeralEventData {
  /** `attempt` above 1 begins the message anew: what came before of the same message is void. */
  'thread.message.delta': {
    messageId: string;
    turn: number;
    attempt: number;
    index: number;
    contentChunk?: string;
    reasoningChunk?: string;
    toolCallsChunk?: { index: number; id?: string; name?: string; arguments?: string }[];
    /** The first item of an attempt that is not the first. */
    restart?: true;
    /** `contentChunk` is the text so far (of a long one its newest 32,000 characters), not what was added: for readers in another process, and for those that come late. */
    snapshot?: true;
  };
  'agent.llm.retry': {
    turn: number;
    nextAttempt: number;
    maxAttempts: number;
    delayMs: number;
    delaySource: 'retry-after' | 'backoff';
    failureKind: string;
    message: string;
  };
  'agent.tool.progress': { toolCallId: string; name: string; attempt: number; message: string };
}

export type RunStatus =
  | 'queued'
  | 'in_progress'
  | 'requires_action'
  | 'paused'
  | 'suspended'
  | 'cancelling'
  | 'completed'
  | 'failed'
  | 'incomplete'
  | 'cancelled'
  | 'expired';

/**
 * What waits for someone outside: a call for an agreement, for its output, or, where it is a question, for an answer; a run for more of a
 * limit, or for a reply.
 */
export interface PendingCall extends Asked {
  kind: 'approval' | 'output' | 'question' | 'limit' | 'reply';
  /** By which it is answered: the call's id, or for `limit` and `reply` one of its own. */
  toolCallId: string;
  /** Of the tool; of a limit, the limit's. */
  name: string;
  arguments: string;
  /** ISO 8601, UTC. */
  since?: string;
  /** Who has agreed so far, where several must. */
  votes?: string[];
  /** Only a signed answer counts. */
  signed?: true;
}

export type EventData = DurableEventData & EphemeralEventData;
export type DurableEventType = keyof DurableEventData;
export type EphemeralEventType = keyof EphemeralEventData;

/** The envelope. `runId` is null for what happens between runs. */
interface Envelope<T extends keyof EventData> {
  type: T;
  /** ISO 8601, UTC. */
  timestamp: string;
  threadId: string;
  runId: string | null;
  data: EventData[T];
}

export type DurableEvent<T extends DurableEventType = DurableEventType> = { [K in T]: Envelope<K> & { seq: number } }[T];
export type EphemeralEvent<T extends EphemeralEventType = EphemeralEventType> = { [K in T]: Envelope<K> }[T];
export type AgentEvent = DurableEvent | EphemeralEvent;

/** The events that end a run, and what the run is then. */
export const endStatus = {
  'thread.run.completed': 'completed',
  'thread.run.failed': 'failed',
  'thread.run.incomplete': 'incomplete',
  'thread.run.cancelled': 'cancelled',
  'thread.run.expired': 'expired',
} as const satisfies Partial<Record<DurableEventType, RunStatus>>;

export type TerminalEvent = DurableEvent<keyof typeof endStatus>;

export function isTerminal(event: AgentEvent): event is TerminalEvent {
  return event.type in endStatus;
}

export function isDurable(event: AgentEvent): event is DurableEvent {
  return 'seq' in event;
}
