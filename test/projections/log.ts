import {
  type AgentEvent,
  type DurableEvent,
  type DurableEventData,
  type DurableEventType,
  type EphemeralEventData,
  type EphemeralEventType,
  isDurable,
  type PendingCall,
  type RunStatus,
} from '../../src/core/event';
import type { FailedAttempt } from '../../src/core/failure';
import {
  type AnswerPart,
  type AssistantMessage,
  addUsage,
  type Content,
  type Message,
  noUsage,
  type ToolCall,
  type Usage,
  wordsOf,
} from '../../src/core/message';
import { answerParts } from '../support/answer-parts';

/** A call as a test writes it: its id comes by itself, and arguments may be an object. */
export interface CallWords {
  name: string;
  id?: string;
  args?: unknown;
}

export interface AnswerWords {
  /** Of the answer, before its text: reasoning, and what hosted tools did. */
  before?: AnswerPart[];
  refusal?: string;
  finishReason?: DurableEventData['thread.message.completed']['finishReason'];
  usage?: Partial<Usage>;
  model?: string;
  costUsd?: number;
  attempts?: FailedAttempt[];
}

/**
 * Writes logs as a thread records them, in its order (test/workflows/loop.test.ts shows real ones), with live events between. Time goes on by
 * 10 ms an event, and ids are counted, so a log is the same at every run.
 */
export class Log {
  readonly events: AgentEvent[] = [];
  readonly threadId = 'thread_1';
  runId: string | null = null;
  #now = Date.UTC(2026, 0, 1);
  #seq = 0;
  #ids: Record<string, number> = {};
  #turn = 0;
  #status: RunStatus | null = null;
  #runUsage: Usage = noUsage;
  #shell = '';
  #index = 0;
  /** Waiting to be taken in at the next turn. */
  #queue: Message[] = [];
  #calls: ToolCall[] = [];
  #done = new Map<string, Message>();
  #last: AssistantMessage[] = [];

  get stepId(): string {
    return `${this.runId}-turn-${this.#turn}`;
  }

