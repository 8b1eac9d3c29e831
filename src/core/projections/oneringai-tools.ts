import type { DurableEventData } from '../event';
import { type Content, type ToolCall, textOf } from '../message';
import type { OneRingPayloads } from './oneringai-events';
import type { OneRingError, OneRingToolCall } from './oneringai-shapes';

/** An event's name and payload. */
type Told<K extends keyof OneRingPayloads> = { [T in K]: [type: T, payload: OneRingPayloads[T]] }[K];

interface Span {
  call: ToolCall;
  iteration: number;
  startTime: string;
  endTime: string;
}

export function toolCallOf({ id, name, arguments: text }: ToolCall, more: Partial<OneRingToolCall> = {}): OneRingToolCall {
  return { id, type: 'function', function: { name, arguments: text }, blocking: true, state: 'pending', ...more };
}

/** How a call that was started ends. */
export function toolEnd(
  data: DurableEventData['agent.tool.execution.completed'],
  { call, iteration, ...times }: Span,
): Told<'tool:complete' | 'tool:error' | 'tool:timeout'> {
  const { output: content, durationMs: executionTime } = data;
  const error = toolErrorOf(data);
  const ended = (state: OneRingToolCall['state']) => toolCallOf(call, { state, ...times, ...(error && { error: error.message }) });
  if (data.status === 'timed-out') return ['tool:timeout', { iteration, toolCall: ended('timeout'), timeout: timeoutOf(data) }];
  if (error) return ['tool:error', { iteration, toolCall: ended('failed'), error }];
  const result = { tool_use_id: call.id, content, state: 'completed' as const, ...(executionTime !== undefined && { executionTime }) };
  return ['tool:complete', { iteration, toolCall: ended('completed'), result }];
}

export function backgroundEnd(
  data: DurableEventData['agent.tool.background.completed'],
): Told<'async:tool:complete' | 'async:tool:error' | 'async:tool:timeout'> {
  const { toolCallId, name: toolName, durationMs: duration = 0, message } = data;
  const error = toolErrorOf({ ...data, output: message.content });
  if (data.status === 'timed-out') return ['async:tool:timeout', { toolCallId, toolName, timeout: timeoutOf(data) }];
  if (error) return ['async:tool:error', { toolCallId, toolName, error, duration }];
  const result = { tool_use_id: toolCallId, content: message.content, state: 'completed' as const, executionTime: duration };
  return ['async:tool:complete', { toolCallId, toolName, result, duration }];
}

type Outcome = Pick<DurableEventData['agent.tool.execution.completed'], 'name' | 'status' | 'error' | 'durationMs'>;

/** Why a call has no result, in OneRingAI's words; undefined where it has one. */
export function toolErrorOf({ output, ...outcome }: Outcome & { output: Content }): OneRingError | undefined {
  const { name, status, error } = outcome;
  const message = error?.message ?? textOf(output).replace(/^Error: /, '');
  if (status === 'success') return undefined;
  if (status === 'timed-out') {
    return { name: 'ToolTimeoutError', message: `Tool '${name}' execution timed out after ${timeoutOf(outcome)}ms` };
  }
  if (status === 'denied') return { name: 'ToolRejectedError', message: `Tool rejected: ${message || 'Not approved'}` };
  if (error?.name === 'ToolNotFoundError') {
    return { name: 'ToolNotFoundError', message: `Tool '${name}' not found. Did you register it with the agent?` };
  }
  // Refused before it ran: there was no execution that could fail.
  if (status === 'rejected' || status === 'skipped') return { name: error?.name ?? 'ToolNotExecutedError', message };
  return { name: 'ToolExecutionError', message: `Tool '${name}' execution failed: ${message}` };
}

/** Milliseconds after which a call was stopped: its words say it, and the time that it took is close. */
function timeoutOf({ error, durationMs = 0 }: Pick<Outcome, 'error' | 'durationMs'>): number {
  const [, number, unit] = /after (\d+(?:\.\d+)?) ?(ms|s)\b/.exec(error?.message ?? '') ?? [];
  return number === undefined ? durationMs : Math.round(Number(number) * (unit === 's' ? 1_000 : 1));
}
