import type { LimitName } from './agent';
import type { Attestation } from './attestation';
import type { ContextMeasure } from './context/budget';
import type { FailedAttempt } from './failure';
import type { HookName } from './hooks';
import type { JsonObject } from './json';
import type { AssistantMessage, Content, FinishReason, Message, OutputRef, ToolCall, Usage, UserMessage } from './message';
import type { AnswerAction, QuestionSchema, ToolQuestion } from './questions';
import type { RefusalCode } from './refusal';
import type { CheckedCall, PermissionRule, ToolError, ToolOutcome } from './tool';
import type { Waste } from './waste';

/**
 * The durable events of a thread with their data. Names follow the Assistants API if it has one for the event.
 * Each event has a `seq`: per thread, from 1, without gaps, across runs, retries and continue-as-new.
 */
export interface DurableEventData {
  /** A run begins with these messages. */
  'agent.run.created': { status: 'in_progress'; initialMessages: Message[] };
  'agent.run.status.changed': { status: RunStatus; previousStatus: RunStatus | null; details?: string };
  /** A turn begins: one model call and its tool calls. */
  'agent.run.step.created': { stepId: string; turn: number };
  /** A message joined the transcript. With `inProgress`, the model is about to write the message, and its text arrives as deltas. */
  'thread.message.created': { stepId?: string; message: Message; inProgress?: true };
  /** The model's message is complete. `attempts` lists the attempts that failed before it, each with its wait. */
  'thread.message.completed': {
    stepId: string;
    message: AssistantMessage;
    finishReason: FinishReason;
    usage: Usage;
    model: string;
    durationMs: number;
    /** US dollars, if the model's price is known. */
    costUsd?: number;
    /** How full the model's window was. */
    context?: ContextMeasure;
    attempts?: FailedAttempt[];
    /** The cost of attempts that produced no answer. Not included in `usage` and `costUsd`. */
    wasted?: Waste;
    /** Why the answer does not fit the agent's output schema. */
    problems?: string[];
  };
  /** The model's message was begun and will not be completed: the call failed, was cancelled, or was aborted for a message that could not wait. */
  'thread.message.incomplete': {
    stepId: string;
    messageId: string;
    reason: 'failed' | 'cancelled' | 'superseded';
    /** What it cost nevertheless. */
    spent?: SpentOnCall;
  };
  /** A model failed after its retries. `nextModel` of the list is used for the rest of the run. Follows `thread.message.incomplete`. */
  'agent.llm.fallback': { stepId: string; model: string; nextModel: string; code: string; message: string };
  'thread.run.step.tool_call.created': { stepId: string; toolCall: Pick<ToolCall, 'id' | 'name'> };
  'thread.run.step.tool_call.completed_by_llm': { stepId: string; toolCall: ToolCall };
  'agent.tool.execution.started': { stepId: string; toolCallId: string; name: string };
  /** The outcome of a call; `output` is what the model will see. A call that never ran has no `started` event. */
  'agent.tool.execution.completed': {
    stepId: string;
    toolCallId: string;
    name: string;
    status: ToolOutcome['status'];
    isError: boolean;
    messageId: string;
    output: Content;
    /** Where the whole output is, if the worker stores outputs. */
    outputRef?: OutputRef;
    error?: ToolError;
    durationMs?: number;
    attempts?: number;
    /** The call continues in the background; `agent.tool.background.completed` has its result. */
    background?: true;
    /** Who answered a question, or a call that is executed outside the worker. */
    by?: string;
    signed?: Attestation;
  };
  /** A call found tools, which the model gets from its next call on. `unloaded`: it does not get these any more, because it has too many. */
  'agent.tools.loaded': { toolCallId: string; tools: string[]; unloaded?: string[] };
  /** Nobody knows whether the call was carried out, and a person is asked to settle it. `message` says why. */
  'agent.tool.outcome.unknown': { toolCallId: string; name: string; message: string };
  /** A person settled an unknown outcome. `not-done`: the call runs again. Otherwise its outcome follows. */
  'agent.tool.outcome.settled': { toolCallId: string; outcome: Settlement; by?: string; signed?: Attestation; reason?: string };
  /** A call ended at a question of its tool, such as an elicitation of an MCP server (`from`), and waits until a person answers. */
  'agent.tool.question.asked': {
    toolCallId: string;
    name: string;
    questionId: string;
    from: string;
    message: string;
    /** The form to fill in. */
    schema?: QuestionSchema;
    /** Instead of a form: the address to visit. */
    url?: string;
    users?: string[];
    groups?: string[];
    /** ISO 8601, UTC. */
    dueAt?: string;
  };
  /** The question was answered, or its deadline passed (`source`). The call runs again, and its tool gets the answer. */
  'agent.tool.question.answered': {
    toolCallId: string;
    questionId: string;
    action: AnswerAction;
    content?: JsonObject;
    by?: string;
    signed?: Attestation;
    source?: 'deadline';
  };
  /** The run did not succeed, and a call of a `saga` tool is being compensated. */
  'agent.tool.compensation.started': { toolCallId: string; name: string };
  'agent.tool.compensation.completed': { toolCallId: string; name: string; attempts: number; durationMs: number };
  /** The compensation failed for good: a person has to look at it. */
  'agent.tool.compensation.failed': { toolCallId: string; name: string; message: string; attempts?: number };
  /** The outcome of a background call. `message` passes it to the model. */
  'agent.tool.background.completed': {
    toolCallId: string;
    name: string;
    status: ToolOutcome['status'];
    isError: boolean;
    message: Message;
    outputRef?: OutputRef;
    error?: ToolError;
    durationMs?: number;
  };
  /**
   * People must approve the call before it runs. `arguments` is present if the model wrote them differently from how the tool takes them, and
   * is what people are shown: in the tool's order, with its defaults, and without arguments that the tool does not know.
   */
  'agent.approval.requested': { stepId: string; toolCall: ToolCall; arguments?: string } & AskDetails;
  /** One of several required people approved; `outstanding` more must. */
  'agent.approval.voted': { toolCallId: string; by: string; signed?: Attestation; reason?: string; outstanding: number };
  /** The deadline passed: the people of `groups` are asked, or the same people again. */
  'agent.approval.escalated': { toolCallId: string; groups?: string[]; dueAt?: string };
  /**
   * `source`: decided without a person. `editedArguments` replace the model's; `arguments` is present if the tool takes them differently, with its
   * defaults, as in `agent.approval.requested`. `signed`: what `by` signed, if the worker requires it.
   */
  'agent.approval.decided': {
    toolCallId: string;
    approved: boolean;
    by?: string;
    signed?: Attestation;
    reason?: string;
    editedArguments?: string;
    arguments?: string;
    /** The digest of the call with the edited arguments; see `AskDetails`. */
    digest?: string;
    source?: 'deadline' | 'hook';
    /** These calls need no approval in this thread from now on. */
    remembered?: PermissionRule[];
    /** A refusal that ends the run. */
    stop?: true;
  };
  /** Nobody answered a question, or a call that is executed outside the worker, by its deadline. */
  'agent.input.expired': { toolCallId: string };
  /** A limit is reached, and a person is asked to raise it. */
  'agent.limit.reached': { id: string; limit: LimitName; max: number; scope: 'run' | 'thread' };
  /** These calls are not run by the worker: the client that waits for the run submits their outputs. */
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
  /** No model call and no tool call begins until the run is resumed. */
  'agent.run.paused': { reason: string; by?: string };
  'agent.run.resumed': { by?: string; reason?: string };
  /** The run waits until someone replies, or until `expiresAt`. */
  'agent.run.suspended': { correlationId: string; expiresAt: string; metadata?: JsonObject; output: string };
  /** Hooks ran. `ignored`: which part of their answer was ignored, and why. `errors`: hooks that failed; `disabled`: too often in a row. */
  'agent.hook.completed': {
    hook: HookName;
    toolCallId?: string;
    durationMs: number;
    /** What they changed: keys of their merged answer. */
    answered?: string[];
    /** The arguments that replace the model's, as JSON. */
    editedArguments?: string;
    /** What people who are asked about the call are shown of these arguments. */
    checked?: CheckedCall;
    ignored?: string;
    errors?: { id: string; message: string; consecutive: number; disabled?: true }[];
  };
  /** The run waits until someone outside acts. No other event has this meaning. */
  'thread.run.requires_action': { pending: PendingCall[] };
  /** A message is queued. The run takes it in at its next turn; if no run is active, it begins the next run immediately. */
  'thread.message.queued': { message: Message; delivery?: Delivery };
  /** An accepted message will not be taken in; `reason` says why. */
  'thread.message.superseded': { messageId: string; message: Message; reason: string };
  /** A conversation accepts no more messages. */
  'thread.closed': { reason: 'requested' | 'idle' | 'cancelled' };
  /** A closed conversation accepts messages again. */
  'thread.reopened': { reason?: string; by?: string };
  /** A request was accepted that changes nothing yet: the transcript is shortened at the next turn, the run is cancelled when it begins. */
  'agent.request.accepted': { request: string; reason?: string; by?: string };
  /** A signal was rejected. It changed nothing. */
  'agent.request.rejected': { request: string; code: RefusalCode; reason: string };
  /** A model call that summarizes older parts of the transcript begins. `thread.context.compacted` or `thread.context.kept` follows. */
  'thread.context.compaction.started': { stepId: string; reason: CompactionReason };
  /** Older parts of the transcript were removed: outputs cleared, messages dropped, or messages replaced by a summary. */
  'thread.context.compacted': {
    reason: CompactionReason | 'carry-over';
    prunedOutputs: number;
    droppedMessages: number;
    /** Messages that are too long for the window and of which only the beginning and the end are left. */
    cutMessages?: number;
    /** Size of the shortened transcript as UTF-8 JSON. */
    bytes: number;
    /** The message that replaced the dropped ones, if a model summarized them. */
    summary?: UserMessage;
    /** The reference of the stored text of what was replaced or dropped, with which the model can read and search it. */
    archiveRef?: string;
    /** What the summary cost. */
    spent?: SpentOnCall;
    /** The model whose provider did it, with the answer before this event. Its cost is part of that answer's. Absent: the engine did it. */
    compactedBy?: string;
    /** Who requested it, and why, if someone did. */
    requestedBy?: string;
    requestReason?: string;
  };
  /**
   * A compaction changed nothing. It was requested, and nothing could be removed: the last turns and small messages are always kept. Or the
   * model call for the summary failed (`failed` says why), and cost `spent`.
   */
  'thread.context.kept': {
    bytes: number;
    reason?: CompactionReason;
    failed?: string;
    spent?: SpentOnCall;
    requestedBy?: string;
    requestReason?: string;
  };
  /** A model call without tools wrote a closing text, at a limit or before the run is suspended. The text is not in the transcript. */
  'agent.run.summarized': {
    stepId: string;
    output: string;
    usage: Usage;
    model: string;
    durationMs: number;
    costUsd?: number;
    attempts?: FailedAttempt[];
    wasted?: Waste;
    /** Why the call failed; `output` is then the engine's text. */
    failed?: string;
  };
  'thread.run.completed': { finalMessages: Message[]; output: string; usage: Usage; turns: number };
  'thread.run.failed': { code: string; message: string; details?: FailureDetails };
  /** A limit ended the run. */
  'thread.run.incomplete': { limit: LimitName; max: number; scope?: 'thread'; message: string; output: string };
  /** `stopped`: a refusal of one of its calls ended it. */
  'thread.run.cancelled': { reason?: string; by?: string; stopped?: true };
  /**
   * `suspended`: no reply came in time. Otherwise the thread was terminated from outside, or timed out. The client supplies that event, because
   * a terminated workflow records nothing.
   */
  'thread.run.expired': { reason: 'terminated' | 'timed-out' | 'suspended'; message: string };
}

