import { type AgentEvent, type DurableEvent, type EphemeralEvent, isDurable, isTerminal, type TerminalEvent } from '../event';
import { parseObject } from '../json';
import { addUsage, type Content, noUsage, type ToolCall, type Usage } from '../message';
import { GrowingText } from './growing-text';
import { executionIdOf, type OneRingUsage, secondsOf, usageOf } from './oneringai-shapes';
import { toolErrorOf } from './oneringai-tools';
import type { Projection } from './projection';

interface Payloads {
  'response.created': { model: string; created_at: number };
  'response.output_text.delta': { item_id: string; output_index: number; content_index: number; delta: string; sequence_number: number };
  /** The text so far was not what it came to: this is. */
  'response.output_text.done': { item_id: string; output_index: number; text: string };
  'response.tool_call.start': { item_id: string; tool_call_id: string; tool_name: string };
  'response.tool_call_arguments.delta': {
    item_id: string;
    tool_call_id: string;
    tool_name: string;
    delta: string;
    sequence_number: number;
  };
  /** `incomplete`: cut at the longest answer. */
  'response.tool_call_arguments.done': { tool_call_id: string; tool_name: string; arguments: string; incomplete?: true };
  'response.tool_execution.start': { tool_call_id: string; tool_name: string; arguments: unknown };
  'response.tool_execution.done': {
    tool_call_id: string;
    tool_name: string;
    result: Content;
    execution_time_ms: number;
    error?: string;
  };
  /** What came since the last `response.created` is void, and comes anew. */
  'response.retry': { attempt: number; max_attempts?: number; reason: string; delay_ms: number };
  'response.iteration.complete': { iteration: number; tool_calls_count: number; has_more_iterations: boolean };
  'response.complete': { status: 'completed' | 'incomplete'; usage: OneRingUsage; iterations: number; duration_ms: number };
  'response.error': { error: { type: 'execution_error' | 'cancelled'; message: string; code?: string }; recoverable: false };
}

/** One item of OneRingAI's stream. `response_id` is the execution's id throughout. */
export type OneRingStreamEvent = { [K in keyof Payloads]: { type: K; response_id: string } & Payloads[K] }[keyof Payloads];

/**
 * The log, with its live events, as OneRingAI streams it. A reader without live events is given each text in one piece, and the same otherwise.
 * `model`: where it is known before the first answer.
 */
export function oneringaiStream({ model = '' }: { model?: string } = {}): Projection<OneRingStreamEvent> {
  const stream = new Stream(model);
  return { push: (event) => stream.push(event) };
}

/** Arguments of a call while the model writes them. */
interface GrowingCall {
  id?: string;
  name?: string;
  sent: string;
  started: boolean;
}

class Stream {
  #out: OneRingStreamEvent[] = [];
  #id = '';
  #runId: string | null = null;
  #ended: string | null = null;
  #open = false;
  #startedAt = '';
  #usage: Usage = noUsage;
  #iteration = -1;
  /** The answer of this iteration, until the iteration is told as complete. */
  #answer: DurableEvent<'thread.message.completed'>['data'] | undefined;
  /** Of the message that the model is writing. */
  #itemId = '';
  #sequence = 0;
  #attempt = 1;
  #text = new GrowingText();
  #growing = new Map<number, GrowingCall>();
  #calls = new Map<string, ToolCall>();
  #executing = new Set<string>();

  constructor(private model: string) {}

  push(event: AgentEvent): OneRingStreamEvent[] {
    if (this.#isOfExecution(event)) {
      if (isDurable(event)) this.#fold(event);
      else if (event.type === 'thread.message.delta') this.#delta(event);
      else if (event.type === 'agent.llm.retry') this.#live(event);
    }
    return this.#out.splice(0);
  }

