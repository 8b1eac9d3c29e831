import { type AgentEvent, type DurableEvent, isDurable, isTerminal, pendingKinds, type TerminalEvent } from '../../core/event';
import { type AnswerPart, addUsage, noUsage, toolCallsOf, type Usage } from '../../core/message';
import type { Projection } from '../projection';
import type { EmitOneRing, OneRingConfig, OneRingEvent } from './events';
import { OneRingModelCall } from './model-call';
import {
  executionIdOf,
  inputItem,
  limitError,
  type OneRingError,
  type OneRingResponse,
  response,
  responseOf,
  runError,
  usageOf,
} from './shapes';
import { OneRingCalls } from './tools';

/**
 * A projection to the events that OneRingAI's agent emits; each run is an execution. It reads only durable events, so its output is the same whether a
 * run was streamed or awaited.
 */
export function oneringaiEvents(config: OneRingConfig = {}): Projection<OneRingEvent> {
  const emitter = new Emitter(config);
  return { push: (event) => emitter.push(event) };
}

interface Execution {
  id: string;
  runId: string | null;
  startedAt: string;
  iteration: number;
  iterationStartedAt: string;
  /** The response of the current iteration, until it is reported. */
  iterationResponse?: OneRingResponse;
  askedCalls: number;
  usage: Usage;
  contextTokens: number;
  last?: OneRingResponse;
  /** The last text of the run was the closing summary at a limit. */
  summarized: boolean;
  cancelled: boolean;
}

