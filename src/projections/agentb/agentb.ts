import { type AgentEvent, type DurableEvent, type EphemeralEvent, isTerminal, pendingKinds, type TerminalEvent } from '../../core/event';
import { parseObject } from '../../core/json';
import { addUsage, noUsage, shownContent, type ToolCall, toolCallsOf, type Usage, wordsOf } from '../../core/message';
import { GrowingText } from '../growing-text';
import type { Projection } from '../projection';
import {
  type AgentBEvent,
  type AgentBEventData,
  type AgentBEventType,
  type AgentBMessage,
  type AgentBStatus,
  contentOf,
  errorOf,
  messageOf,
  required,
  resultOf,
  statusOf,
  toolCallOf,
  usageOf,
} from './words';

export interface AgentBOptions {
  /** The provider's name for the details of a provider's error. Default: known from the first answer on. */
  provider?: string | undefined;
}

/** A projection to AgentB's event stream. */
export function agentbEvents(options: AgentBOptions = {}): Projection<AgentBEvent> {
  return new AgentBEvents(options);
}

type Handlers = { [T in AgentEvent['type']]?: (event: Extract<AgentEvent, { type: T }>) => void };

class AgentBEvents implements Projection<AgentBEvent> {
  readonly #text = new GrowingText();
  #out: AgentBEvent[] = [];
  #provider: string | undefined;
  #status: AgentBStatus | undefined;
  #stepId = '';
  /** The empty message that was announced for the current answer. */
  #shell: AgentBMessage | undefined;
  #calls: ToolCall[] = [];
  /** The usage of the run, for terminal events that do not report it. */
  #usage: Usage = noUsage;
  #edited = new Map<string, string>();
  /** Calls that are executed outside, for which AgentB has no event. */
  #outside = new Set<string>();
  #started = new Set<string>();
  /** Whether the turn's calls were announced with `thread.run.requires_action`. */
  #announced = false;
  #rest: DurableEvent<'agent.run.status.changed'> | undefined;

  constructor({ provider }: AgentBOptions) {
    this.#provider = provider;
  }

  push(event: AgentEvent): AgentBEvent[] {
    // AgentB has no equivalent for events between runs.
    if (event.runId === null) return [];
    this.#out = [];
    if (this.#rest && event.type !== 'thread.run.requires_action') this.#changeStatus(this.#rest);
    if (isTerminal(event)) this.#end(event);
    else (this.#handlers[event.type] as ((event: AgentEvent) => void) | undefined)?.(event);
    return this.#out;
  }

  readonly #handlers: Handlers = {
    'agent.run.created': (event) => {
      const messages = event.data.initialMessages.map((message) => ({ role: message.role, content: contentOf(shownContent(message)) }));
      this.#status = 'in_progress';
      this.#usage = noUsage;
      if (messages.some(({ role }) => role === 'user')) {
        this.#say(event, 'agent.run.created', { status: 'in_progress', initialMessages: messages });
      } else {
        this.#say(event, 'agent.run.status.changed', { currentStatus: 'in_progress', details: 'Continuing run.' });
      }
    },
    // In AgentB the status change follows `thread.run.requires_action`, so it is held back until that event.
    'agent.run.status.changed': (event) => {
      if (event.data.status === 'requires_action') this.#rest = event;
      else this.#changeStatus(event);
    },
    'agent.run.step.created': (event) => {
      const { stepId, turn } = event.data;
      this.#stepId = stepId;
      this.#say(event, 'agent.run.step.created', { stepId, details: { turn, iterationInLoop: turn } });
    },
    'thread.message.created': (event) => {
      const message = messageOf(event, event.data.message, event.data.stepId);
      if (event.data.inProgress) {
        message.metadata.inProgress = true;
        this.#shell = message;
        this.#text.begin(message.id);
      }
      this.#say(event, 'thread.message.created', { message });
    },
    'thread.message.delta': (event) => {
      const { added, restarted } = this.#text.push(event.data);
      this.#grow(event, added, restarted);
    },
    'thread.message.completed': (event) => this.#answered(event),
    'thread.message.incomplete': (event) => this.#giveUp(event, event.data.reason),
    'agent.run.summarized': ({ data }) => {
      this.#usage = addUsage(this.#usage, data.usage);
    },
    'thread.context.compacted': ({ data: { spent } }) => {
      if (spent) this.#usage = addUsage(this.#usage, spent.usage);
    },
    'thread.context.kept': ({ data: { spent } }) => {
      if (spent) this.#usage = addUsage(this.#usage, spent.usage);
    },
    'agent.approval.decided': ({ data }) => {
      if (data.editedArguments !== undefined) this.#edited.set(data.toolCallId, data.editedArguments);
    },
    'thread.run.requires_action': (event) => {
      const { pending } = event.data;
      const outside = pending.filter(({ kind }) => pendingKinds[kind].answeredBy === 'submitToolOutputs');
      for (const { toolCallId } of outside) this.#outside.add(toolCallId);
      this.#announced = true;
      const tool_calls = outside.map((call) => toolCallOf({ ...call, id: call.toolCallId }));
      this.#say(event, 'thread.run.requires_action', { status: 'requires_action', required_action: required(tool_calls), pending });
      if (this.#rest) this.#changeStatus(this.#rest);
    },
    'agent.tool.execution.started': (event) => this.#begin(event, event.data.toolCallId, event.data.name),
    'agent.tool.execution.completed': (event) => {
      const { toolCallId, name, status } = event.data;
      // In AgentB, calls that never ran because the run ended have no events; calls that were rejected or refused ran and failed.
      if (this.#outside.has(toolCallId) || (status === 'skipped' && !this.#started.has(toolCallId))) return;
      this.#begin(event, toolCallId, name);
      const stepId = this.#executionId(toolCallId);
      this.#say(event, 'agent.tool.execution.completed', { stepId, toolCallId, toolName: name, result: resultOf(event.data) });
    },
  };

  #answered(event: DurableEvent<'thread.message.completed'>): void {
    const { message, stepId, model, usage } = event.data;
    this.#usage = addUsage(this.#usage, usage);
    const { added, restarted } = this.#text.finish(wordsOf(message.content));
    this.#grow(event, added, restarted);
    this.#shell = undefined;
    if (model.includes('/')) this.#provider = model.slice(0, model.indexOf('/'));
    this.#calls = toolCallsOf(message.content);
    this.#announced = false;
    for (const call of this.#calls) {
      const toolCall = toolCallOf(call);
      this.#say(event, 'thread.run.step.tool_call.created', { stepId, toolCall });
      this.#say(event, 'thread.run.step.tool_call.completed_by_llm', { stepId, toolCall });
      this.#say(event, 'thread.message.delta', { messageId: message.id, delta: { toolCallsChunk: [toolCall] } });
    }
    this.#say(event, 'thread.message.completed', { message: messageOf(event, message, stepId) });
  }

  #grow(event: DurableEvent | EphemeralEvent, added: string, restarted: boolean): void {
    const shell = this.#shell;
    if (!shell) return;
    if (restarted) this.#say(event, 'thread.message.created', { message: { ...shell, metadata: { ...shell.metadata } } });
    if (added !== '') this.#say(event, 'thread.message.delta', { messageId: shell.id, delta: { contentChunk: added } });
  }

  /** The announced message will not be completed. */
  #giveUp(event: DurableEvent, reason: string): void {
    const shell = this.#shell;
    this.#shell = undefined;
    this.#text.drop();
    if (shell) this.#say(event, 'thread.message.incomplete', { messageId: shell.id, reason });
  }