  /** Begins with the first event of a run. */
  #isOfExecution(event: AgentEvent): boolean {
    if (this.#open) return event.runId === this.#runId || event.type === 'thread.run.expired';
    const stillborn = event.type === 'thread.run.expired' && this.#id === '';
    if (!isDurable(event) || (!stillborn && (event.runId === null || event.runId === this.#ended))) return false;
    this.#id = executionIdOf(event.runId ?? event.threadId);
    this.#runId = event.runId;
    this.#open = true;
    this.#startedAt = event.timestamp;
    this.#usage = noUsage;
    this.#iteration = -1;
    this.#answer = undefined;
    return true;
  }

  #fold(event: DurableEvent): void {
    switch (event.type) {
      case 'agent.run.step.created':
        this.#completeIteration(true);
        this.#iteration = event.data.turn - 1;
        return;
      case 'thread.message.created':
        if (event.data.inProgress) this.#announce(event.data.message.id, event.timestamp);
        return;
      case 'thread.message.completed':
        return this.#answered(event);
      case 'agent.run.summarized':
        return this.#summarized(event);
      case 'agent.approval.decided':
        return this.#edited(event.data);
      case 'agent.tool.execution.started':
        return this.#startTool(event.data.toolCallId, event.data.name);
      case 'agent.tool.execution.completed':
        return this.#endTool(event.data);
      default:
        if (isTerminal(event)) this.#end(event);
    }
  }

  #announce(id: string, timestamp: string): void {
    this.#itemId = id;
    this.#sequence = 0;
    this.#attempt = 1;
    this.#text.begin(id);
    this.#growing.clear();
    this.#emit('response.created', { model: this.model, created_at: secondsOf(timestamp) });
  }

  #delta({ data }: EphemeralEvent<'thread.message.delta'>): void {
    // Live events may come late: after the answer that they led to, or of an attempt that was given up.
    if (data.messageId !== this.#itemId || data.attempt < this.#attempt) return;
    if (data.attempt > this.#attempt) this.#retry(data.attempt, 'the attempt before broke off');
    this.#addText(this.#text.push(data).added);
    for (const { index, id, name, arguments: text = '' } of data.toolCallsChunk ?? []) {
      const call = this.#growing.get(index) ?? { sent: '', started: false };
      this.#growing.set(index, call);
      call.id ??= id;
      call.name ??= name;
      this.#addArguments(call, text);
    }
  }

  #live({ data }: EphemeralEvent<'agent.llm.retry'>): void {
    if (this.#itemId !== '' && data.turn === this.#iteration + 1)
      this.#retry(data.nextAttempt, `${data.failureKind}: ${data.message}`, data.delayMs, data.maxAttempts);
  }

  #retry(next: number, reason: string, delay = 0, max?: number): void {
    if (next <= this.#attempt) return;
    this.#attempt = next;
    this.#growing.clear();
    this.#text.begin(this.#itemId);
    this.#emit('response.retry', { attempt: next - 1, ...(max !== undefined && { max_attempts: max }), reason, delay_ms: delay });
  }

  #addText(delta: string): void {
    if (delta === '') return;
    this.#emit('response.output_text.delta', {
      item_id: this.#itemId,
      output_index: 0,
      content_index: 0,
      delta,
      sequence_number: this.#sequence++,
    });
  }

  /** A piece of a call's arguments. Nothing is told of a call before its id and name are known. */
  #addArguments(call: GrowingCall, text: string): void {
    const { id, name } = call;
    const before = call.sent;
    call.sent += text;
    if (id === undefined || name === undefined) return;
    const of = { item_id: id, tool_call_id: id, tool_name: name };
    const delta = call.started ? text : before + text;
    if (!call.started) this.#emit('response.tool_call.start', of);
    call.started = true;
    if (delta !== '') this.#emit('response.tool_call_arguments.delta', { ...of, delta, sequence_number: this.#sequence++ });
  }

  #answered({ data, timestamp }: DurableEvent<'thread.message.completed'>): void {
    const { message, attempts = [], usage, model, finishReason } = data;
    if (message.id !== this.#itemId) this.#announce(message.id, timestamp);
    for (const [i, { kind, message: words, waitMs }] of attempts.entries()) this.#retry(i + 2, `${kind}: ${words}`, waitMs);
    this.model = model;
    this.#usage = addUsage(this.#usage, usage);
    this.#answer = data;
    const text = message.refusal || message.content;
    if (message.attempt > this.#attempt) this.#retry(message.attempt, 'the attempt before broke off');
    const { added, restarted } = this.#text.finish(text);
    if (restarted) this.#emit('response.output_text.done', { item_id: message.id, output_index: 0, text });
    else this.#addText(added);
    this.#callsAsked(message.toolCalls, finishReason === 'length');
    this.#itemId = '';
  }

  #callsAsked(calls: readonly ToolCall[], incomplete: boolean): void {
    const growing = new Map([...this.#growing.values()].map((call) => [call.id, call]));
    for (const { id, name, arguments: text } of calls) {
      const known = growing.get(id);
      const call = known?.started ? known : { id, name, sent: '', started: false };
      if (text.startsWith(call.sent)) this.#addArguments(call, text.slice(call.sent.length));
      const done = { tool_call_id: id, tool_name: name, arguments: text };
      this.#emit('response.tool_call_arguments.done', { ...done, ...(incomplete && { incomplete }) });
      this.#calls.set(id, { id, name, arguments: text });
    }
  }

  #summarized({ data: { output, usage, model }, timestamp }: DurableEvent<'agent.run.summarized'>): void {
    this.#completeIteration(true);
    this.model = model;
    this.#usage = addUsage(this.#usage, usage);
    this.#announce(`${this.#id}_summary`, timestamp);
    this.#addText(output);
  }

  #edited({ toolCallId: id, editedArguments }: DurableEvent<'agent.approval.decided'>['data']): void {
    const call = this.#calls.get(id);
    if (call && editedArguments !== undefined) this.#calls.set(id, { ...call, arguments: editedArguments });
  }

  #startTool(id: string, name: string): void {
    if (this.#executing.has(id)) return;
    this.#executing.add(id);
    const text = this.#calls.get(id)?.arguments ?? '';
    const parsed = text.trim() === '' ? {} : (parseObject(text) ?? text);
    this.#emit('response.tool_execution.start', { tool_call_id: id, tool_name: name, arguments: parsed });
  }

  #endTool(data: DurableEvent<'agent.tool.execution.completed'>['data']): void {
    const { toolCallId: id, name, output: result, durationMs = 0 } = data;
    this.#startTool(id, name);
    this.#executing.delete(id);
    const error = toolErrorOf(data)?.message;
    const done = { tool_call_id: id, tool_name: name, result, execution_time_ms: durationMs };
    this.#emit('response.tool_execution.done', { ...done, ...(error !== undefined && { error }) });
  }

  /** Told when it is known whether another follows. */
  #completeIteration(more: boolean): void {
    if (!this.#answer) return;
    const count = this.#answer.message.toolCalls.length;
    this.#answer = undefined;
    this.#emit('response.iteration.complete', { iteration: this.#iteration, tool_calls_count: count, has_more_iterations: more });
  }

  #end(event: TerminalEvent): void {
    switch (event.type) {
      case 'thread.run.completed':
        this.#complete('completed', event);
        break;
      case 'thread.run.incomplete':
        this.#complete('incomplete', event);
        break;
      case 'thread.run.cancelled':
        this.#fail({ type: 'cancelled', message: 'Execution cancelled' });
        break;
      case 'thread.run.failed':
        this.#fail({ type: 'execution_error', message: event.data.message, code: event.data.code });
        break;
      default:
        this.#fail({ type: 'execution_error', message: event.data.message, code: event.data.reason });
    }
    this.#open = false;
    this.#ended = event.runId;
    this.#calls.clear();
    this.#executing.clear();
  }

  #complete(status: 'completed' | 'incomplete', { timestamp }: TerminalEvent): void {
    this.#completeIteration(false);
    this.#emit('response.complete', {
      status,
      usage: usageOf(this.#usage),
      iterations: this.#iteration + 1,
      duration_ms: Math.max(0, Date.parse(timestamp) - Date.parse(this.#startedAt)),
    });
  }

  #fail(error: Payloads['response.error']['error']): void {
    for (const id of this.#executing) {
      const name = this.#calls.get(id)?.name ?? '';
      const done = { tool_call_id: id, tool_name: name, result: '', execution_time_ms: 0, error: error.message };
      this.#emit('response.tool_execution.done', done);
    }
    this.#emit('response.error', { error, recoverable: false });
  }

  #emit<K extends keyof Payloads>(type: K, payload: Payloads[K]): void {
    this.#out.push({ type, response_id: this.#id, ...payload } as OneRingStreamEvent);
  }
}
