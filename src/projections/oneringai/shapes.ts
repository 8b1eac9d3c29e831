import type { DurableEvent, DurableEventData } from '../../core/event';
import { finalKinds, retryableKinds } from '../../core/failure';
import {
  type AnswerPart,
  type Content,
  fileWords,
  type Part,
  toolCallsOf,
  type Usage,
  type UserMessage,
  wordsOf,
} from '../../core/message';

/** A tool call in OneRingAI's format. */
export interface OneRingToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  blocking: boolean;
  state: 'pending' | 'executing' | 'completed' | 'failed' | 'timeout';
  /** ISO 8601, UTC. */
  startTime?: string;
  endTime?: string;
  error?: string;
}

export interface OneRingToolResult {
  tool_use_id: string;
  content: Content;
  state: OneRingToolCall['state'];
  error?: string;
  /** Milliseconds. */
  executionTime?: number;
}

export interface OneRingUsage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  output_tokens_details?: { reasoning_tokens: number };
}

export type OneRingContent =
  | { type: 'output_text'; text: string }
  | { type: 'tool_use'; id: string; name: string; arguments: string }
  | { type: 'input_text'; text: string }
  | { type: 'input_image_url'; image_url: { url: string; detail?: string } };

export interface OneRingItem {
  type: 'message';
  id?: string;
  role: 'user' | 'assistant';
  content: OneRingContent[];
}

/** The result of a model call or of a whole execution. `created_at` is in seconds. */
export interface OneRingResponse {
  id: string;
  object: 'response';
  created_at: number;
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  model: string;
  output: OneRingItem[];
  output_text: string;
  usage: OneRingUsage;
}

/** An error as plain JSON. `retryAfter` is in milliseconds. */
export interface OneRingError {
  name: string;
  message: string;
  code?: string;
  status?: number;
  retryAfter?: number;
}

export function executionIdOf(runId: string): string {
  return `exec_${runId.replace(/^run_/, '')}`;
}

export function usageOf({ inputTokens, outputTokens, reasoningTokens }: Usage): OneRingUsage {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

export function inputItem({ content }: Pick<UserMessage, 'content'>): OneRingItem {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return {
    type: 'message',
    role: 'user',
    content: parts.map(inputPart),
  };
}

function inputPart(part: Part): OneRingItem['content'][number] {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image_url', image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } };
    case 'file':
      return { type: 'input_text', text: fileWords(part) };
  }
}

export function responseOf({ data, timestamp }: DurableEvent<'thread.message.completed'>): OneRingResponse {
  const { message, finishReason, model, usage } = data;
  const status = finishReason === 'length' ? 'incomplete' : finishReason === 'content_filter' ? 'failed' : 'completed';
  return response({ id: message.id, status, model, usage, timestamp }, message.content);
}

export function response(
  { id, status, model, usage, timestamp }: Pick<OneRingResponse, 'id' | 'status' | 'model'> & { usage: Usage; timestamp: string },
  parts: readonly AnswerPart[],
): OneRingResponse {
  const text = wordsOf(parts);
  const content: OneRingContent[] = [
    ...(text ? [{ type: 'output_text' as const, text }] : []),
    ...toolCallsOf(parts).map((call) => ({ type: 'tool_use' as const, id: call.id, name: call.name, arguments: call.arguments })),
  ];
  return {
    id,
    object: 'response',
    created_at: secondsOf(timestamp),
    status,
    model,
    output: content.length > 0 ? [{ type: 'message', id, role: 'assistant', content }] : [],
    output_text: text,
    usage: usageOf(usage),
  };
}

export function secondsOf(timestamp: string): number {
  return Math.floor(Date.parse(timestamp) / 1_000);
}

const providerErrors: Record<string, string> = {
  auth: 'ProviderAuthError',
  'rate-limit': 'ProviderRateLimitError',
  'context-length': 'ProviderContextLengthError',
};

/** The error of a failed run. The code of a failed model call is the kind of the failure. */
export function runError({ code, message, details }: DurableEventData['thread.run.failed']): OneRingError {
  const last = details?.attempts?.at(-1);
  const ofModel = [...retryableKinds, ...finalKinds].some((kind) => kind === code);
  return {
    name: providerErrors[code] ?? (ofModel ? 'ProviderError' : 'Error'),
    message,
    code,
    ...(details?.status !== undefined && { status: details.status }),
    ...(last?.retryAfterMs !== undefined && { retryAfter: last.retryAfterMs }),
  };
}

/** The error that OneRingAI throws at a limit. Times are in milliseconds. */
export function limitError(
  { limit, max, message }: DurableEventData['thread.run.incomplete'],
  spent: { durationMs: number; askedCalls: number; contextTokens: number },
): OneRingError {
  const words = {
    turns: `Max iterations (${max}) reached without completion`,
    wallClockMs: `Execution time limit exceeded: ${spent.durationMs}ms > ${max}ms`,
    toolCalls: `Tool call limit exceeded: ${spent.askedCalls} > ${max}`,
    contextTokens: `Context size limit exceeded: ${spent.contextTokens} > ${max}`,
  } as Partial<Record<typeof limit, string>>;
  return { name: 'Error', message: words[limit] ?? message, code: 'limit_exceeded' };
}