/**
 * Why the transcript is shortened. `window`: the model's context window is nearly full. `context-length`: the provider rejected it as too long.
 * `requested`: a client requested it. `messages`: it has more messages than the agent's `maxMessages`.
 */
export type CompactionReason = 'window' | 'context-length' | 'requested' | 'messages';

/** What a person found out about a call whose outcome was unknown. */
export type Settlement = (typeof settlements)[number];
export const settlements = ['done', 'not-done', 'failed'] as const;

/** When a run takes in a message that is sent while it is active. `now` aborts the current model call; `after-run` begins the next run. */
export type Delivery = 'next-turn' | 'now' | 'after-run';

/** What a model call cost. `costUsd` is present if the model's price is known; `attempts` are those that failed before. */
export interface SpentOnCall {
  usage: Usage;
  model: string;
  durationMs: number;
  costUsd?: number;
  attempts?: FailedAttempt[];
  /** The cost of attempts that produced no answer. Not included in `usage` and `costUsd`. */
  wasted?: Waste;
}

/** Who is asked, and by when they must answer. */
export interface AskDetails {
  reason?: string | undefined;
  users?: string[] | undefined;
  groups?: string[] | undefined;
  approvers?: number | undefined;
  /** ISO 8601, UTC. */
  dueAt?: string | undefined;
  /** The calls that need no approval any more after a decision with `remember`. */
  remember?: PermissionRule[] | undefined;
  /**
   * For an approval: identifies thread, call, tool and arguments, so that a decision can say what it decides. The beginning of a SHA-256
   * over them.
   */
  digest?: string | undefined;
}

