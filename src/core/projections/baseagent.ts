import type { LimitName } from '../agent';
import { type AgentEvent, type DurableEvent, type EphemeralEvent, isDurable, isTerminal, type TerminalEvent } from '../event';
import type { FailedAttempt } from '../failure';
import { addUsage, noUsage, type ToolCall, type Usage } from '../message';
import { type BaseAgentItem, type CallItem, callItem, endedItem, outcomeOf, type Todo, todosAfter } from './baseagent-items';
import type { Projection } from './projection';

/** One line of BaseAgent's output. Each run is a turn of it. */
export type BaseAgentLine =
  | { type: 'thread.started'; thread_id: string }
  | { type: 'turn.started' }
  | { type: 'item.started' | 'item.updated' | 'item.completed'; item: BaseAgentItem }
  /** `stop_reason`: `completed`, or the limit that ended the turn. */
  | {
      type: 'turn.completed';
      usage: { input_tokens: number; cached_input_tokens: number; output_tokens: number };
      stop_reason: 'completed' | (typeof limitReasons)[LimitName];
    }
  | { type: 'turn.failed'; error: { message: string } }
  | { type: 'error'; message: string };

const limitReasons = {
  turns: 'max_iterations',
  toolRounds: 'max_tool_rounds',
  toolCalls: 'max_tool_calls',
  tokens: 'max_tokens',
  costUsd: 'max_cost',
  wallClockMs: 'max_time',
  contextTokens: 'max_context',
} as const satisfies Record<LimitName, string>;

/** Of what a running tool says, an update repeats no more than the newest. */
const shownProgress = 2_000;

/** The log as the lines that BaseAgent prints. Whatever can't be told becomes an `error` line, and the rest goes on. */
export function baseagentLines(): Projection<BaseAgentLine> {
  const lines = new Lines();
  return { push: (event) => lines.push(event) };
}

interface OpenCall {
  item: CallItem;
  name: string;
  attempt: number;
  progress: string;
}

class Lines {
  #out: BaseAgentLine[] = [];
  #threadStarted = false;
  #open = false;
  #ended: string | null = null;
  #lastItem = 0;
  #usage: Usage = noUsage;
  #calls = new Map<string, ToolCall>();
  #running = new Map<string, OpenCall>();
  #todos: { id: string; items: Todo[] } | undefined;
  #reasoning = { attempt: 0, text: '' };
  /** Failed attempts at the model call under way that are told already, by their numbers. */
  #toldAttempts = new Set<number>();
  /** Calls whose result comes later. */
  #background = new Set<string>();
  /** Results that came between two turns: the next one begins with them. */
  #late: DurableEvent<'agent.tool.background.completed'>[] = [];

