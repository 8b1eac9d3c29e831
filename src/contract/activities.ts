import type { AgentFacts, ModelSettings } from '../core/agent';
import type { FailedAttempt } from '../core/failure';
import type { JsonObject } from '../core/json';
import type { FinishReason, Message, ToolCall, Usage } from '../core/message';
import type { ToolError, ToolOutcome, Verdict } from '../core/tool';
import type { TranscriptRef } from '../core/transcript';

/** The side effects of a thread. Thread and execution are the activity's own; nothing here repeats what the transcript holds. */
export interface Activities {
  /** What the run needs to know of its agent. Fails for good with `UnknownAgent`. */
  resolveAgent(request: { agent: string }): Promise<AgentFacts>;
  callModel(request: CallModelRequest): Promise<ModelStep>;
  runTool(request: RunToolRequest): Promise<ToolStep>;
  /** Whether edited arguments fit their tool: what is wrong with them, or nothing. */
  checkArguments(request: { agent: string; call: ToolCall }): Promise<{ error?: ToolError }>;
  /** Asks the server to cancel the thread's own workflow. */
  requestCancel(): Promise<void>;
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
  /** The messages from `from` on, where an earlier attempt could not ask for them. */
  inline?: { from: number; messages: Message[] };
}

export interface ModelStep {
  text: string;
  refusal?: string;
  calls: { call: ToolCall; verdict: Verdict }[];
  finishReason: FinishReason;
  usage: Usage;
  opaque?: JsonObject;
  /** The attempt that succeeded. */
  attempt: number;
  failed?: FailedAttempt[];
  durationMs: number;
}

export interface RunToolRequest {
  agent: string;
  runId: string;
  call: ToolCall;
  /** The arguments are a person's, not the model's. */
  edited?: true;
}

export interface ToolStep {
  /** The id of the message that tells the model of it. */
  messageId: string;
  outcome: ToolOutcome;
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
  /** The text so far, its newest end where it is long. */
  text?: string;
  /** Attempts that failed before this one, and how many there may be. */
  failed?: FailedAttempt[];
  maxAttempts?: number;
  /** How often the tool threw before this attempt. */
  throws?: number;
  /** When the first attempt began, in milliseconds since 1970: the retry window is counted from it. */
  began?: number;
}

/** Failure types that the workflow knows beyond the failure kinds of model calls. */
export const failureTypes = {
  unknownAgent: 'UnknownAgent',
  invalidInput: 'InvalidInput',
  /** The transcript could not be asked for; `details[0]` is the position from which it is missing. */
  transcriptUnavailable: 'TranscriptUnavailable',
  /** A draining worker gave up on a `once` call in the middle. */
  workerShutdown: 'WorkerShutdown',
} as const;
