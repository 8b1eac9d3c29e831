import { contextLeftPercent } from '../../core/context/budget';
import {
  type AgentEvent,
  type DurableEvent,
  type DurableEventData,
  type EphemeralEventData,
  isTerminal,
  type PendingCall,
  type SpentOnCall,
  type TerminalEvent,
} from '../../core/event';
import { defaultRetry, type FailedAttempt } from '../../core/failure';
import { addUsage, type Message, noUsage, reasoningOf, toolCallsOf, type Usage, wordsOf } from '../../core/message';
import { CodeliaCalls } from './calls';
import { errorOf, finalOf, type Item, type Said, said, stoppedWords } from './item';
import { type CodeliaEvent, type CodeliaStatus, providerOf, retryKindOf, usageWords, wholeText } from './words';

export interface CodeliaOptions {
  /** `provider/model`, if it is known before the first answer reports it. */
  model?: string | undefined;
  /** The model's context window in tokens. Without it the remaining context is not reported. */
  contextWindow?: number | undefined;
}

type Handlers = {
  [T in AgentEvent['type']]?: (data: Extract<AgentEvent, { type: T }>['data'], event: Extract<AgentEvent, { type: T }>) => void;
};

/** Whether a call waits for an output or an answer from outside. Approvals have items of their own, and a call of unknown outcome looks like a running one. */
const waitsOutside: Record<PendingCall['kind'], boolean> = {
  approval: false,
  output: true,
  question: true,
  'tool-question': true,
  outcome: false,
  limit: false,
  reply: false,
};

/** The fold that all projections to codelia share. */
export class CodeliaItems {
  readonly #contextWindow: number | undefined;
  #out: Item[] = [];
  #envelope = { runId: '', threadId: '', at: '' };
  #model: string | undefined;
  #status: CodeliaStatus | undefined;
  #percent: number | null = null;
  /** A cancel was requested: nothing new begins, but calls that began still get their results. */
  #cancelling = false;
  /** A person rejected a call and ended the run with it. */
  #stopped = false;
  /** The run waits, but not for a call. */
  #resting = false;
  /** Whether a model is summarizing the older part of the transcript. */
  #compacting = false;
  #usage: Usage = noUsage;
  /** The number of model calls of the thread so far. */
  #invokeSeq = 0;
  #requestedAt = '';
  #unsent: Message[] = [];
  #messageId = '';
  #reasoning = { attempt: 1, text: '' };
  #retries = { shown: new Set<number>(), max: defaultRetry.maxAttempts };
  #turn = 0;
  /** Retries of a turn whose durable beginning has not arrived yet, because live events may overtake durable ones. */
  #early: EphemeralEventData['agent.llm.retry'][] = [];
  /** An answer without calls and the items after it. The answer becomes a `text`, unless the run ends with it. */
  #held: Said[] | undefined;
  readonly #calls = new CodeliaCalls((item) => this.#emit(item));

  constructor({ model, contextWindow }: CodeliaOptions = {}) {
    this.#model = model;
    this.#contextWindow = contextWindow;
  }