class Emitter {
  #out: OneRingEvent[] = [];
  #now = '';
  #id = 'unknown';
  #execution: Execution | undefined;
  #ended: string | null = null;
  #closed = false;
  #emit: EmitOneRing = (type, payload, executionId = this.#id) => {
    this.#out.push({ type, executionId, timestamp: this.#now, ...payload } as unknown as OneRingEvent);
  };
  #model = new OneRingModelCall(this.#emit);
  #calls = new OneRingCalls(this.#emit);

  constructor(readonly config: OneRingConfig) {}

  push(event: AgentEvent): OneRingEvent[] {
    if (!isDurable(event)) return [];
    this.#now = event.timestamp;
    if (event.type === 'thread.closed') this.#closed = true;
    if (event.type === 'thread.reopened') this.#closed = false;
    const execution = this.#executionOf(event);
    // Messages that were accepted before the close still have their runs; no other events are reported after it.
    if (execution || !this.#closed) this.#fold(event, execution);
    return this.#out.splice(0);
  }

  /** The execution that an event belongs to. It begins with the first event of its run. */
  #executionOf(event: DurableEvent): Execution | undefined {
    const { timestamp, runId, type } = event;
    if (this.#execution && (runId === this.#execution.runId || type === 'thread.run.expired')) return this.#execution;
    // The run was ended from outside before its first event. It is still reported.
    const stillborn = type === 'thread.run.expired' && this.#id === 'unknown';
    if (!stillborn && (runId === null || runId === this.#ended)) return undefined;
    this.#id = executionIdOf(runId ?? event.threadId);
    const begun = { id: this.#id, runId, startedAt: timestamp, iteration: 0, iterationStartedAt: timestamp };
    this.#execution = { ...begun, askedCalls: 0, usage: noUsage, contextTokens: 0, summarized: false, cancelled: false };
    const initial = type === 'agent.run.created' ? event.data.initialMessages : [];
    const input = initial.flatMap((message) => (message.role === 'user' ? [inputItem(message)] : []));
    this.#emit('execution:start', { config: this.config, input });
    return this.#execution;
  }

  #fold(event: DurableEvent, execution: Execution | undefined): void {
    switch (event.type) {
      case 'agent.run.paused':
        return this.#emit('execution:paused', { reason: event.data.reason || 'Manual pause' });
      case 'agent.run.resumed':
        return this.#emit('execution:resumed', {});
      case 'agent.tool.background.completed':
        return this.#calls.endBehind(event.data);
      default:
        if (execution) this.#foldExecution(event, execution);
    }
  }

  #foldExecution(event: DurableEvent, execution: Execution): void {
    switch (event.type) {
      case 'agent.run.step.created':
        return this.#beginIteration(execution, event.data.turn - 1);
      case 'thread.message.created':
        return event.data.inProgress ? this.#request(execution) : undefined;
      case 'thread.message.incomplete':
        return this.#unanswered(execution, event);
      case 'thread.message.completed':
        return this.#answered(execution, event);
      case 'agent.run.summarized':
        return this.#summarized(execution, event);
      case 'thread.context.compacted':
      case 'thread.context.kept':
        if (event.data.spent) execution.usage = addUsage(execution.usage, event.data.spent.usage);
        return;
      case 'agent.approval.decided':
        return this.#calls.edit(event.data);
      case 'thread.run.requires_action':
        for (const { kind, toolCallId } of event.data.pending)
          if (pendingKinds[kind].answeredBy === 'submitToolOutputs') this.#calls.start(toolCallId, event.timestamp);
        return;
      case 'agent.tool.execution.started':
        return this.#calls.start(event.data.toolCallId, event.timestamp);
      case 'agent.tool.execution.completed':
        this.#calls.end(event.data, event.timestamp, execution.id);
        return this.#calls.allWell() ? this.#completeIteration(execution) : undefined;
      case 'agent.hook.completed':
        return this.#model.hook(event.data);
      case 'agent.run.suspended': {
        const { correlationId, expiresAt, metadata } = event.data;
        const words = { correlationId, sessionId: event.threadId, resumeAs: 'user_message' as const, expiresAt };
        return this.#emit('execution:suspended', { ...words, ...(metadata && { metadata }) });
      }
      case 'agent.run.status.changed':
        return event.data.status === 'cancelling' ? this.#cancelled(execution, event.data.details) : undefined;
      default:
        if (isTerminal(event)) this.#end(execution, event);
    }
  }

  #beginIteration(execution: Execution, iteration: number): void {
    this.#completeIteration(execution);
    Object.assign(execution, { iteration, iterationStartedAt: this.#now, summarized: false });
    this.#calls.begin(iteration, []);
    this.#emit('iteration:start', { iteration });
  }

  #completeIteration(execution: Execution): void {
    const { iteration, iterationResponse, iterationStartedAt } = execution;
    if (!iterationResponse) return;
    delete execution.iterationResponse;
    this.#emit('iteration:complete', { iteration, response: iterationResponse, duration: this.#since(iterationStartedAt) });
  }

  #request({ iteration, last }: Execution): void {
    this.#model.request(iteration, last?.model || this.config.model);
  }

  /** Reports a model call without an answer. A call that failed is reported with the run's end instead, which has the reason. */
  #unanswered(execution: Execution, { data: { reason, messageId } }: DurableEvent<'thread.message.incomplete'>): void {
    if (reason === 'failed') return;
    this.#model.error({ name: 'AbortError', message: `The model call was ${reason}` });
    if (reason !== 'superseded') return;
    const none = { id: messageId, status: 'cancelled' as const, model: '', usage: noUsage, timestamp: this.#now };
    execution.iterationResponse = response(none, []);
  }

  #answered(execution: Execution, event: DurableEvent<'thread.message.completed'>): void {
    const { message, usage, attempts, durationMs } = event.data;
    const said = responseOf(event);
    this.#request(execution);
    this.#model.retries(attempts);
    this.#model.response(said, durationMs);
    execution.usage = addUsage(execution.usage, usage);
    execution.contextTokens = usage.inputTokens + usage.outputTokens;
    execution.last = said;
    execution.iterationResponse = said;
    const calls = toolCallsOf(message.content);
    execution.askedCalls += calls.length;
    this.#calls.begin(execution.iteration, calls);
    if (calls.length === 0) this.#completeIteration(execution);
  }

  /** The closing summary belongs to the last iteration. */
  #summarized(execution: Execution, { data, timestamp }: DurableEvent<'agent.run.summarized'>): void {
    const { output, usage, model, durationMs, attempts, failed } = data;
    this.#completeIteration(execution);
    this.#request(execution);
    this.#model.retries(attempts);
    const said = response({ id: `${execution.id}_summary`, status: 'incomplete', model, usage, timestamp }, spoken(output));
    if (failed === undefined) this.#model.response(said, durationMs);
    else this.#model.error({ name: 'ProviderError', message: failed });
    execution.usage = addUsage(execution.usage, usage);
    execution.last = said;
    execution.summarized = true;
  }

  #cancelled(execution: Execution, reason: string | undefined): void {
    if (execution.cancelled) return;
    execution.cancelled = true;
    this.#emit('execution:cancelled', { reason: reason || 'Manual cancellation' });
  }

  #end(execution: Execution, event: TerminalEvent): void {
    switch (event.type) {
      case 'thread.run.completed':
        this.#complete(execution, 'completed', event.data.output, event.data.usage);
        break;
      case 'thread.run.incomplete':
        this.#stopped(execution, event);
        break;
      case 'thread.run.failed':
        this.#model.failedAttempts(event.data.details);
        this.#fail(runError(event.data));
        break;
      case 'thread.run.cancelled':
        this.#cancelled(execution, event.data.reason);
        this.#fail({ name: 'Error', message: 'Execution cancelled', code: 'cancelled' });
        break;
      default:
        this.#fail({ name: 'Error', message: event.data.message, code: event.data.reason });
    }
    this.#execution = undefined;
    this.#ended = event.runId;
  }

  /** At a limit OneRingAI throws. If a closing summary was requested, it is the response. */
  #stopped(execution: Execution, { data }: DurableEvent<'thread.run.incomplete'>): void {
    if (!execution.summarized) return this.#fail(limitError(data, { ...execution, durationMs: this.#since(execution.startedAt) }));
    if (data.limit === 'turns') this.#emit('execution:maxIterations', { iteration: execution.iteration, maxIterations: data.max });
    this.#complete(execution, 'incomplete', data.output, execution.usage);
  }

  #complete(execution: Execution, status: OneRingResponse['status'], output: string, usage: Usage): void {
    this.#completeIteration(execution);
    const last = execution.last ?? response({ id: execution.id, status, model: '', usage, timestamp: this.#now }, spoken(output));
    const whole = { ...last, status, output_text: output, usage: usageOf(usage) };
    this.#emit('execution:complete', { response: whole, duration: this.#since(execution.startedAt) });
  }

  #fail(error: OneRingError): void {
    this.#model.error(error);
    this.#calls.abandon(error);
    this.#emit('execution:error', { error });
  }

  #since(timestamp: string): number {
    return Math.max(0, Date.parse(this.#now) - Date.parse(timestamp));
  }
}

function spoken(text: string): AnswerPart[] {
  return [{ type: 'text', text }];
}
