import type { DurableEventData } from '../../core/event';
import { type Content, shownContent, type ToolCall, textOf } from '../../core/message';
import { unreachable } from '../../core/unreachable';
import type { EmitOneRing, OneRingPayloads } from './events';
import type { OneRingError, OneRingToolCall } from './shapes';

/** An event's name and payload. */
type Told<K extends keyof OneRingPayloads> = { [T in K]: [type: T, payload: OneRingPayloads[T]] }[K];

interface Span {
  call: ToolCall;
  iteration: number;
  startTime: string;
  endTime: string;
}

function toolCallOf({ id, name, arguments: text }: ToolCall, more: Partial<OneRingToolCall> = {}): OneRingToolCall {
  return { id, type: 'function', function: { name, arguments: text }, blocking: true, state: 'pending', ...more };
}

interface CallSoFar {
  call: ToolCall;
  startTime?: string;
  done?: Outcome['status'];
}

/** The calls of an iteration. Each reported start has exactly one reported end. */
export class OneRingCalls {
  #iteration = 0;
  #calls = new Map<string, CallSoFar>();
  /** The execution that began each background call. */
  #behind = new Map<string, string>();

  constructor(readonly emit: EmitOneRing) {}

  begin(iteration: number, calls: readonly ToolCall[]): void {
    this.#iteration = iteration;
    this.#calls = new Map(calls.map((call) => [call.id, { call }]));
    if (calls.length > 0) this.emit('tool:detected', { iteration, toolCalls: calls.map((call) => toolCallOf(call)) });
  }

  edit({ toolCallId, editedArguments }: DurableEventData['agent.approval.decided']): void {
    const known = this.#calls.get(toolCallId);
    if (known && editedArguments !== undefined) known.call = { ...known.call, arguments: editedArguments };
  }

  start(id: string, startTime: string): void {
    const known = this.#calls.get(id);
    if (!known || known.startTime) return;
    known.startTime = startTime;
    this.emit('tool:start', { iteration: this.#iteration, toolCall: toolCallOf(known.call, { state: 'executing', startTime }) });
  }

  end(data: DurableEventData['agent.tool.execution.completed'], endTime: string, executionId: string): void {
    const known = this.#calls.get(data.toolCallId);
    if (!known || known.done) return;
    // A call that can't run at all is reported as failed. A call that is refused, skipped or answered by a hook is not reported.
    if (data.status === 'rejected') this.start(data.toolCallId, endTime);
    known.done = data.status;
    const { call, startTime } = known;
    if (data.background) {
      this.#behind.set(call.id, executionId);
      this.emit('async:tool:started', { toolCallId: call.id, toolName: call.name, args: call.arguments });
    }
    if (!startTime) return;
    const [type, payload] = toolEnd(data, { call, startTime, endTime, iteration: this.#iteration });
    this.emit(type, payload);
  }

  endBehind(data: DurableEventData['agent.tool.background.completed']): void {
    const [type, payload] = backgroundEnd(data);
    this.emit(type, payload, this.#behind.get(data.toolCallId));
    this.#behind.delete(data.toolCallId);
  }

  /** Whether all calls have ended, and none in a way that may also end the run. */
  allWell(): boolean {
    return [...this.#calls.values()].every(({ done }) => done === 'success' || done === 'denied');
  }

  /** The execution ends while calls are running. */
  abandon(error: OneRingError): void {
    for (const { call, startTime, done } of this.#calls.values()) {
      if (!startTime || done) continue;
      const toolCall = toolCallOf(call, { state: 'failed', startTime, error: error.message });
      this.emit('tool:error', { iteration: this.#iteration, toolCall, error });
    }
    this.#calls.clear();
  }
}

/** The event for the end of a started call. */
function toolEnd(
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

function backgroundEnd(
  data: DurableEventData['agent.tool.background.completed'],
): Told<'async:tool:complete' | 'async:tool:error' | 'async:tool:timeout'> {
  const { toolCallId, name: toolName, durationMs: duration = 0, message } = data;
  const content = shownContent(message);
  const error = toolErrorOf({ ...data, output: content });
  if (data.status === 'timed-out') return ['async:tool:timeout', { toolCallId, toolName, timeout: timeoutOf(data) }];
  if (error) return ['async:tool:error', { toolCallId, toolName, error, duration }];
  const result = { tool_use_id: toolCallId, content, state: 'completed' as const, executionTime: duration };
  return ['async:tool:complete', { toolCallId, toolName, result, duration }];
}

type Outcome = Pick<DurableEventData['agent.tool.execution.completed'], 'name' | 'status' | 'error' | 'durationMs'>;

/** The error of a call without a result, in OneRingAI's format. Undefined if the call has a result. */
export function toolErrorOf({ output, ...outcome }: Outcome & { output: Content }): OneRingError | undefined {
  const { name, status, error } = outcome;
  const message = error?.message ?? textOf(output).replace(/^Error: /, '');
  switch (status) {
    case 'success':
      return undefined;
    case 'timed-out':
      return { name: 'ToolTimeoutError', message: `Tool '${name}' execution timed out after ${timeoutOf(outcome)}ms` };
    case 'denied':
      return { name: 'ToolRejectedError', message: `Tool rejected: ${message || 'Not approved'}` };
    // The call was refused before it ran, so there was no execution that could fail.
    case 'rejected':
    case 'skipped':
      return error?.name === 'ToolNotFoundError'
        ? { name: 'ToolNotFoundError', message: `Tool '${name}' not found. Did you register it with the agent?` }
        : { name: error?.name ?? 'ToolNotExecutedError', message };
    case 'failed':
    case 'unknown':
    case 'cancelled':
      return { name: 'ToolExecutionError', message: `Tool '${name}' execution failed: ${message}` };
    default:
      return unreachable(status);
  }
}

/** The timeout of a call in milliseconds, from its error message, or else its duration, which is close. */
function timeoutOf({ error, durationMs = 0 }: Pick<Outcome, 'error' | 'durationMs'>): number {
  const [, number, unit] = /after (\d+(?:\.\d+)?) ?(ms|s)\b/.exec(error?.message ?? '') ?? [];
  return number === undefined ? durationMs : Math.round(Number(number) * (unit === 's' ? 1_000 : 1));
}