/** Details of a failed run: the model, HTTP status, attempts made and maximum number of attempts of a model call, or the limit reached. */
export interface FailureDetails {
  /** The model as requested. */
  model?: string;
  status?: number;
  attempts?: FailedAttempt[];
  maxAttempts?: number;
  /** The limit that was reached, if that is the cause. */
  limit?: LimitName;
}

/** Live events. They are not part of the log, have no `seq` and are not stored. */
export interface EphemeralEventData {
  /** An `attempt` above 1 starts the message again: earlier deltas of the same message are void. */
  'thread.message.delta': {
    messageId: string;
    turn: number;
    attempt: number;
    index: number;
    contentChunk?: string;
    reasoningChunk?: string;
    toolCallsChunk?: { index: number; id?: string; name?: string; arguments?: string }[];
    /** The first delta of a repeated attempt. */
    restart?: true;
    /** `contentChunk` is the text so far (newest 32,000 characters), not an addition: for readers in other processes or that join late. */
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

interface PendingKindFacts {
  /** Whether it is a call of a tool, with arguments. */
  isCall: boolean;
  /** The request that answers it. */
  answeredBy: 'approve' | 'submitToolOutputs' | 'answerQuestion' | 'settle' | 'sendMessage';
}

export const pendingKinds = {
  approval: { isCall: true, answeredBy: 'approve' },
  output: { isCall: true, answeredBy: 'submitToolOutputs' },
  question: { isCall: true, answeredBy: 'submitToolOutputs' },
  'tool-question': { isCall: true, answeredBy: 'answerQuestion' },
  outcome: { isCall: true, answeredBy: 'settle' },
  limit: { isCall: false, answeredBy: 'approve' },
  reply: { isCall: false, answeredBy: 'sendMessage' },
} as const satisfies Record<PendingCall['kind'], PendingKindFacts>;

/**
 * Something that waits for someone outside: a call that needs an approval, an output, (if it is a question) an answer or an outcome; or a run that needs a
 * higher limit or a reply.
 */
export interface PendingCall extends AskDetails {
  kind: 'approval' | 'output' | 'question' | 'tool-question' | 'outcome' | 'limit' | 'reply';
  /** The id to answer with: the call's id; for `limit` the id of the request, for `reply` the correlation id. */
  toolCallId: string;
  /** The name of the tool or the limit; for a reply `reply`. */
  name: string;
  arguments: string;
  /** ISO 8601, UTC. */
  since?: string;
  /** For `tool-question`: what the tool asks. */
  question?: ToolQuestion;
  /** Who has approved so far, if several must. */
  votes?: string[];
  /** Only a signed answer counts. */
  signed?: true;
  /** The thread's agent, where a client returns the call. */
  agent?: string;
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
/** A live event: it is not in the log, and has no `seq`. */
export type EphemeralEvent<T extends EphemeralEventType = EphemeralEventType> = { [K in T]: Envelope<K> & { seq?: undefined } }[T];
export type AgentEvent = DurableEvent | EphemeralEvent;

/** The events that end a run, with the run's final status. */
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
  return event.seq !== undefined;
}
