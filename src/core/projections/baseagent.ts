import type { LimitName } from '../agent';
import { type AgentEvent, type DurableEvent, type EphemeralEvent, isDurable, isTerminal, type TerminalEvent } from '../event';
import type { FailedAttempt } from '../failure';
import { addUsage, noUsage, type Usage } from '../message';
import { BaseAgentCalls } from './baseagent-calls';
import type { BaseAgentItem } from './baseagent-items';
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

/** The log as the lines that BaseAgent prints. Whatever can't be told becomes an `error` line, and the rest goes on. */
export function baseagentLines(): Projection<BaseAgentLine> {
  const lines = new Lines();
  return { push: (event) => lines.push(event) };
}

class Lines {
  #out: BaseAgentLine[] = [];
  #threadStarted = false;
  #open = false;
  #ended: string | null = null;
  #lastItem = 0;
  #usage: Usage = noUsage;
  #turn = 0;
  #reasoning = { attempt: 0, text: '' };
  /** Failed attempts at the model call under way that are told already, by their numbers. */
  #toldAttempts = new Set<number>();
  #calls = new BaseAgentCalls(
    (type, item) => this.#out.push({ type, item }),
    () => this.#newId(),
  );
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
    for (const late of this.#late.splice(0)) this.#calls.finishLater(late.data);
    return true;
  }

  #fold(event: AgentEvent): void {
    switch (event.type) {
      case 'agent.run.step.created':
        this.#turn = event.data.turn;
        this.#toldAttempts.clear();
        this.#reasoning = { attempt: 0, text: '' };
        return;
      case 'thread.message.delta':
        return this.#think(event);
      case 'agent.llm.retry':
        if (event.data.turn === this.#turn) this.#tellAttempt(event.data.nextAttempt - 1, event.data.failureKind, event.data.message);
        return;
      case 'thread.message.completed':
        return this.#answer(event);
      case 'agent.run.summarized':
        return this.#summary(event);
      case 'agent.approval.decided':
        return this.#calls.edit(event.data);
      case 'thread.run.requires_action':
        // These are carried out elsewhere from now on.
        for (const { kind, toolCallId, name } of event.data.pending)
          if (kind === 'output' || kind === 'question') this.#calls.begin(toolCallId, name);
        return;
      case 'agent.tool.execution.started':
        return this.#calls.begin(event.data.toolCallId, event.data.name);
      case 'agent.tool.progress':
        return this.#calls.progress(event.data);
      case 'agent.tool.execution.completed':
        return this.#calls.finish(event.data);
      case 'agent.tool.background.completed':
        return this.#calls.finishLater(event.data);
      case 'agent.hook.completed':
        for (const { id, message } of event.data.errors ?? []) this.#error(`Hook ${event.data.hook} (${id}) failed: ${message}`);
        return;
      default:
        if (isTerminal(event)) this.#end(event);
    }
  }

  #think({ data: { turn, attempt, reasoningChunk, snapshot } }: EphemeralEvent<'thread.message.delta'>): void {
    if (turn !== this.#turn) return;
    if (attempt !== this.#reasoning.attempt) this.#reasoning = { attempt, text: '' };
    if (reasoningChunk) this.#reasoning.text = snapshot ? reasoningChunk : this.#reasoning.text + reasoningChunk;
  }

  #answer({ data: { message, usage, attempts } }: DurableEvent<'thread.message.completed'>): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#tellAttempts(attempts);
    const thought = this.#reasoning.attempt === message.attempt ? this.#reasoning.text : '';
    if (thought) this.#out.push({ type: 'item.completed', item: { id: this.#newId(), type: 'reasoning', text: thought } });
    this.#said(message.refusal || message.content);
    this.#calls.asked(message.toolCalls);
  }

  #summary({ data: { output, usage, attempts } }: DurableEvent<'agent.run.summarized'>): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#tellAttempts(attempts);
    this.#said(output);
  }

  #said(text: string): void {
    if (text) this.#out.push({ type: 'item.completed', item: { id: this.#newId(), type: 'agent_message', text } });
  }

  /** Of a model call that has ended. */
  #tellAttempts(attempts: FailedAttempt[] = []): void {
    for (const [i, { kind, message }] of attempts.entries()) this.#tellAttempt(i + 1, kind, message);
    this.#toldAttempts.clear();
  }

  /** Once each, be it told live or with the answer. */
  #tellAttempt(number: number, kind: string, message: string): void {
    if (this.#toldAttempts.has(number)) return;
    this.#toldAttempts.add(number);
    this.#error(`The model call failed (${kind}) and is tried again: ${message}`);
  }

  #end(event: TerminalEvent): void {
    const attempts = event.type === 'thread.run.failed' ? event.data.details?.attempts : undefined;
    // The last is the failure itself.
    this.#tellAttempts(attempts?.slice(0, -1));
    this.#calls.endTurn();
    this.#out.push(this.#lastLine(event));
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
    this.#out.push({ type: 'item.completed', item: { id: this.#newId(), type: 'error', message } });
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
