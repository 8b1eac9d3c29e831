import type { AgentFacts, ModelSettings } from '../core/agent';
import type { Attestation, RememberedRule, SignableRequest, SignedIn } from '../core/attestation';
import type { ContextMeasure } from '../core/context/budget';
import type { FailedAttempt } from '../core/failure';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import type { Json } from '../core/json';
import type { AnswerPart, FinishReason, Message, ToolCall, Usage } from '../core/message';
import type { QuestionAnswer } from '../core/questions';
import type { AskPolicy, CheckedCall, ExtraTool, PermissionRule, ToolError, ToolOutcome, Verdict } from '../core/tool';
import type { TranscriptRef } from '../core/transcript';
import type { Waste } from '../core/waste';
import type { ClosedThread } from './thread';

/** The activities of a thread. Thread id and execution come from the activity's context. Requests do not repeat the transcript's messages. */
export interface Activities {
  /** Returns what the run needs to know about its agent. Fails with `UnknownAgent` if this worker does not have it. */
  resolveAgent(request: { agent: string }): Promise<AgentFacts>;
  callModel(request: CallModelRequest): Promise<ModelStep>;
  runTool(request: RunToolRequest): Promise<ToolStep>;
  /** Compensates a call of a `saga` tool. */
  compensateTool(request: CompensateRequest): Promise<CompensationStep>;
  /** Checks edited arguments against their tool. Returns what is wrong with them, or the call's digest and the policy for an approval. */
  checkArguments(request: CheckArgumentsRequest): Promise<{ error?: ToolError; approval?: AskPolicy } & CheckedCall>;
  /** Verifies a signature. Returns who signed and the statement, or `refused` with the reason. */
  verifyDecision(request: VerifyDecisionRequest): Promise<{ refused: string } | { by: string; groups?: string[]; statement: string }>;
  /** Runs the hooks of one name, in order. Fails with a non-retryable `HookFailed` if a hook with the failure mode `fail` fails. */
  runHooks<N extends HookName>(request: RunHooksRequest<N>): Promise<HooksStep<N>>;
  /** Stores rules of a decision for all threads of the agent. */
  rememberRules(request: { agent: string; rules: PermissionRule[]; signed?: Attestation }): Promise<void>;
  /** Stores the text of messages that are about to leave the transcript. Returns its reference, if it was stored. */
  archiveMessages(request: ArchiveRequest): Promise<{ ref?: string }>;
  /** Waits for the end of a background call that runs in a workflow of its own. */
  awaitCall(request: { workflowId: string }): Promise<BackgroundEnd>;
  /** Reads what a closed execution of this thread passes on. Fails with `NotReopenable` if it can't be reopened. */
  readClosed(request: { execution: string }): Promise<ClosedThread>;
  /** Requests cancellation of the thread's own workflow. */
  requestCancel(): Promise<void>;
}

export interface ArchiveRequest {
  agent: string;
  transcript: TranscriptRef;
  /** Positions in the transcript: each range from the first on, up to and without the second. */
  ranges: [from: number, end: number][];
}

/** How a background call ended. `lost`: without an outcome, and why. */
export type BackgroundEnd = { outcome: ToolOutcome } | { lost: string };

export interface VerifyDecisionRequest extends Omit<SignedIn, 'threadId'> {
  request: SignableRequest;
}

export interface RunHooksRequest<N extends HookName = HookName> {
  agent: string;
  hook: N;
  input: HookInput[N];
  runId: string;
  turn: number;
  /** Ids of hooks that failed too often and do not run. */
  disabled?: string[];
  /** The transcript that `ctx.messages()` reads. */
  transcript: TranscriptRef;
  earlier?: EarlierAttempts;
}

export interface HooksStep<N extends HookName = HookName> {
  /** All answers merged; later ones win. */
  answer: HookAnswer[N];
  reports: HookReport[];
  /** For arguments that the answer edits: what people who may be asked about the call are shown. */
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
  /** User messages since the last answer, if they are small. No worker has them in its cache. */
  said?: Message[];
  /** Settings for this call. They override the agent's. */
  settings?: ModelSettings;
  /** A call without tools, for a closing text. `prompt` is sent as the last message and does not join the transcript. */
  closing?: { prompt: string };
  /** A call that only summarizes the beginning of the transcript. */
  summary?: SummaryRequest;
  /** Added to the agent's instructions for this call. */
  instructions?: string;
  /** Tools that came with the thread's or the run's input and are executed outside the worker. */
  extraTools?: ExtraTool[];
  /** The names of the tools that the model found, in the order in which it gets them. */
  loadedTools?: string[];
  /** Remembered rules of this thread for calls that need no approval. */
  rules?: PermissionRule[];
  /** The messages from position `from` on, after an earlier attempt could not query them. */
  inline?: { from: number; messages: Message[] };
  earlier?: EarlierAttempts;
}

export interface SummaryRequest {
  /** The number of messages to summarize, from the first on. */
  end: number;
  /** The maximum length of the summary, in tokens. */
  maxTokens: number;
  /** The maximum length of the messages, in tokens, if the window of the model is not the only bound. Beyond it, old outputs are left out first. */
  maxInputTokens?: number;
  charsPerToken: number;
}

