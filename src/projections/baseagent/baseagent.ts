import type { LimitName } from '../../core/agent';
import {
  type AgentEvent,
  type DurableEvent,
  type DurableEventData,
  type EphemeralEvent,
  isDurable,
  isTerminal,
  pendingKinds,
  type TerminalEvent,
} from '../../core/event';
import type { FailedAttempt } from '../../core/failure';
import { addUsage, noUsage, reasoningOf, toolCallsOf, type Usage, wordsOf } from '../../core/message';
import type { Projection } from '../projection';
import { BaseAgentCalls } from './calls';
import type { BaseAgentItem } from './items';

/** One line of BaseAgent's output, in which each run is a turn. */
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

/** A projection to the lines that BaseAgent prints. A line that can't be serialized becomes an `error` line. */
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
  /** The numbers of the current model call's failed attempts that were already reported. */
  #toldAttempts = new Set<number>();
  #calls = new BaseAgentCalls(
    (type, item) => this.#out.push({ type, item }),
    () => this.#newId(),
  );
  /** Results that arrived between two turns. The next turn begins with them. */
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

  /** Opens the turn if the event is the first of its run. The format has no equivalent for events between runs. */
  #belongsToTurn(event: AgentEvent): boolean {
    if (this.#open) return true;
    // The run was ended from outside before its first event. Readers must still get the failure.
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
      case 'thread.context.compacted':
      case 'thread.context.kept':
        return this.#compaction(event.data);
      case 'agent.llm.fallback':
        return this.#error(`${event.data.model} failed (${event.data.code}): ${event.data.message} ${event.data.nextModel} is asked.`);
      case 'agent.approval.decided':
        return this.#calls.edit(event.data);
      case 'thread.run.requires_action':
        // From now on these calls are executed elsewhere.
        for (const { kind, toolCallId, name } of event.data.pending)
          if (pendingKinds[kind].answeredBy === 'submitToolOutputs') this.#calls.begin(toolCallId, name);
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
    const live = this.#reasoning.attempt === message.attempt ? this.#reasoning.text : '';
    const thought = live || reasoningOf(message.content);
    if (thought) this.#out.push({ type: 'item.completed', item: { id: this.#newId(), type: 'reasoning', text: thought } });
    this.#said(wordsOf(message.content));
    this.#calls.asked(toolCallsOf(message.content));
  }

  #summary({ data: { output, usage, attempts } }: DurableEvent<'agent.run.summarized'>): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#tellAttempts(attempts);
    this.#said(output);
  }

  #compaction({ spent }: DurableEventData['thread.context.kept'] | DurableEventData['thread.context.compacted']): void {
    if (!spent) return;
    this.#usage = addUsage(this.#usage, spent.usage);
    this.#tellAttempts(spent.attempts);
  }

  #said(text: string): void {
    if (text) this.#out.push({ type: 'item.completed', item: { id: this.#newId(), type: 'agent_message', text } });
  }

  /** Reports the failed attempts of a model call that has ended. */
  #tellAttempts(attempts: FailedAttempt[] = []): void {
    for (const [i, { kind, message }] of attempts.entries()) this.#tellAttempt(i + 1, kind, message);
    this.#toldAttempts.clear();
  }

  /** Reports each attempt once, whether it arrives live or with the answer. */
  #tellAttempt(number: number, kind: string, message: string): void {
    if (this.#toldAttempts.has(number)) return;
    this.#toldAttempts.add(number);
    this.#error(`The model call failed (${kind}) and is tried again: ${message}`);
  }

  #end(event: TerminalEvent): void {
    const attempts = event.type === 'thread.run.failed' ? event.data.details?.attempts : undefined;
    // The last attempt is the failure itself.
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

  /** Ids count through the whole thread, so that they are unique within one output. */
  #newId(): string {
    this.#lastItem += 1;
    return `item_${this.#lastItem}`;
  }
}

function failedTurn(message: string): BaseAgentLine {
  return { type: 'turn.failed', error: { message } };
}

/** The line, or an `error` line if it can't be written as JSON. */
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