  /** Each call begins once. Before the first call of a turn, AgentB announces which calls are about to run. */
  #begin(event: DurableEvent, toolCallId: string, toolName: string): void {
    if (this.#started.has(toolCallId)) return;
    this.#started.add(toolCallId);
    if (!this.#announced) {
      this.#announced = true;
      this.#say(event, 'thread.run.requires_action', {
        status: 'in_progress',
        required_action: required(this.#calls.map(toolCallOf)),
      });
    }
    const written = this.#calls.find(({ id }) => id === toolCallId)?.arguments ?? '';
    const input = parseObject(this.#edited.get(toolCallId) ?? written) ?? {};
    this.#say(event, 'agent.tool.execution.started', { stepId: this.#executionId(toolCallId), toolCallId, toolName, input });
  }

  #executionId(toolCallId: string): string {
    return `${this.#stepId}-tool_exec-${toolCallId}`;
  }

  #changeStatus(event: DurableEvent<'agent.run.status.changed'>): void {
    this.#rest = undefined;
    this.#move(event, statusOf(event.data.status), event.data.details);
  }

  #move(event: AgentEvent, currentStatus: AgentBStatus, details?: string): void {
    const previousStatus = this.#status;
    this.#status = currentStatus;
    this.#say(event, 'agent.run.status.changed', { ...(previousStatus && { previousStatus }), currentStatus, ...(details && { details }) });
  }

  #end(event: TerminalEvent): void {
    // Needed if the log has no `thread.message.incomplete`: the thread was terminated, or is from the first release.
    this.#giveUp(event, event.type === 'thread.run.cancelled' ? 'cancelled' : 'failed');
    if (event.type === 'thread.run.completed') {
      const finalMessages = event.data.finalMessages.map((message) => messageOf(event, message, message.stepId));
      this.#say(event, 'thread.run.completed', { status: 'completed', finalMessages, usage: usageOf(event.data.usage) });
    } else if (event.type === 'thread.run.cancelled') {
      if (this.#status !== 'cancelling') this.#move(event, 'cancelling', event.data.reason);
      this.#move(event, 'cancelled', 'Run cancelled by request.');
      this.#say(event, 'thread.run.cancelled', { status: 'cancelled', ...event.data });
    } else {
      const status = event.type === 'thread.run.expired' ? 'expired' : 'failed';
      this.#say(event, 'thread.run.failed', { status, error: errorOf(event, this.#provider), usage: usageOf(this.#usage) });
    }
    this.#calls = [];
    for (const seen of [this.#edited, this.#outside, this.#started]) seen.clear();
  }

  #say<T extends AgentBEventType>({ timestamp, runId, threadId }: AgentEvent, type: T, data: AgentBEventData[T]): void {
    this.#out.push({ type, timestamp, runId: runId ?? '', threadId, data } as AgentBEvent);
  }
}