  push(event: AgentEvent): Item[] {
    if (event.runId === null) return [];
    this.#out = [];
    this.#envelope = { runId: event.runId, threadId: event.threadId, at: event.timestamp };
    if (isTerminal(event)) this.#end(event);
    else (this.#handlers[event.type] as ((data: unknown, event: AgentEvent) => void) | undefined)?.(event.data, event);
    return this.#out;
  }

  readonly #handlers: Handlers = {
    'agent.run.created': ({ initialMessages }) => {
      this.#status = undefined;
      this.#cancelling = false;
      this.#stopped = false;
      this.#resting = false;
      this.#usage = noUsage;
      this.#turn = 0;
      this.#calls.open([]);
      this.#held = undefined;
      this.#emit({ kind: 'start', input: initialMessages, ...(this.#model && { model: this.#model }) });
      this.#emit({ kind: 'status', status: 'running' });
    },
    'agent.run.status.changed': ({ status }) => {
      if (status === 'cancelling') {
        this.#cancelling = true;
        this.#calls.stop();
      }
      if (status === 'suspended') this.#rest();
      if (status === 'in_progress' && this.#resting) {
        this.#resting = false;
        this.#emit({ kind: 'status', status: 'running' });
      }
    },
    'agent.run.step.created': ({ turn }) => {
      this.#turn = turn;
      this.#release();
    },
    'thread.message.created': ({ message, inProgress }) => {
      if (inProgress) return this.#begin(message.id);
      this.#unsent.push(message);
      if (message.role !== 'user') return;
      this.#release();
      this.#emit({ kind: 'input', content: wholeText(message.content) });
    },
    'thread.message.delta': ({ messageId, attempt, reasoningChunk, restart }) => {
      if (messageId !== this.#messageId || attempt < this.#reasoning.attempt) return;
      if (restart || attempt > this.#reasoning.attempt) this.#reasoning = { attempt, text: '' };
      this.#reasoning.text += reasoningChunk ?? '';
    },
    'agent.llm.retry': (data) => {
      if (data.turn > this.#turn) this.#early.push(data);
      else if (data.turn === this.#turn) this.#retryNow(data);
    },
    'thread.message.completed': (data, event) => this.#answered(data, event),
    'agent.run.summarized': ({ usage, model, costUsd, output, durationMs, attempts = [], failed }, { timestamp }) => {
      this.#request('', new Date(Date.parse(timestamp) - durationMs).toISOString());
      this.#missedRetries(attempts);
      if (failed !== undefined) return;
      const message: Message = { id: '', role: 'assistant', content: [{ type: 'text', text: output }], attempt: 1 };
      this.#respond(message, 'stop', usage, model, costUsd);
    },
    'agent.run.suspended': ({ output }, { timestamp }) => {
      this.#release();
      if (output !== '') this.#tell({ type: 'text', content: output, timestamp: Date.parse(timestamp) });
    },
    'thread.context.compaction.started': (_, { timestamp }) => {
      this.#later({ type: 'compaction_start', timestamp: Date.parse(timestamp) });
      this.#compacting = true;
    },
    'thread.context.compacted': ({ spent }, { timestamp }) => this.#compacted(true, spent, timestamp),
    'thread.context.kept': ({ spent }, { timestamp }) => this.#compacted(false, spent, timestamp),
    'agent.approval.requested': ({ toolCall, reason }) => this.#calls.asked(toolCall, reason),
    'agent.approval.decided': ({ toolCallId, stop }) => {
      this.#stopped ||= stop === true;
      this.#calls.decided(toolCallId);
    },
    'thread.run.requires_action': ({ pending }) => {
      for (const { kind, toolCallId } of pending) {
        if (!this.#calls.has(toolCallId)) this.#rest();
        else if (waitsOutside[kind]) this.#calls.waits(toolCallId);
      }
    },
    'agent.tool.execution.started': ({ toolCallId }, { timestamp }) => this.#calls.started(toolCallId, timestamp),
    'agent.tool.execution.completed': (data, { timestamp }) => this.#calls.completed(data, timestamp),
  };

  /** A turn's model call. */
  #begin(messageId: string): void {
    this.#retries.shown.clear();
    this.#request(messageId);
    const early = this.#early.splice(0);
    for (const data of early) if (data.turn === this.#turn) this.#retryNow(data);
  }

  #request(messageId: string, at = this.#envelope.at): void {
    this.#messageId = messageId;
    this.#reasoning = { attempt: 1, text: '' };
    this.#invokeSeq += 1;
    this.#requestedAt = at;
    this.#emit({ kind: 'request', seq: this.#invokeSeq, ...(this.#model && { model: this.#model }), messages: this.#unsent });
    this.#unsent = [];
  }

  #respond(message: Message, stopReason: string, usage: Usage, model: string, costUsd: number | undefined): void {
    this.#model = model;
    this.#messageId = '';
    this.#usage = addUsage(this.#usage, usage);
    const cost = costUsd === undefined ? {} : { costUsd };
    const words = usageWords(model, usage);
    this.#emit({
      kind: 'response',
      seq: this.#invokeSeq,
      requestedAt: this.#requestedAt,
      messages: [message],
      stopReason,
      usage: words,
      ...cost,
    });
    const percent = contextLeftPercent(words.total_tokens, this.#contextWindow);
    if (percent !== null && percent !== this.#percent) this.#emit({ kind: 'context', percent });
    this.#percent = percent ?? this.#percent;
  }

  #answered(data: DurableEventData['thread.message.completed'], { timestamp }: DurableEvent): void {
    const { message, finishReason, usage, model, costUsd, attempts = [] } = data;
    this.#model = model;
    this.#missedRetries(attempts);
    // Later retries belong to the closing summary.
    this.#retries.shown.clear();
    const at = Date.parse(timestamp);
    const reasoning = this.#reasoning.text || reasoningOf(message.content);
    const calls = toolCallsOf(message.content);
    this.#respond(message, finishReason, usage, model, costUsd);
    if (reasoning !== '') this.#tell({ type: 'reasoning', content: reasoning, timestamp: at });
    this.#calls.hosted(message.content);
    const content = wordsOf(message.content);
    const text: CodeliaEvent = { type: 'text', content, timestamp: at };
    if (calls.length === 0) this.#held = content === '' ? [] : [said(text)];
    else if (content !== '') this.#tell(text);
    this.#calls.open(calls);
  }

  /** Without a side channel, retries are known only from the answer or the failure. */
  #missedRetries(attempts: readonly FailedAttempt[]): void {
    for (const [i, { kind, waitMs, waitSource = 'backoff', status }] of attempts.entries()) {
      if (waitMs !== undefined) this.#retry(i + 2, kind, waitMs, waitSource, status);
    }
  }

  #retryNow({ nextAttempt, maxAttempts, failureKind, delayMs, delaySource }: EphemeralEventData['agent.llm.retry']): void {
    this.#retries.max = maxAttempts;
    this.#retry(nextAttempt, failureKind, delayMs, delaySource);
  }

