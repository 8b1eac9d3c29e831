import { type AgentEvent, type DurableEvent, isDurable, isTerminal, type TerminalEvent } from '../event';
import type { FailedAttempt } from '../failure';
import { addUsage, noUsage, type ToolCall, type Usage } from '../message';
import type { OneRingConfig, OneRingEvent, OneRingPayloads } from './oneringai-events';
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
} from './oneringai-shapes';
import { backgroundEnd, toolCallOf, toolEnd } from './oneringai-tools';
import type { Projection } from './projection';

/**
 * The log as OneRingAI's agent emits it; each run is an execution. It reads durable events only, so whoever streamed a run and whoever
 * waited for it are told the same.
 */
export function oneringaiEvents(config: OneRingConfig = {}): Projection<OneRingEvent> {
  const emitter = new Emitter(config);
  return { push: (event) => emitter.push(event) };
}

interface CallSoFar {
  call: ToolCall;
  startTime?: string;
  done?: DurableEvent<'agent.tool.execution.completed'>['data']['status'];
}

interface Execution {
  id: string;
  runId: string | null;
  startedAt: string;
  iteration: number;
  iterationStartedAt: string;
  /** What the iteration under way came to, until it is told. */
  iterationResponse?: OneRingResponse;
  llmOpen: boolean;
  calls: Map<string, CallSoFar>;
  askedCalls: number;
  usage: Usage;
  contextTokens: number;
  last?: OneRingResponse;
  summarized: boolean;
  cancelled: boolean;
  /** Errors of `after:llm` hooks that are recorded before the answer which they saw. */
  heldHook?: DurableEvent<'agent.hook.completed'>;
}

class Emitter {
  #out: OneRingEvent[] = [];
  #now = '';
  #id = 'unknown';
  #execution: Execution | undefined;
  #ended: string | null = null;
  #closed = false;
  /** Which execution began a call that goes on behind it. */
  #background = new Map<string, string>();

  constructor(readonly config: OneRingConfig) {}