  push(event: AgentEvent): BaseAgentLine[] {
    try {
      if (this.#belongsToTurn(event)) this.#fold(event);
      else if (event.type === 'agent.tool.background.completed' && this.#threadStarted) this.#late.push(event);
    } catch (error) {
      this.#out.push(unsaid(error));
    }
    return this.#out.splice(0).map(sayable);
  }

  /** Opens the turn where the event is the first of its run. What comes between runs has no place in this format. */
  #belongsToTurn(event: AgentEvent): boolean {
    if (this.#open) return true;
    // Ended from outside before anything happened: a reader still learns that it failed.
    const stillborn = event.type === 'thread.run.expired' && !this.#threadStarted;
    if (!isDurable(event) || (!stillborn && (event.runId === null || event.runId === this.#ended))) return false;
    if (!this.#threadStarted) this.#out.push({ type: 'thread.started', thread_id: event.threadId });
    this.#threadStarted = true;
    this.#open = true;
    this.#usage = noUsage;
    this.#out.push({ type: 'turn.started' });
    for (const late of this.#late.splice(0)) this.#laterResult(late);
    return true;
  }

  #fold(event: AgentEvent): void {
    switch (event.type) {
      case 'agent.run.step.created':
        this.#toldAttempts.clear();
        this.#reasoning = { attempt: 0, text: '' };
        return;
      case 'thread.message.delta':
        return this.#think(event);
      case 'agent.llm.retry':
        return this.#tellAttempt(event.data.nextAttempt - 1, event.data.failureKind, event.data.message);
      case 'thread.message.completed':
        return this.#answer(event);
      case 'agent.run.summarized':
        return this.#summary(event);
      case 'agent.approval.decided':
        return this.#edit(event.data.toolCallId, event.data.editedArguments);
      case 'thread.run.requires_action':
        // These are carried out elsewhere from now on.
        for (const { kind, toolCallId, name } of event.data.pending)
          if (kind === 'output' || kind === 'question') this.#begin(toolCallId, name);
        return;
      case 'agent.tool.execution.started':
        this.#begin(event.data.toolCallId, event.data.name);
        return;
      case 'agent.tool.progress':
        return this.#progress(event.data);
      case 'agent.tool.execution.completed':
        return this.#finish(event.data);
      case 'agent.tool.background.completed':
        return this.#laterResult(event);
      case 'agent.hook.completed':
        for (const { id, message } of event.data.errors ?? []) this.#error(`Hook ${event.data.hook} (${id}) failed: ${message}`);
        return;
      default:
        if (isTerminal(event)) this.#end(event);
    }
  }

  #think({ data: { attempt, reasoningChunk, snapshot } }: EphemeralEvent<'thread.message.delta'>): void {
    if (attempt !== this.#reasoning.attempt) this.#reasoning = { attempt, text: '' };
    if (reasoningChunk) this.#reasoning.text = snapshot ? reasoningChunk : this.#reasoning.text + reasoningChunk;
  }

  #answer({ data: { message, usage, attempts } }: DurableEvent<'thread.message.completed'>): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#tellAttempts(attempts);
    const thought = this.#reasoning.attempt === message.attempt ? this.#reasoning.text : '';
    if (thought) this.#item('item.completed', { id: this.#newId(), type: 'reasoning', text: thought });
    this.#said(message.refusal || message.content);
    for (const call of message.toolCalls) this.#calls.set(call.id, call);
  }

  #summary({ data: { output, usage, attempts } }: DurableEvent<'agent.run.summarized'>): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#toldAttempts.clear();
    this.#tellAttempts(attempts);
    this.#said(output);
  }

  #said(text: string): void {
    if (text) this.#item('item.completed', { id: this.#newId(), type: 'agent_message', text });
  }

  #tellAttempts(attempts: FailedAttempt[] = []): void {
    for (const [i, { kind, message }] of attempts.entries()) this.#tellAttempt(i + 1, kind, message);
  }

  /** Once each, be it told live or with the answer. */
  #tellAttempt(number: number, kind: string, message: string): void {
    if (this.#toldAttempts.has(number)) return;
    this.#toldAttempts.add(number);
    this.#error(`The model call failed (${kind}) and is tried again: ${message}`);
  }

  #edit(id: string, text: string | undefined): void {
    const call = this.#calls.get(id);
    if (call && text !== undefined) this.#calls.set(id, { ...call, arguments: text });
  }

  #begin(id: string, name: string): void {
    const call = this.#callOf(id, name);
    // A list of things to do is told when the call has succeeded, as the list that it is then.
    if (!this.#running.has(id) && !todosAfter(call, [])) this.#beginItem(call);
  }

  #callOf(id: string, name: string): ToolCall {
    return this.#calls.get(id) ?? { id, name, arguments: '' };
  }

  #beginItem(call: ToolCall): OpenCall {
    const open = { item: callItem(this.#newId(), call), name: call.name, attempt: 1, progress: '' };
    this.#running.set(call.id, open);
    this.#item('item.started', open.item);
    return open;
  }

  #progress({ toolCallId, attempt, message }: EphemeralEvent<'agent.tool.progress'>['data']): void {
    const open = this.#running.get(toolCallId);
    if (!open) return;
    open.progress = attempt === open.attempt && open.progress ? `${open.progress}\n${message}`.slice(-shownProgress) : message;
    open.attempt = attempt;
    this.#item('item.updated', { ...open.item, aggregated_output: open.progress });
  }

