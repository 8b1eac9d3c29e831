import fc from 'fast-check';
import type { DurableEvent, DurableEventData, DurableEventType } from '../../src/core/event';
import { type Extra, evolve } from '../../src/core/evolve';
import { type AssistantMessage, type Content, toolCallsOf, wordsOf } from '../../src/core/message';
import { activeRun, newThread, type RunState, stepIdOf, type ThreadState } from '../../src/core/state';
import type { ToolOutcome, Verdict } from '../../src/core/tool';
import { pendingCalls } from '../../src/core/views';
import { answerParts } from '../support/answer-parts';

/** What happens to one call of an answer. */
export interface CallPlot {
  arguments: string;
  verdict: Verdict;
  status: ToolOutcome['status'];
  output: Content;
  /** Arguments that a person puts in place of the model's. */
  edited?: string;
}

export interface TurnPlot {
  text: string;
  refusal?: string;
  calls: CallPlot[];
  /** Said by the user meanwhile. */
  said: Content[];
  /** What else happens meanwhile. */
  asides?: Aside[];
}

const asides = ['pause', 'hook', 'limit', 'summary', 'suspension', 'superseded', 'nonsense'] as const;
type Aside = (typeof asides)[number];

export interface RunPlot {
  input: Content;
  turns: TurnPlot[];
  end: 'completed' | 'failed' | 'incomplete' | 'cancelled';
}

