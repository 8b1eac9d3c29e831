import { type AgentEvent, type DurableEvent, type DurableEventData, isDurable, isTerminal, type TerminalEvent } from '../../core/event';
import { parseObject } from '../../core/json';
import { addUsage, noUsage, type ToolCall, toolCallsOf, type Usage } from '../../core/message';
import type { Projection } from '../projection';
import { executionIdOf, usageOf } from './shapes';
import type { EmitStream, OneRingStreamEvent, OneRingStreamPayloads } from './stream-events';
import { toolErrorOf } from './tools';
import { OneRingWriting } from './writing';

/**
 * A projection of the log and its live events to OneRingAI's stream. Without live events each text comes in one piece, and the rest is the same.
 * `model`: the model's name, if it is known before the first answer.
 */
export function oneringaiStream({ model = '' }: { model?: string | undefined } = {}): Projection<OneRingStreamEvent> {
  const stream = new Stream(model);
  return { push: (event) => stream.push(event) };
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
  /** The number of calls in this iteration's answer, until the iteration is reported as complete. */
  #asked: number | undefined;
  #calls = new Map<string, ToolCall>();
  #executing = new Set<string>();
  #emit: EmitStream = (type, payload) => {
    this.#out.push({ type, response_id: this.#id, ...payload } as OneRingStreamEvent);
  };
  #writing = new OneRingWriting(this.#emit);

  constructor(private model: string) {}

  push(event: AgentEvent): OneRingStreamEvent[] {
    if (this.#isOfExecution(event)) {
      if (isDurable(event)) this.#fold(event);
      else if (event.type === 'thread.message.delta') this.#writing.delta(event.data);
      else if (event.type === 'agent.llm.retry' && event.data.turn === this.#iteration + 1) this.#writing.failed(event.data);
    }
    return this.#out.splice(0);
  }

  /** Whether the event belongs to an execution. An execution begins with the first event of its run. */
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
    this.#asked = undefined;
    return true;
  }

  #fold(event: DurableEvent): void {
    switch (event.type) {
      case 'agent.run.step.created':
        this.#completeIteration(true);
        this.#iteration = event.data.turn - 1;
        return;
      case 'thread.message.created':
        if (event.data.inProgress) this.#writing.begin(event.data.message.id, this.model, event.timestamp);
        return;
      case 'thread.message.completed':
        return this.#answered(event);
      case 'agent.run.summarized':
        return this.#summarized(event);
      case 'thread.context.compacted':
      case 'thread.context.kept':
        if (event.data.spent) this.#usage = addUsage(this.#usage, event.data.spent.usage);
        return;
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

  #answered({ data, timestamp }: DurableEvent<'thread.message.completed'>): void {
    const { message, usage, model } = data;
    if (!this.#writing.isOf(message.id)) this.#writing.begin(message.id, model, timestamp);
    this.#writing.finish(data);
    this.model = model;
    this.#usage = addUsage(this.#usage, usage);
    const calls = toolCallsOf(message.content);
    this.#asked = calls.length;
    for (const call of calls) this.#calls.set(call.id, call);
  }

  /** The closing summary, after the last iteration. */
  #summarized({ data: { output, usage, model }, timestamp }: DurableEvent<'agent.run.summarized'>): void {
    this.#completeIteration(true);
    this.model = model;
    this.#usage = addUsage(this.#usage, usage);
    this.#writing.begin(`${this.#id}_summary`, model, timestamp);
    this.#writing.say(output);
  }

  #edited({ toolCallId: id, editedArguments }: DurableEventData['agent.approval.decided']): void {
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

  #endTool(data: DurableEventData['agent.tool.execution.completed']): void {
    const { toolCallId: id, name, output: result, durationMs = 0 } = data;
    this.#startTool(id, name);
    this.#executing.delete(id);
    const error = toolErrorOf(data)?.message;
    const done = { tool_call_id: id, tool_name: name, result, execution_time_ms: durationMs };
    this.#emit('response.tool_execution.done', { ...done, ...(error !== undefined && { error }) });
  }

  /** Reports the end of an iteration, once it is known whether another follows. */
  #completeIteration(more: boolean): void {
    if (this.#asked === undefined) return;
    const count = this.#asked;
    this.#asked = undefined;
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

  #fail(error: OneRingStreamPayloads['response.error']['error']): void {
    for (const id of this.#executing) {
      const name = this.#calls.get(id)?.name ?? '';
      const done = { tool_call_id: id, tool_name: name, result: '', execution_time_ms: 0, error: error.message };
      this.#emit('response.tool_execution.done', done);
    }
    this.#emit('response.error', { error, recoverable: false });
  }
}