  push(event: AgentEvent): OneRingEvent[] {
    if (!isDurable(event)) return [];
    this.#now = event.timestamp;
    if (event.type === 'thread.closed') this.#closed = true;
    const execution = this.#executionOf(event);
    // Messages that were accepted before the close still have their runs; nothing else is told behind it.
    if (execution || !this.#closed) this.#fold(event, execution);
    return this.#out.splice(0);
  }

  /** The execution that an event is of; begun with the first event of its run. */
  #executionOf(event: DurableEvent): Execution | undefined {
    const stillborn = event.type === 'thread.run.expired' && this.#id === 'unknown';
    if (this.#execution && (event.runId === this.#execution.runId || event.type === 'thread.run.expired')) return this.#execution;
    if (!stillborn && (event.runId === null || event.runId === this.#ended)) return undefined;
    const { timestamp, runId } = event;
    this.#id = executionIdOf(runId ?? event.threadId);
    this.#execution = {
      id: this.#id,
      runId,
      startedAt: timestamp,
      iteration: 0,
      iterationStartedAt: timestamp,
      llmOpen: false,
      calls: new Map(),
      askedCalls: 0,
      usage: noUsage,
      contextTokens: 0,
      summarized: false,
      cancelled: false,
    };
    const initial = event.type === 'agent.run.created' ? event.data.initialMessages : [];
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
        return this.#backgroundEnded(event);
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
      case 'agent.approval.decided':
        return this.#edited(execution, event.data);
      case 'thread.run.requires_action':
        for (const { kind, toolCallId } of event.data.pending)
          if (kind === 'output' || kind === 'question') this.#startTool(execution, toolCallId);
        return;
      case 'agent.tool.execution.started':
        return this.#startTool(execution, event.data.toolCallId);
      case 'agent.tool.execution.completed':
        return this.#endTool(execution, event);
      case 'agent.hook.completed':
        if (event.data.hook === 'after:llm' && execution.llmOpen) execution.heldHook = event;
        else this.#hookErrors(event);
        return;
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
    Object.assign(execution, { iteration, iterationStartedAt: this.#now, calls: new Map() });
    this.#emit('iteration:start', { iteration });
  }

  #completeIteration(execution: Execution): void {
    const { iteration, iterationResponse, iterationStartedAt } = execution;
    if (!iterationResponse) return;
    delete execution.iterationResponse;
    this.#emit('iteration:complete', { iteration, response: iterationResponse, duration: this.#since(iterationStartedAt) });
  }

  #request(execution: Execution): void {
    if (execution.llmOpen) return;
    execution.llmOpen = true;
    const model = execution.last?.model ?? this.config.model;
    this.#emit('llm:request', { iteration: execution.iteration, options: model ? { model } : {} });
  }

  /** A call that failed is told with the run's end, which says why. */
  #unanswered(execution: Execution, { data: { reason, messageId } }: DurableEvent<'thread.message.incomplete'>): void {
    if (reason === 'failed') return;
    this.#llmError(execution, { name: 'AbortError', message: `The model call was ${reason}` });
    if (reason !== 'superseded') return;
    const none = { id: messageId, status: 'cancelled' as const, model: '', usage: noUsage, timestamp: this.#now };
    execution.iterationResponse = response(none, { content: '' });
  }

  #answered(execution: Execution, event: DurableEvent<'thread.message.completed'>): void {
    const { message, usage, attempts, durationMs } = event.data;
    const said = responseOf(event);
    this.#request(execution);
    this.#retries(attempts);
    this.#llmResponse(execution, said, durationMs);
    execution.usage = addUsage(execution.usage, usage);
    execution.contextTokens = usage.inputTokens + usage.outputTokens;
    execution.last = said;
    execution.iterationResponse = said;
    execution.askedCalls += message.toolCalls.length;
    for (const call of message.toolCalls) execution.calls.set(call.id, { call });
    if (message.toolCalls.length === 0) return this.#completeIteration(execution);
    this.#emit('tool:detected', { iteration: execution.iteration, toolCalls: message.toolCalls.map((call) => toolCallOf(call)) });
  }

  /** The closing words belong to the last iteration. */
  #summarized(execution: Execution, { data, timestamp }: DurableEvent<'agent.run.summarized'>): void {
    const { output, usage, model, durationMs, attempts, failed } = data;
    this.#completeIteration(execution);
    this.#request(execution);
    this.#retries(failed === undefined ? attempts : attempts?.slice(0, -1));
    execution.usage = addUsage(execution.usage, usage);
    execution.summarized = true;
    const said = response({ id: `${execution.id}_summary`, status: 'incomplete', model, usage, timestamp }, { content: output });
    execution.last = said;
    if (failed === undefined) this.#llmResponse(execution, said, durationMs);
    else this.#llmError(execution, { name: 'ProviderError', message: failed });
  }

