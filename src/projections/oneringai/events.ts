import type { HookName } from '../../core/hooks';
import type { OneRingError, OneRingItem, OneRingResponse, OneRingToolCall, OneRingToolResult } from './shapes';

/** Facts about the agent that are not in the log, for `execution:start` and `llm:request`. */
export interface OneRingConfig {
  model?: string | undefined;
  instructions?: string | undefined;
  temperature?: number | undefined;
  maxIterations?: number | undefined;
}

interface Turn {
  /** Counts from 0, and is the same whether the run was streamed or awaited. */
  iteration: number;
}

export interface OneRingPayloads {
  'execution:start': { config: OneRingConfig; input: OneRingItem[] };
  'execution:complete': { response: OneRingResponse; duration: number };
  'execution:error': { error: OneRingError };
  'execution:paused': { reason: string };
  'execution:resumed': object;
  'execution:cancelled': { reason: string };
  'execution:retry': { attempt: number; maxAttempts?: number; reason: string; delayMs: number };
  'execution:maxIterations': Turn & { maxIterations: number };
  'execution:suspended': { correlationId: string; sessionId: string; resumeAs: 'user_message'; expiresAt: string; metadata?: object };
  'iteration:start': Turn;
  'iteration:complete': Turn & { response: OneRingResponse; duration: number };
  'llm:request': Turn & { options: { model?: string } };
  'llm:response': Turn & { response: OneRingResponse; duration: number };
  'llm:error': Turn & { error: OneRingError };
  'tool:detected': Turn & { toolCalls: OneRingToolCall[] };
  'tool:start': Turn & { toolCall: OneRingToolCall };
  'tool:complete': Turn & { toolCall: OneRingToolCall; result: OneRingToolResult };
  'tool:error': Turn & { toolCall: OneRingToolCall; error: OneRingError };
  'tool:timeout': Turn & { toolCall: OneRingToolCall; timeout: number };
  'hook:error': { hookName: HookName; error: OneRingError; consecutiveErrors: number };
  'async:tool:started': { toolCallId: string; toolName: string; args: string };
  'async:tool:complete': { toolCallId: string; toolName: string; result: OneRingToolResult; duration: number };
  'async:tool:error': { toolCallId: string; toolName: string; error: OneRingError; duration: number };
  'async:tool:timeout': { toolCallId: string; toolName: string; timeout: number };
}

/** One event of OneRingAI's emitter: `type` is its name, the other fields its payload. Times are ISO 8601, durations milliseconds. */
export type OneRingEvent = {
  [K in keyof OneRingPayloads]: { type: K; executionId: string; timestamp: string } & OneRingPayloads[K];
}[keyof OneRingPayloads];

/** Emits an event. Default of `executionId`: the current execution. */
export type EmitOneRing = <K extends keyof OneRingPayloads>(type: K, payload: OneRingPayloads[K], executionId?: string) => void;