  #retry(next: number, failureKind: string, delayMs: number, delay_source: 'retry-after' | 'backoff', status?: number): void {
    if (this.#retries.shown.has(next)) return;
    this.#retries.shown.add(next);
    this.#tell({
      type: 'llm.retry',
      provider: providerOf(this.#model),
      failure_kind: retryKindOf(failureKind),
      next_attempt: next,
      max_attempts: Math.max(next, this.#retries.max),
      delay_ms: delayMs,
      delay_source,
      ...(status !== undefined && { status }),
    });
  }

  #rest(): void {
    this.#release();
    this.#resting = true;
    this.#emit({ kind: 'status', status: 'awaiting_ui' });
  }

  /** The held answer was not the last of the run. */
  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const item of held) this.#emit(item);
  }

  #end(event: TerminalEvent): void {
    switch (event.type) {
      case 'thread.run.completed':
        return this.#complete(finalOf(event));
      case 'thread.run.incomplete':
        return this.#complete(finalOf(event), event.data.message);
      case 'thread.run.cancelled':
        if ((this.#stopped || event.data.stopped) && !this.#cancelling) return this.#complete(stoppedWords, event.data.reason);
        this.#held = undefined;
        return this.#close('cancelled', event.data.reason);
      case 'thread.run.failed': {
        const { attempts = [], maxAttempts } = event.data.details ?? {};
        this.#retries.max = maxAttempts ?? this.#retries.max;
        this.#missedRetries(attempts);
      }
    }
    this.#release();
    const error = errorOf(event, this.#model);
    this.#emit({ kind: 'error', error });
    this.#close('error', error.message);
  }

  #complete(final: string, message?: string): void {
    this.#held = this.#held?.filter((item) => item.kind !== 'event' || item.event.type !== 'text' || item.event.content.trim() !== final);
    this.#release();
    this.#emit(said({ type: 'final', content: final }));
    this.#close('completed', message, final);
  }

  #close(outcome: 'completed' | 'error' | 'cancelled', message?: string, final?: string): void {
    this.#emit({ kind: 'status', status: outcome, ...(message && { message }) });
    this.#emit({ kind: 'end', outcome, ...(final !== undefined && { final }), usage: this.#usage });
  }

  /** After an answer that may be the last, later items are held with it. */
  #later(...events: CodeliaEvent[]): void {
    for (const event of events) {
      if (this.#held) this.#held.push(said(event));
      else this.#tell(event);
    }
  }

  /** The end of a compaction. One without a model call has no beginning of its own, and none is told of that changed nothing. */
  #compacted(compacted: boolean, spent: SpentOnCall | undefined, timestamp: string): void {
    if (spent) this.#usage = addUsage(this.#usage, spent.usage);
    const at = Date.parse(timestamp);
    if (!this.#compacting && compacted) this.#later({ type: 'compaction_start', timestamp: at });
    if (this.#compacting || compacted) this.#later({ type: 'compaction_complete', timestamp: at, compacted });
    this.#compacting = false;
  }

  #tell(event: CodeliaEvent): void {
    if (!this.#cancelling) this.#emit(said(event));
  }

  /** `running` and `awaiting_ui` alternate. */
  #emit(item: Said): void {
    if (item.kind === 'status') {
      if (item.status === this.#status) return;
      this.#status = item.status;
    }
    this.#out.push({ ...this.#envelope, ...item });
  }
}