const someText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', ' padded ', '__proto__', '```', '| a |'),
);
const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 3, arbitrary: someText },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.oneof(
        someText.map((text) => ({ type: 'text' as const, text })),
        fc.webUrl().map((url) => ({ type: 'image' as const, url })),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  },
);

const approval = fc.option(fc.record({ reason: fc.string({ minLength: 1 }) }, { requiredKeys: [] }), { nil: undefined });
const verdict: fc.Arbitrary<Verdict> = fc.oneof(
  fc
    .record({ effect: fc.constantFrom('pure' as const, 'keyed' as const, 'once' as const), approval })
    .map(({ effect, approval }) => ({ kind: 'run' as const, effect, timeoutMs: 1_000, ...(approval && { approval }) })),
  approval.map((approval) => ({ kind: 'external' as const, ...(approval && { approval }) })),
  fc.constant({ kind: 'reject' as const, error: { name: 'ToolNotFoundError', message: 'no such tool' } }),
);

const call: fc.Arbitrary<CallPlot> = fc.record(
  {
    arguments: fc.oneof(fc.json(), someText),
    verdict,
    status: fc.constantFrom('success', 'failed', 'denied', 'timed-out', 'unknown', 'cancelled', 'skipped'),
    output: content,
    edited: fc.json(),
  },
  { requiredKeys: ['arguments', 'verdict', 'status', 'output'] },
);

const turn: fc.Arbitrary<TurnPlot> = fc.record(
  {
    text: someText,
    refusal: fc.string({ minLength: 1 }),
    calls: fc.array(call, { maxLength: 4 }),
    said: fc.array(content, { maxLength: 2 }),
    asides: fc.array(fc.constantFrom(...asides), { maxLength: 2 }),
  },
  { requiredKeys: ['text', 'calls', 'said'] },
);

/** Conversations of a few runs, with everything that may come between. */
export const plot: fc.Arbitrary<RunPlot[]> = fc.array(
  fc.record({
    input: content,
    turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
    end: fc.constantFrom('completed' as const, 'failed' as const, 'incomplete' as const, 'cancelled' as const),
  }),
  { minLength: 1, maxLength: 3 },
);

/** A thread played without a server, in the order in which the workflow records. `onEvent` sees the state after each event. */
export class Story {
  readonly state: ThreadState;
  /** As they were handed to `evolve`. */
  readonly events: DurableEvent[] = [];
  #ids = 0;

  constructor(readonly onEvent: (state: ThreadState, event: DurableEvent) => void = () => undefined) {
    this.state = newThread({ threadId: 'thread_1', agent: 'coder', mode: 'conversation', overrides: {}, queue: [] });
  }

  newId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}_${this.#ids}`;
  }

  record<T extends DurableEventType>(type: T, data: DurableEventData[T], { runId, ...extra }: Extra & { runId?: string } = {}): void {
    const event = {
      seq: this.state.nextSeq,
      type,
      timestamp: new Date(1_700_000_000_000 + this.events.length).toISOString(),
      threadId: this.state.threadId,
      runId: runId ?? activeRun(this.state)?.id ?? null,
      data,
    } as DurableEvent;
    this.events.push(structuredClone(event));
    evolve(this.state, event, structuredClone(extra));
    this.onEvent(this.state, event);
  }

  play(runs: readonly RunPlot[]): this {
    for (const run of runs) {
      this.say(run.input);
      this.begin();
      for (const turn of run.turns) this.turn(turn, turn === run.turns.at(-1) ? run.end : undefined);
      this.end(run.end);
    }
    return this;
  }

  say(content: Content): void {
    const id = this.newId('msg');
    // Every third comes from a hook.
    const origin = Number(/\d+$/.exec(id)?.[0]) % 3 === 0 && { origin: 'hook' as const };
    this.record('thread.message.queued', { message: { id, role: 'user', content, ...origin } });
  }

  begin(): RunState {
    const facts = { name: 'coder', model: 'openai/x', limits: {}, strategy: 'by-effect' as const, searchAttributes: false };
    this.record(
      'agent.run.created',
      { status: 'in_progress', initialMessages: [...this.state.queue] },
      { runId: this.newId('run'), facts },
    );
    return this.state.run as RunState;
  }

  /** One model call and the calls of its answer. A run that does not complete leaves its last turn in the middle. */
  turn({ text, refusal, calls, said, asides = [] }: TurnPlot, end?: RunPlot['end']): void {
    const { state } = this;
    const run = state.run as RunState;
    this.record('agent.run.step.created', { stepId: `${run.id}-turn-${run.turn + 1}`, turn: run.turn + 1 });
    const stepId = stepIdOf(run);
    this.takeIn(stepId);
    this.status('in_progress', `LLM call for turn ${run.turn}`);
    const shell: AssistantMessage = { id: this.newId('msg'), role: 'assistant', content: [], attempt: 1 };
    this.record('thread.message.created', { stepId, message: shell, inProgress: true });
    if (end === 'failed') return;

    const toolCalls = calls.map((plot) => ({ id: this.newId('call'), name: 'tool', arguments: plot.arguments }));
    for (const toolCall of toolCalls) {
      this.record('thread.run.step.tool_call.created', { stepId, toolCall: { id: toolCall.id, name: toolCall.name } });
      this.record('thread.run.step.tool_call.completed_by_llm', { stepId, toolCall });
    }
    const message: AssistantMessage = { ...shell, content: answerParts(text, toolCalls, { refusal: refusal ?? '' }), attempt: 2 };
    const usage = { inputTokens: 10, cachedInputTokens: 1, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 2 };
    this.record(
      'thread.message.completed',
      { stepId, message, finishReason: calls.length > 0 ? 'tool_calls' : 'stop', usage, model: 'openai/x', durationMs: 3 },
      { verdicts: calls.map(({ verdict }) => verdict) },
    );
    for (const words of said) this.say(words);
    if (end === 'cancelled') return;
    for (const aside of asides) this.aside(aside);
    for (const [i, { id }] of toolCalls.entries()) this.call(id, calls[i] as CallPlot);
  }

  call(id: string, { verdict, status, output, edited }: CallPlot): void {
    const stepId = stepIdOf(this.state.run as RunState);
    if (verdict.kind === 'reject') return this.finish(id, 'rejected', `Error: ${verdict.error.message}`);
    if (verdict.kind === 'done') return this.finish(id, 'success', 'Task complete');
    if (verdict.approval) {
      const { reason } = verdict.approval;
      const toolCall = { id, name: 'tool', arguments: argumentsIn(this.state, id) };
      this.record('agent.approval.requested', { stepId, toolCall, ...(reason && { reason }) });
      this.rest();
      const approved = status !== 'denied';
      this.record('agent.approval.decided', {
        toolCallId: id,
        approved,
        by: 'dana',
        ...(approved && edited !== undefined && { editedArguments: edited }),
      });
      this.status('in_progress', 'Continuing run.');
      if (!approved) return this.finish(id, 'denied', output);
    }
    if (verdict.kind === 'external') {
      this.rest();
      this.status('in_progress', 'Continuing run with tool results.');
    } else {
      this.record('agent.tool.execution.started', { stepId, toolCallId: id, name: 'tool' });
    }
    this.finish(id, status, output);
  }

  /** Something that no call and no message is about, from its beginning to its end. */
  aside(what: Aside): void {
    const run = this.state.run as RunState;
    const stepId = stepIdOf(run);
    const usage = { inputTokens: 7, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 3, reasoningTokens: 0 };
    const limit = { id: this.newId('limit'), limit: 'toolRounds' as const, max: 3, scope: 'run' as const };
    switch (what) {
      case 'pause':
        this.record('agent.run.paused', { reason: 'Manual pause', by: 'dana' });
        return this.record('agent.run.resumed', { by: 'dana' });
      case 'hook': {
        const errors = [{ id: 'pause:check#1', message: 'it broke', consecutive: 1 }];
        return this.record('agent.hook.completed', { hook: 'pause:check', durationMs: 2, errors }, { hookErrors: { 'pause:check#1': 1 } });
      }
      case 'limit':
        this.record('agent.limit.reached', limit);
        this.rest();
        this.record('agent.limit.extended', { ...limit, max: 9, by: 'dana' });
        return this.status('in_progress', 'Continuing run.');
      case 'summary':
        return this.record('agent.run.summarized', {
          stepId,
          output: 'So far so good.',
          usage,
          model: 'openai/x',
          durationMs: 4,
          costUsd: 0.1,
        });
      case 'suspension':
        this.record('agent.run.suspended', { correlationId: this.newId('order'), expiresAt: '2030-01-01T00:00:00.000Z', output: 'Later.' });
        this.status('suspended');
        return this.status('in_progress', 'Resumed by a reply.');
      case 'superseded': {
        const id = this.newId('msg');
        const message = { id, role: 'user' as const, content: 'never mind' };
        this.record('thread.message.queued', { message, delivery: 'after-run' });
        return this.record('thread.message.superseded', { messageId: id, message, reason: 'the thread was closed' });
      }
      case 'nonsense':
        return this.record('agent.request.rejected', {
          request: 'approve',
          code: 'invalid-request',
          reason: 'approve takes { toolCallId }',
        });
    }
  }

  rest(): void {
    this.status('requires_action');
    this.record('thread.run.requires_action', { pending: pendingCalls(this.state) });
  }

  finish(toolCallId: string, status: ToolOutcome['status'], output: Content): void {
    const stepId = stepIdOf(this.state.run as RunState);
    const messageId = this.newId('msg');
    this.record('agent.tool.execution.completed', {
      stepId,
      toolCallId,
      name: 'tool',
      isError: status !== 'success',
      status,
      output,
      messageId,
    });
  }

  takeIn(stepId?: string): void {
    for (const call of this.state.run?.calls ?? []) {
      if (call.phase !== 'done') continue;
      const { id, name, messageId, outcome } = call;
      const message = {
        id: messageId,
        role: 'tool' as const,
        toolCallId: id,
        name,
        content: outcome.content,
        isError: outcome.status !== 'success',
      };
      this.record('thread.message.created', { ...(stepId && { stepId }), message });
    }
    if (stepId) for (const message of [...this.state.queue]) this.record('thread.message.created', { stepId, message });
  }

  end(how: RunPlot['end']): void {
    const { state } = this;
    const run = state.run as RunState;
    for (const call of run.calls) if (call.phase !== 'done') this.finish(call.id, 'skipped', 'Error: not executed');
    this.takeIn();
    const last = state.messages.filter((m) => m.role === 'assistant').slice(-1);
    const output = last
      .map((m) => (m.role === 'assistant' ? wordsOf(m.content) : ''))
      .join('')
      .trim();
    if (how === 'completed') this.record('thread.run.completed', { finalMessages: last, output, usage: run.usage, turns: run.turn });
    else if (how === 'failed') this.record('thread.run.failed', { code: 'server', message: 'it broke' });
    else if (how === 'incomplete') this.record('thread.run.incomplete', { limit: 'turns', max: 2, message: 'enough', output });
    else this.record('thread.run.cancelled', { by: 'dana' });
  }

  status(status: 'in_progress' | 'requires_action' | 'suspended', details?: string): void {
    this.record('agent.run.status.changed', { status, previousStatus: this.state.run?.status ?? null, ...(details && { details }) });
  }
}

function argumentsIn(state: ThreadState, id: string): string {
  return (
    state.messages.flatMap((m) => (m.role === 'assistant' ? toolCallsOf(m.content) : [])).find((one) => one.id === id)?.arguments ?? ''
  );
}
