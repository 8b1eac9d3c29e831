import type { FailedAttempt } from './failure';
import type { AssistantMessage, Content, FinishReason, Message, ToolCall, Usage } from './message';
import type { ToolError, ToolOutcome } from './tool';

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
    attempts?: FailedAttempt[];
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
  };
  /** A person must agree before the call runs. */
  'agent.approval.requested': { stepId: string; toolCall: ToolCall; reason?: string };
  'agent.approval.decided': { toolCallId: string; approved: boolean; by?: string; reason?: string; editedArguments?: string };
  /** The run rests until someone outside acts; nothing else means this. */
  'thread.run.requires_action': { pending: PendingCall[] };
  /** A message waits to be taken in, at the next turn or, where no run is going, at once. */
  'thread.message.queued': { message: Message };
  /** A conversation takes no more messages. */
  'thread.closed': { reason: 'requested' | 'idle' | 'cancelled' };
  /** A signal could not be followed: what was asked and why not. Nothing else changed. */
  'agent.request.rejected': { request: string; reason: string };
  /** Older parts of the transcript made way. */
  'thread.context.compacted': { reason: 'carry-over' | 'context-length'; prunedOutputs: number; droppedMessages: number; bytes: number };
  'thread.run.completed': { finalMessages: Message[]; output: string; usage: Usage; turns: number };
  'thread.run.failed': { code: string; message: string; details?: FailureDetails };
  /** A limit ended the run. */
  'thread.run.incomplete': { limit: 'turns' | 'toolCalls'; max: number; message: string };
  'thread.run.cancelled': { reason?: string; by?: string };
  /** The thread was ended from outside, or ran out of its time: written by the client, because a workflow that is terminated records nothing. */
  'thread.run.expired': { reason: 'terminated' | 'timed-out'; message: string };
}

/** Of a run that failed at a model call: the provider's HTTP status, the attempts made, and how many there may be. */
export interface FailureDetails {
  status?: number;
  attempts?: FailedAttempt[];
  maxAttempts?: number;
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
    /** `contentChunk` is the text so far (of a long one its newest 32,000 characters), not what was added: it comes from heartbeats. */
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
  | 'cancelling'
  | 'completed'
  | 'failed'
  | 'incomplete'
  | 'cancelled'
  | 'expired';

/** A call that waits for someone outside: for an agreement, or for its output. */
export interface PendingCall {
  kind: 'approval' | 'output';
  toolCallId: string;
  name: string;
  arguments: string;
  reason?: string;
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