  #llmResponse(execution: Execution, said: OneRingResponse, duration: number): void {
    execution.llmOpen = false;
    this.#emit('llm:response', { iteration: execution.iteration, response: said, duration });
    const { heldHook } = execution;
    delete execution.heldHook;
    if (heldHook) this.#hookErrors(heldHook);
  }

  #llmError(execution: Execution, error: OneRingError): void {
    if (!execution.llmOpen) return;
    execution.llmOpen = false;
    this.#emit('llm:error', { iteration: execution.iteration, error });
    const { heldHook } = execution;
    delete execution.heldHook;
    if (heldHook) this.#hookErrors(heldHook);
  }

  #retries(attempts: readonly FailedAttempt[] = [], maxAttempts?: number): void {
    for (const [i, { kind, message, waitMs = 0 }] of attempts.entries()) {
      const words = { attempt: i + 1, ...(maxAttempts !== undefined && { maxAttempts }), reason: `${kind}: ${message}` };
      this.#emit('execution:retry', { ...words, delayMs: waitMs });
    }
  }

  #edited({ calls }: Execution, { toolCallId, editedArguments }: DurableEvent<'agent.approval.decided'>['data']): void {
    const known = calls.get(toolCallId);
    if (known && editedArguments !== undefined) known.call = { ...known.call, arguments: editedArguments };
  }

  #startTool({ calls, iteration }: Execution, id: string): void {
    const known = calls.get(id);
    if (!known || known.startTime) return;
    known.startTime = this.#now;
    this.#emit('tool:start', { iteration, toolCall: toolCallOf(known.call, { state: 'executing', startTime: this.#now }) });
  }

  #endTool(execution: Execution, { data }: DurableEvent<'agent.tool.execution.completed'>): void {
    const known = execution.calls.get(data.toolCallId);
    if (!known || known.done) return;
    // A call that can't run at all is told as one that failed; one that is refused, skipped or answered by a hook is not told.
    if (data.status === 'rejected') this.#startTool(execution, data.toolCallId);
    known.done = data.status;
    if (data.background) this.#goesOn(execution, known.call);
    const { call, startTime } = known;
    if (startTime) {
      const [type, payload] = toolEnd(data, { call, startTime, endTime: this.#now, iteration: execution.iteration });
      this.#emit(type, payload);
    }
    const outcomes = [...execution.calls.values()].map((one) => one.done);
    // A turn that was cut short is not complete; if the run goes on all the same, the next iteration tells.
    if (outcomes.every((status) => status && status !== 'skipped' && status !== 'cancelled')) this.#completeIteration(execution);
  }

  #goesOn({ id }: Execution, call: ToolCall): void {
    this.#background.set(call.id, id);
    this.#emit('async:tool:started', { toolCallId: call.id, toolName: call.name, args: call.arguments });
  }

  #backgroundEnded({ data }: DurableEvent<'agent.tool.background.completed'>): void {
    const executionId = this.#background.get(data.toolCallId) ?? this.#id;
    this.#background.delete(data.toolCallId);
    const [type, payload] = backgroundEnd(data);
    this.#emit(type, payload, executionId);
  }

  #hookErrors({ data }: DurableEvent<'agent.hook.completed'>): void {
    for (const { id, message, consecutive } of data.errors ?? []) {
      const error = { name: 'HookError', message: `${id}: ${message}` };
      this.#emit('hook:error', { hookName: data.hook, error, consecutiveErrors: consecutive });
    }
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
      case 'thread.run.failed': {
        const error = runError(event.data, execution.llmOpen);
        if (execution.llmOpen) this.#retries(event.data.details?.attempts?.slice(0, -1), event.data.details?.maxAttempts);
        this.#fail(execution, error);
        break;
      }
      case 'thread.run.cancelled':
        this.#cancelled(execution, event.data.reason);
        this.#fail(execution, { name: 'Error', message: 'Execution cancelled', code: 'cancelled' });
        break;
      default:
        this.#fail(execution, { name: 'Error', message: event.data.message, code: event.data.reason });
    }
    this.#execution = undefined;
    this.#ended = event.runId;
  }

  /** At a limit OneRingAI throws; where closing words were asked for they are the response. */
  #stopped(execution: Execution, { data }: DurableEvent<'thread.run.incomplete'>): void {
    if (!execution.summarized) {
      const spent = { ...execution, durationMs: this.#since(execution.startedAt) };
      return this.#fail(execution, limitError(data, spent));
    }
    if (data.limit === 'turns') this.#emit('execution:maxIterations', { iteration: execution.iteration, maxIterations: data.max });
    this.#complete(execution, 'incomplete', data.output, execution.usage);
  }

  #complete(execution: Execution, status: OneRingResponse['status'], output: string, usage: Usage): void {
    this.#completeIteration(execution);
    const last = execution.last ?? response({ id: execution.id, status, model: '', usage, timestamp: this.#now }, { content: output });
    const whole = { ...last, status, output_text: output, usage: usageOf(usage) };
    this.#emit('execution:complete', { response: whole, duration: this.#since(execution.startedAt) });
  }

  #fail(execution: Execution, error: OneRingError): void {
    this.#llmError(execution, error);
    for (const known of execution.calls.values()) {
      if (!known.startTime || known.done) continue;
      const toolCall = toolCallOf(known.call, { state: 'failed', startTime: known.startTime, error: error.message });
      this.#emit('tool:error', { iteration: execution.iteration, toolCall, error });
    }
    this.#emit('execution:error', { error });
  }

  #since(timestamp: string): number {
    return Math.max(0, Date.parse(this.#now) - Date.parse(timestamp));
  }

  #emit<K extends keyof OneRingPayloads>(type: K, payload: OneRingPayloads[K], executionId = this.#id): void {
    this.#out.push({ type, executionId, timestamp: this.#now, ...payload } as unknown as OneRingEvent);
  }
}