export interface ModelStep {
  parts: AnswerPart[];
  /** One verdict for each call of the answer, in order. */
  verdicts: Verdict[];
  finishReason: FinishReason;
  /** Without the counts that are 0. */
  usage: Partial<Usage>;
  /** US dollars, if the model's price is known. */
  costUsd?: number;
  /** How full the model's window was. Absent for closing texts and summaries. */
  context?: ContextMeasure;
  /** The reference of the stored text that a summary replaces, if it was stored. */
  archiveRef?: string;
  /** Why an answer without calls does not fit the agent's output schema. */
  problems?: string[];
  /** The cost of attempts that produced no answer. */
  wasted?: Waste;
  /** The number of the attempt that succeeded. Default: 1. */
  attempt?: number;
  /** Random, so that two attempts can't be confused. */
  token: string;
  failed?: FailedAttempt[];
  durationMs: number;
}

export interface CheckArgumentsRequest {
  agent: string;
  call: ToolCall;
  extraTools?: ExtraTool[];
}

export interface RunToolRequest {
  agent: string;
  runId: string;
  call: ToolCall;
  /** The call needed no approval. Permissions are checked again before it runs, with the thread's remembered rules (`rules`). */
  unasked?: true;
  rules?: RememberedRule[];
  /** For an approved call: the digest of what was shown. The arguments as the tool takes them now must have the same digest. */
  digest?: string;
  /** The signed approvals of the call. A worker with a verifier verifies them before the call runs. */
  signed?: Attestation[];
  /** For a background call: the thread that it belongs to. Its workflow has another id. */
  threadId?: string;
  /** Who edited the arguments, if anyone did. */
  edited?: 'person' | 'hook';
  /** The call must not run twice. The worker does not reliably receive the retry policy, so the request says it too. */
  once?: true;
  /** Before another attempt, the tool's probe is asked. The tool may have had another effect when the call was made. */
  verify?: true;
  /** For the tool that changes it: the thread's plan as text. */
  plan?: string;
  /** How many bytes of images and files the result may contain, if the answer has many calls. */
  mediaBytes?: number;
  /** The answers to questions of the call so far, in order. Absent: the call can't ask people. */
  answers?: QuestionAnswer[];
  /** An attempt in an earlier activity may have begun. */
  begun?: true;
  earlier?: EarlierAttempts;
}

export interface CompensateRequest extends Pick<RunToolRequest, 'agent' | 'runId' | 'call' | 'rules' | 'signed' | 'edited' | 'earlier'> {
  /** What the tool returned, if that is known. */
  output?: Json;
}

export interface CompensationStep {
  /** Why it failed for good. */
  failed?: string;
  attempts: number;
  durationMs: number;
}

export interface ToolStep {
  /** The id of the result message. */
  messageId: string;
  outcome: ToolOutcome;
}

/** The number of attempts in earlier schedulings of a step, and the progress that they left. */
export interface EarlierAttempts {
  attempts: number;
  left?: Partial<StepProgress>;
}

/** The details in a step's heartbeats, for readers in other processes and for the next attempt. */
export interface StepProgress {
  runId: string;
  messageId?: string;
  toolCallId?: string;
  /** The tool's name. */
  name?: string;
  turn?: number;
  attempt: number;
  /** The text so far (of a long text its end), or a tool's newest progress. Only if the worker puts it into heartbeats. */
  text?: string;
  /** How often the worker does that, in milliseconds. */
  liveMs?: number;
  /** Attempts that failed before this one, and the maximum number of attempts. */
  failed?: FailedAttempt[];
  maxAttempts?: number;
  /** The cost of earlier attempts at a model call (`wasted`), and of this one so far (`spending`). */
  wasted?: Waste;
  spending?: Waste;
  /** How often the tool has thrown so far. */
  throws?: number;
  /** When the first attempt began, in milliseconds since 1970. The retry window begins then. */
  began?: number;
}

/** Failure types of activities in addition to the failure kinds of model calls. */
export const failureTypes = {
  unknownAgent: 'UnknownAgent',
  hookFailed: 'HookFailed',
  invalidInput: 'InvalidInput',
  /** The transcript could not be queried; `details[0]` is the position of the first missing message. */
  transcriptUnavailable: 'TranscriptUnavailable',
  /** The attempt was interrupted in the middle: the worker shut down, or an operator paused or reset the activity. */
  workerShutdown: 'WorkerShutdown',
  /** A step's result is larger than a thread can store. The same code as of a model's failure of that kind. */
  tooLarge: 'too-large',
  /** The instructions and tools alone don't fit into the model's context window. */
  windowTooSmall: 'window-too-small',
  /** A step's result can't be serialized as JSON. */
  notJson: 'NotJson',
  /** The attempt was over for the server, or might have been, before it began on the worker. */
  beganTooLate: 'BeganTooLate',
  /** The workflow cancelled the step, but the server did not confirm it, because the workflow task was lost. */
  stopNotConfirmed: 'StopNotConfirmed',
  /** The worker does not have the key of an encrypted payload, so the step did not begin. */
  keyUnavailable: 'EncryptionKeyUnavailable',
  /** The thread can't be reopened: it is not a closed conversation, or the server no longer retains it. */
  notReopenable: 'NotReopenable',
  /** A query was asked with an argument that it does not take. */
  queryRefused: 'QueryRefused',
} as const;