  record<T extends DurableEventType>(type: T, data: DurableEventData[T]): this {
    this.#seq += 1;
    this.events.push({ seq: this.#seq, ...this.#envelope(type), data: structuredClone(data) } as DurableEvent);
    return this;
  }

  live<T extends EphemeralEventType>(type: T, data: EphemeralEventData[T]): this {
    this.events.push({ ...this.#envelope(type), data } as AgentEvent);
    return this;
  }

  /** Lets time pass. */
  wait(ms: number): this {
    this.#now += ms;
    return this;
  }

  begin(input: Content = 'Hello'): this {
    this.#queue.unshift({ id: this.#id('msg'), role: 'user', content: input });
    this.runId = this.#id('run');
    this.#turn = 0;
    this.#status = 'in_progress';
    this.#runUsage = noUsage;
    this.#last = [];
    return this.record('agent.run.created', { status: 'in_progress', initialMessages: [...this.#queue] });
  }

  status(status: RunStatus, details?: string): this {
    this.record('agent.run.status.changed', { status, previousStatus: this.#status, ...(details && { details }) });
    this.#status = status;
    return this;
  }

  say(content: Content): this {
    const message: Message = { id: this.#id('msg'), role: 'user', content };
    this.#queue.push(message);
    return this.record('thread.message.queued', { message });
  }

  /** A turn begins, up to the announcement of the model's message. */
  turn(): this {
    this.#turn += 1;
    const { stepId } = this;
    this.record('agent.run.step.created', { stepId, turn: this.#turn });
    this.#takeIn();
    for (const message of this.#queue.splice(0)) this.record('thread.message.created', { stepId, message });
    this.status('in_progress', `LLM call for turn ${this.#turn}`);
    this.#shell = this.#id('msg');
    this.#index = 0;
    const message: AssistantMessage = { id: this.#shell, role: 'assistant', content: [], attempt: 1 };
    return this.record('thread.message.created', { stepId, message, inProgress: true });
  }

  delta(
    chunk: Pick<EphemeralEventData['thread.message.delta'], 'contentChunk' | 'reasoningChunk' | 'toolCallsChunk' | 'restart'>,
    attempt = 1,
  ): this {
    if (chunk.restart) this.#index = 0;
    return this.live('thread.message.delta', { messageId: this.#shell, turn: this.#turn, attempt, index: this.#index++, ...chunk });
  }

  retry(words: Partial<EphemeralEventData['agent.llm.retry']> = {}): this {
    return this.live('agent.llm.retry', {
      turn: this.#turn,
      nextAttempt: 2,
      maxAttempts: 5,
      delayMs: 700,
      delaySource: 'backoff',
      failureKind: 'rate-limit',
      message: 'the provider asks to slow down',
      ...words,
    });
  }

  answer(text: string, calls: CallWords[] = [], { usage: words, model = 'openai/gpt-x', ...rest }: AnswerWords = {}): this {
    const { stepId } = this;
    const toolCalls = calls.map(({ name, id, args = {} }) => ({
      id: id ?? this.#id('call'),
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    }));
    for (const toolCall of toolCalls) {
      this.record('thread.run.step.tool_call.created', { stepId, toolCall: { id: toolCall.id, name: toolCall.name } });
      this.record('thread.run.step.tool_call.completed_by_llm', { stepId, toolCall });
    }
    const { before = [], refusal, finishReason = calls.length > 0 ? 'tool_calls' : 'stop', costUsd, attempts } = rest;
    const attempt = (attempts?.length ?? 0) + 1;
    const message: AssistantMessage = {
      id: this.#shell,
      role: 'assistant',
      content: [...before, ...answerParts(text, toolCalls, { refusal: refusal ?? '' })],
      attempt,
    };
    const usage = { inputTokens: 100, cachedInputTokens: 40, cacheWriteTokens: 0, outputTokens: 20, reasoningTokens: 5, ...words };
    this.#runUsage = addUsage(this.#runUsage, usage);
    this.#calls = toolCalls;
    this.#last = [message];
    return this.record('thread.message.completed', {
      stepId,
      message,
      finishReason,
      usage,
      model,
      durationMs: 30,
      ...(costUsd !== undefined && { costUsd }),
      ...(attempts && { attempts }),
    });
  }

  /** A whole model call, with the text coming in two pieces. */
  says(text: string, calls: CallWords[] = [], words: AnswerWords = {}): this {
    this.turn();
    const half = Math.ceil(text.length / 2);
    for (const contentChunk of [text.slice(0, half), text.slice(half)]) if (contentChunk) this.delta({ contentChunk });
    return this.answer(text, calls, words);
  }

  started(toolCallId: string): this {
    return this.record('agent.tool.execution.started', { stepId: this.stepId, toolCallId, name: this.#nameOf(toolCallId) });
  }

  progress(toolCallId: string, message: string): this {
    return this.live('agent.tool.progress', { toolCallId, name: this.#nameOf(toolCallId), attempt: 1, message });
  }

  done(toolCallId: string, output: Content, rest: Partial<DurableEventData['agent.tool.execution.completed']> = {}): this {
    const status = rest.status ?? 'success';
    const messageId = this.#id('msg');
    const name = this.#nameOf(toolCallId);
    const isError = status !== 'success';
    this.#done.set(toolCallId, { id: messageId, role: 'tool', toolCallId, name, content: output, isError });
    return this.record('agent.tool.execution.completed', {
      stepId: this.stepId,
      toolCallId,
      name,
      status,
      isError,
      messageId,
      output,
      ...(status === 'success' && { durationMs: 12 }),
      ...rest,
    });
  }

  /** A call that runs and succeeds, unless it is said otherwise. */
  ran(toolCallId: string, output: Content, rest: Partial<DurableEventData['agent.tool.execution.completed']> = {}): this {
    return this.started(toolCallId).done(toolCallId, output, rest);
  }

  ask(toolCallId: string, reason?: string): this {
    return this.record('agent.approval.requested', { stepId: this.stepId, toolCall: this.#call(toolCallId), ...(reason && { reason }) });
  }

  /** The run waits for these calls. */
  rest(kind: PendingCall['kind'], ...ids: string[]): this {
    this.status('requires_action');
    const pending = ids.map((id) => ({ kind, toolCallId: id, name: this.#nameOf(id), arguments: this.#call(id).arguments }));
    return this.record('thread.run.requires_action', { pending });
  }

  decide(toolCallId: string, approved: boolean, words: Partial<DurableEventData['agent.approval.decided']> = {}): this {
    this.record('agent.approval.decided', { toolCallId, approved, by: 'dana', ...words });
    this.status('in_progress', 'Continuing run.');
    if (approved) return this;
    const why = words.reason ? `: ${words.reason}` : '';
    const error = { name: 'ApprovalDeniedError', message: words.reason ?? 'refused' };
    return this.done(toolCallId, `Error: the call was refused by dana${why}.`, { status: 'denied', error });
  }

  submit(toolCallId: string, output: Content): this {
    return this.status('in_progress', 'Continuing run with tool results.').done(toolCallId, output);
  }

  pause(reason = 'look first'): this {
    return this.record('agent.run.paused', { reason, by: 'dana' });
  }

  resume(): this {
    return this.record('agent.run.resumed', { by: 'dana' });
  }

  complete(): this {
    this.#close('the run ended before it');
    const output = this.#last
      .map((m) => wordsOf(m.content))
      .join('')
      .trim();
    return this.#end('thread.run.completed', { finalMessages: this.#last, output, usage: this.#runUsage, turns: this.#turn });
  }

  /** The model call under way failed, or with `announced: false` something else. */
  fail(
    code: string,
    message: string,
    { details, announced = true }: { details?: DurableEventData['thread.run.failed']['details']; announced?: boolean } = {},
  ): this {
    if (announced && this.#shell && this.#last[0]?.id !== this.#shell) this.#void('failed');
    this.#close('the run ended before it');
    return this.#end('thread.run.failed', { code, message, ...(details && { details }) });
  }

  incomplete(words: DurableEventData['thread.run.incomplete']): this {
    this.#close('the run ended before it');
    return this.#end('thread.run.incomplete', words);
  }

  /** `writing`: while the model writes. */
  cancel({ writing = false, ...words }: DurableEventData['thread.run.cancelled'] & { writing?: boolean } = {}): this {
    this.status('cancelling', words.reason);
    if (writing) this.#void('cancelled');
    this.#close('the run was cancelled');
    return this.#end('thread.run.cancelled', words);
  }

  /** The model says closing words, which stay out of the transcript. */
  summarize(output: string, { failed, costUsd }: { failed?: string; costUsd?: number } = {}): this {
    const usage =
      failed === undefined ? { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 10, reasoningTokens: 0 } : noUsage;
    const more = { ...(failed !== undefined && { failed }), ...(costUsd !== undefined && { costUsd }) };
    return this.record('agent.run.summarized', { stepId: this.stepId, output, usage, model: 'openai/gpt-x', durationMs: 9, ...more });
  }

  /** The run is suspended until someone replies. */
  suspend(correlationId: string, output: string): this {
    this.#takeIn();
    this.summarize(output);
    return this.record('agent.run.suspended', { correlationId, expiresAt: '2026-01-08T00:00:00.000Z', output }).status('suspended');
  }

  expire(reason: DurableEventData['thread.run.expired']['reason'] = 'terminated'): this {
    return this.#end('thread.run.expired', { reason, message: `the thread was ${reason}` });
  }

  #void(reason: 'failed' | 'cancelled'): void {
    this.record('thread.message.incomplete', { stepId: this.stepId, messageId: this.#shell, reason });
  }

  #close(why: string): void {
    for (const { id } of this.#calls) if (!this.#done.has(id)) this.done(id, `Error: not executed, because ${why}.`, { status: 'skipped' });
    this.#takeIn();
  }

  #end<T extends DurableEventType>(type: T, data: DurableEventData[T]): this {
    this.record(type, data);
    this.runId = null;
    this.#status = null;
    return this;
  }

  #takeIn(): void {
    for (const { id } of this.#calls) {
      const message = this.#done.get(id);
      if (message) this.record('thread.message.created', { stepId: this.stepId, message });
    }
    this.#calls = [];
    this.#done.clear();
  }

  #call(id: string): ToolCall {
    const call = this.#calls.find((one) => one.id === id);
    if (!call) throw new Error(`the last answer has no call "${id}"`);
    return call;
  }

  #nameOf(id: string): string {
    return this.#call(id).name;
  }

  #id(prefix: string): string {
    this.#ids[prefix] = (this.#ids[prefix] ?? 0) + 1;
    return `${prefix}_${this.#ids[prefix]}`;
  }

  #envelope<T>(type: T) {
    this.#now += 10;
    return { type, timestamp: new Date(this.#now).toISOString(), threadId: this.threadId, runId: this.runId };
  }
}

/** The usual courses of a run. Each call makes a new log. */
export const logs = {
  words: () => new Log().begin().says('Hello there.').complete(),
  oneTool: () =>
    new Log()
      .begin('Add 1 and 2')
      .says('Let me add.', [{ name: 'add', id: 'call_a', args: { a: 1, b: 2 } }])
      .ran('call_a', '3')
      .says('It is 3.')
      .complete(),
  /** Three concurrent calls: the second ends first, the third fails. */
  parallelTools: () =>
    new Log()
      .begin('Look around')
      .says('', [
        { name: 'read_file', id: 'call_a', args: { path: 'a.txt' } },
        { name: 'list_dir', id: 'call_b', args: { path: '.' } },
        { name: 'shell', id: 'call_c', args: { command: 'false' } },
      ])
      .started('call_a')
      .started('call_b')
      .started('call_c')
      .done('call_b', 'a.txt')
      .done('call_a', 'text of a')
      .done('call_c', 'Error: it broke', { status: 'failed', durationMs: 7, error: { name: 'Error', message: 'it broke' } })
      .says('Done.')
      .complete(),
  failed: () =>
    new Log()
      .begin('Add 1 and 2')
      .says('Let me add.', [{ name: 'add', id: 'call_a', args: { a: 1, b: 2 } }])
      .ran('call_a', '3')
      .turn()
      .delta({ contentChunk: 'It i' })
      .fail('server', 'the provider failed (500)', {
        details: {
          status: 500,
          attempts: [
            { kind: 'server', message: 'the provider failed (500)', status: 500, waitMs: 900, waitSource: 'backoff' },
            { kind: 'server', message: 'the provider failed (500)', status: 500 },
          ],
          maxAttempts: 2,
        },
      }),
  cancelledWriting: () =>
    new Log().begin().turn().delta({ contentChunk: 'Half an ans' }).cancel({ writing: true, reason: 'changed my mind', by: 'dana' }),
  /** Between two calls: the first was run, the second never. */
  cancelledInTools: () =>
    new Log()
      .begin()
      .says('', [
        { name: 'add', id: 'call_a', args: { a: 1, b: 2 } },
        { name: 'add', id: 'call_b', args: { a: 3, b: 4 } },
      ])
      .ran('call_a', '3')
      .cancel(),
  requiresAction: () =>
    new Log()
      .begin('Look outside')
      .says('', [{ name: 'look', id: 'call_x', args: { what: 'sky' } }])
      .rest('output', 'call_x')
      .wait(60_000)
      .submit('call_x', 'it is blue')
      .says('Blue.')
      .complete(),
  approved: (edited?: string) =>
    new Log()
      .begin('Refund A1')
      .says('One moment.', [{ name: 'refund', id: 'call_r', args: { orderId: 'A1', cents: 9000 } }])
      .ask('call_r', '9000 cents are above the limit')
      .rest('approval', 'call_r')
      .wait(60_000)
      .decide('call_r', true, edited === undefined ? {} : { editedArguments: edited })
      .ran('call_r', 'refunded 9000')
      .says('Refunded.')
      .complete(),
  rejected: () =>
    new Log()
      .begin('Refund A1')
      .says('One moment.', [{ name: 'refund', id: 'call_r', args: { orderId: 'A1', cents: 9000 } }])
      .ask('call_r', '9000 cents are above the limit')
      .rest('approval', 'call_r')
      .wait(60_000)
      .decide('call_r', false, { reason: 'refunded before' })
      .says('It was refunded before.')
      .complete(),
  maxTurns: () =>
    new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a', args: { a: 1, b: 2 } }])
      .ran('call_a', '3')
      .incomplete({ limit: 'turns', max: 1, message: 'The run reached its limit of 1 turns.', output: '' }),
  /** The first attempt breaks off in its text, the second is whole. */
  retried: () =>
    new Log()
      .begin()
      .turn()
      .delta({ contentChunk: 'Hel' })
      .retry({ failureKind: 'truncated-stream', message: 'the stream broke off' })
      .delta({ restart: true }, 2)
      .delta({ contentChunk: 'Hello.' }, 2)
      .answer('Hello.', [], {
        attempts: [{ kind: 'truncated-stream', message: 'the stream broke off', waitMs: 700, waitSource: 'backoff' }],
      })
      .complete(),
  /** A conversation of two runs; the second with a tool. */
  conversation: () =>
    new Log()
      .begin('Hello')
      .says('Hello there.')
      .complete()
      .begin('Add 1 and 2')
      .says('', [{ name: 'add', id: 'call_a', args: { a: 1, b: 2 } }])
      .ran('call_a', '3')
      .says('It is 3.')
      .complete(),
  /** A tool suspends the run; a reply continues it. */
  suspended: () =>
    new Log()
      .begin('Ask them')
      .says('', [{ name: 'ask_them', id: 'call_s' }])
      .ran('call_s', 'asked')
      .suspend('mail-7', 'I have asked, and wait.')
      .wait(60_000)
      .say('They said yes.')
      .status('in_progress', 'Resumed by a reply.')
      .says('Good.')
      .complete(),
  paused: () => new Log().begin().pause().wait(5_000).resume().says('Hello there.').complete(),
} satisfies Record<string, (...args: never[]) => Log>;

/** As a reader without the side channel sees it. */
export function durable(events: readonly AgentEvent[]): DurableEvent[] {
  return events.filter(isDurable);
}