  #finish(data: DurableEvent<'agent.tool.execution.completed'>['data']): void {
    const call = this.#callOf(data.toolCallId, data.name);
    if (data.background) this.#background.add(call.id);
    const todos = data.status === 'success' ? todosAfter(call, this.#todos?.items ?? []) : undefined;
    if (todos) return this.#tellTodos(todos);
    const { item } = this.#running.get(call.id) ?? this.#beginItem(call);
    this.#running.delete(call.id);
    this.#item('item.completed', endedItem(item, call.name, outcomeOf(data)));
  }

  #tellTodos(items: Todo[]): void {
    const known = this.#todos;
    this.#todos = { id: known?.id ?? this.#newId(), items };
    this.#item(known ? 'item.updated' : 'item.started', { type: 'todo_list', ...this.#todos });
  }

  /** The call's item ended with the placeholder that the model was given; what came of it is an item of its own. */
  #laterResult({ data: { message, ...data } }: DurableEvent<'agent.tool.background.completed'>): void {
    const call = this.#callOf(data.toolCallId, data.name);
    this.#background.delete(call.id);
    const item = callItem(this.#newId(), call);
    this.#item('item.started', item);
    const outcome = outcomeOf({ ...data, stepId: '', messageId: message.id, output: message.role === 'assistant' ? '' : message.content });
    this.#item('item.completed', endedItem(item, call.name, outcome));
  }

  #end(event: TerminalEvent): void {
    const attempts = event.type === 'thread.run.failed' ? event.data.details?.attempts : undefined;
    // The last is the failure itself.
    this.#tellAttempts(attempts?.slice(0, -1));
    for (const { item, name, progress } of this.#running.values())
      this.#item('item.completed', endedItem(item, name, { status: 'failed', aggregated_output: progress, exit_code: 1 }));
    this.#running.clear();
    if (this.#todos) this.#item('item.completed', { type: 'todo_list', ...this.#todos });
    this.#todos = undefined;
    this.#out.push(this.#lastLine(event));
    for (const id of this.#calls.keys()) if (!this.#background.has(id)) this.#calls.delete(id);
    this.#open = false;
    this.#ended = event.runId;
  }

  #lastLine(event: TerminalEvent): BaseAgentLine {
    const { inputTokens, cachedInputTokens, outputTokens } = ('usage' in event.data && event.data.usage) || this.#usage;
    const usage = { input_tokens: inputTokens, cached_input_tokens: cachedInputTokens, output_tokens: outputTokens };
    switch (event.type) {
      case 'thread.run.completed':
        return { type: 'turn.completed', usage, stop_reason: 'completed' };
      case 'thread.run.incomplete':
        if (event.data.limit === 'costUsd') return failedTurn(`Cost limit exceeded: ${event.data.message}`);
        return { type: 'turn.completed', usage, stop_reason: limitReasons[event.data.limit] };
      case 'thread.run.cancelled': {
        const { by, reason } = event.data;
        return failedTurn(`Cancelled${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`);
      }
      default:
        return failedTurn(event.data.message);
    }
  }

  #error(message: string): void {
    this.#item('item.completed', { id: this.#newId(), type: 'error', message });
  }

  #item(type: 'item.started' | 'item.updated' | 'item.completed', item: BaseAgentItem): void {
    this.#out.push({ type, item });
  }

  /** Counted through the whole thread, so that no two items of one output share an id. */
  #newId(): string {
    this.#lastItem += 1;
    return `item_${this.#lastItem}`;
  }
}

function failedTurn(message: string): BaseAgentLine {
  return { type: 'turn.failed', error: { message } };
}

/** The line, or where it can't be written as JSON, what stands in its place. */
function sayable(line: BaseAgentLine): BaseAgentLine {
  try {
    JSON.stringify(line);
    return line;
  } catch (error) {
    return unsaid(error);
  }
}

function unsaid(error: unknown): BaseAgentLine {
  return { type: 'error', message: `Failed to emit event: ${(error as Error)?.message ?? String(error)}` };
}
