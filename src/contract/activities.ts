import type { AgentFacts, ModelSettings } from '../core/agent';
import type { SignableRequest, SignedIn } from '../core/attestation';
import type { FailedAttempt } from '../core/failure';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import type { JsonObject } from '../core/json';
import type { FinishReason, Message, ToolCall, Usage } from '../core/message';
import type { CheckedCall, PermissionRule, ToolError, ToolOutcome, ToolSpec, Verdict } from '../core/tool';
import type { TranscriptRef } from '../core/transcript';
import type { Waste } from '../core/waste';

/** The side effects of a thread. Thread and execution are the activity's own; nothing here repeats what the transcript holds. */
export interface Activities {
  /** What the run needs to know of its agent. Fails with `UnknownAgent` where this worker does not have it. */
  resolveAgent(request: { agent: string }): Promise<AgentFacts>;
  callModel(request: CallModelRequest): Promise<ModelStep>;
  runTool(request: RunToolRequest): Promise<ToolStep>;
  /** Whether edited arguments fit their tool: what is wrong with them, or what stands for them. */
  checkArguments(request: { agent: string; call: ToolCall; extraTools?: ToolSpec[] }): Promise<{ error?: ToolError } & CheckedCall>;
  /** Who signed a decision, and what exactly; or why the signature does not count. */
  verifyDecision(request: VerifyDecisionRequest): Promise<{ refused: string } | { by: string; groups?: string[]; statement: string }>;
  /** The hooks of one name, in their order. Fails for good with `HookFailed` where one fails whose failure mode is `fail`. */
  runHooks<N extends HookName>(request: RunHooksRequest<N>): Promise<HooksStep<N>>;
  /** Keeps what a decision asked to remember for every thread of the agent. */
  rememberRules(request: { agent: string; rules: PermissionRule[] }): Promise<void>;
  /** Asks the server to cancel the thread's own workflow. */
  requestCancel(): Promise<void>;
}

export interface VerifyDecisionRequest extends Omit<SignedIn, 'threadId'> {
  request: SignableRequest;
}

export interface RunHooksRequest<N extends HookName = HookName> {
  agent: string;
  hook: N;
  input: HookInput[N];
  runId: string;
  turn: number;
  /** Ids of hooks that failed too often and are left out. */
  disabled?: string[];
  /** What `ctx.messages()` reads. */
  transcript: TranscriptRef;
  earlier?: EarlierAttempts;
}

export interface HooksStep<N extends HookName = HookName> {
  /** All answers merged, the later over the earlier. */
  answer: HookAnswer[N];
  reports: HookReport[];
  /** Of arguments that the answer puts in the place of the model's, where somebody may be asked about them. */
  checked?: CheckedCall;
}

export interface CallModelRequest {
  agent: string;
  model: string;
  runId: string;
  turn: number;
  /** The id that the answer will have. */
  messageId: string;
  transcript: TranscriptRef;
  /** The newest messages of the transcript that no worker made, where they are small: what a person has just said. */
  said?: Message[];
  /** The run's own; they win over the agent's. */
  settings?: ModelSettings;
  /** No tools: the words are wanted. `prompt` is said to the model last, and not kept. */
  closing?: { prompt: string };
  /** Added to the agent's instructions, for this call. */
  instructions?: string;
  /** Tools that were given with the run's input, answered from outside. */
  extraTools?: ToolSpec[];
  /** Calls that need no approval in this thread, because someone said so. */
  rules?: PermissionRule[];
  /** The messages from `from` on, where an earlier attempt could not ask for them. */
  inline?: { from: number; messages: Message[] };
  earlier?: EarlierAttempts;
}

export interface ModelStep {
  text: string;
  refusal?: string;
  calls: { call: ToolCall; verdict: Verdict }[];
  finishReason: FinishReason;
  usage: Usage;
  /** Where the price of the model is known. */
  costUsd?: number;
  /** Why an answer without calls does not fit the schema that the agent wants of it. */
  problems?: string[];
  opaque?: JsonObject;
  /** Of attempts before the one that succeeded. */
  wasted?: Waste;
  /** The attempt that succeeded. */
  attempt: number;
  /** Random, so that two attempts never pass for each other. */
  token: string;
  failed?: FailedAttempt[];
  durationMs: number;
}

export interface RunToolRequest {
  agent: string;
  runId: string;
  call: ToolCall;
  /** Nobody was asked about it. It is judged again before it runs, by what people had remembered in this thread (`rules`). */
  unasked?: true;
  rules?: PermissionRule[];
  /** Whose the arguments are, where they are not the model's. */
  edited?: 'person' | 'hook';
  /** It must not run twice. Said here too, because a worker is not reliably told of the retry policy. */
  once?: true;
  earlier?: EarlierAttempts;
}

export interface ToolStep {
  /** The id of the message that tells the model of it. */
  messageId: string;
  outcome: ToolOutcome;
}

/** Attempts at a step that an earlier scheduling used up, and what the last of them left. */
export interface EarlierAttempts {
  attempts: number;
  left?: Partial<StepProgress>;
}

/** What heartbeats carry while a step is under way: enough for a reader without a side channel, and for the next attempt. */
export interface StepProgress {
  runId: string;
  messageId?: string;
  toolCallId?: string;
  /** Of the tool. */
  name?: string;
  turn?: number;
  attempt: number;
  /** The text so far, its newest end where it is long; of a tool, its newest progress. Only where the worker puts it into heartbeats. */
  text?: string;
  /** How often that worker does so, in milliseconds. */
  liveMs?: number;
  /** Attempts that failed before this one, and how many there may be. */
  failed?: FailedAttempt[];
  maxAttempts?: number;
  /** What attempts at a model call before this one have cost, and this one so far. */
  wasted?: Waste;
  spending?: Waste;
  /** How often the tool threw before this attempt. */
  throws?: number;
  /** When the first attempt began, in milliseconds since 1970: the retry window is counted from it. */
  began?: number;
}

/** Failure types that the workflow knows beyond the failure kinds of model calls. */
export const failureTypes = {
  unknownAgent: 'UnknownAgent',
  hookFailed: 'HookFailed',
  invalidInput: 'InvalidInput',
  /** The transcript could not be asked for; `details[0]` is the position from which it is missing. */
  transcriptUnavailable: 'TranscriptUnavailable',
  /** A draining worker gave up on a `once` call in the middle. */
  workerShutdown: 'WorkerShutdown',
  /** What a step made is larger than a thread can hold. */
  tooLarge: 'TooLarge',
  /** What a step made can't be written as JSON. */
  notJson: 'NotJson',
  /** The attempt was over for the server before it began here. */
  beganTooLate: 'BeganTooLate',
  /** The workflow cancelled the step, and the server never heard of it: the workflow task was lost. */
  stopNotConfirmed: 'StopNotConfirmed',
} as const;
