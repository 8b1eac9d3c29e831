import type { DurableEventData, EphemeralEventData } from '../../core/event';
import { type ToolCall, toolCallsOf, wordsOf } from '../../core/message';
import { GrowingText } from '../growing-text';
import { secondsOf } from './shapes';
import type { EmitStream } from './stream-events';

/** A call while the model writes it. */
interface GrowingCall {
  id?: string;
  name?: string;
  sent: string;
  started: boolean;
}

/**
 * Streams the message that a model is writing, from its pieces or from the complete message. The pieces since the last `response.retry` together are the
 * message.
 */
export class OneRingWriting {
  /** Empty if no message is being written, because live events may arrive late. */
  #itemId = '';
  #sequence = 0;
  #attempt = 1;
  #text = new GrowingText();
  #calls = new Map<number, GrowingCall>();

  constructor(readonly emit: EmitStream) {}

  begin(id: string, model: string, timestamp: string): void {
    this.#itemId = id;
    this.#sequence = 0;
    this.#attempt = 1;
    this.#text.begin(id);
    this.#calls.clear();
    this.emit('response.created', { model, created_at: secondsOf(timestamp) });
  }

  isOf(id: string): boolean {
    return this.#itemId === id;
  }

  delta(data: EphemeralEventData['thread.message.delta']): void {
    if (data.messageId !== this.#itemId || data.attempt < this.#attempt) return;
    if (data.attempt > this.#attempt) this.#retry(data.attempt, lost);
    const { added, restarted } = this.#text.push(data);
    if (restarted) this.emit('response.output_text.done', { item_id: this.#itemId, output_index: 0, text: '' });
    this.#addText(added);
    for (const { index, id, name, arguments: text = '' } of data.toolCallsChunk ?? []) {
      const call = this.#calls.get(index) ?? { sent: '', started: false };
      this.#calls.set(index, call);
      call.id ??= id;
      call.name ??= name;
      this.#addArguments(call, text);
    }
  }

  failed({ nextAttempt, failureKind, message, delayMs, maxAttempts }: EphemeralEventData['agent.llm.retry']): void {
    if (this.#itemId !== '') this.#retry(nextAttempt, `${failureKind}: ${message}`, delayMs, maxAttempts);
  }

  /** The message is complete: reports the part that was not reported yet. */
  finish({ message, attempts = [], finishReason }: DurableEventData['thread.message.completed']): void {
    for (const [i, { kind, message: words, waitMs }] of attempts.entries()) this.#retry(i + 2, `${kind}: ${words}`, waitMs);
    if (message.attempt > this.#attempt) this.#retry(message.attempt, lost);
    const text = wordsOf(message.content);
    const { added, restarted } = this.#text.finish(text);
    if (restarted) this.emit('response.output_text.done', { item_id: message.id, output_index: 0, text });
    else this.#addText(added);
    this.#finishCalls(toolCallsOf(message.content), finishReason === 'length');
    this.#itemId = '';
  }

  /** Reports a message in one piece. */
  say(text: string): void {
    this.#addText(text);
    this.#itemId = '';
  }

  #retry(next: number, reason: string, delay = 0, max?: number): void {
    if (next <= this.#attempt) return;
    this.#attempt = next;
    this.#calls.clear();
    this.#text.begin(this.#itemId);
    this.emit('response.retry', { attempt: next - 1, ...(max !== undefined && { max_attempts: max }), reason, delay_ms: delay });
  }

  #addText(delta: string): void {
    if (delta === '') return;
    const place = { item_id: this.#itemId, output_index: 0, content_index: 0 };
    this.emit('response.output_text.delta', { ...place, delta, sequence_number: this.#sequence++ });
  }

  /** Adds a piece of a call's arguments. A call is not reported before its id and name are known. */
  #addArguments(call: GrowingCall, text: string): void {
    const { id, name } = call;
    const delta = call.started ? text : call.sent + text;
    call.sent += text;
    if (id === undefined || name === undefined) return;
    const of = { item_id: id, tool_call_id: id, tool_name: name };
    if (!call.started) this.emit('response.tool_call.start', of);
    call.started = true;
    if (delta !== '') this.emit('response.tool_call_arguments.delta', { ...of, delta, sequence_number: this.#sequence++ });
  }

  #finishCalls(calls: readonly ToolCall[], incomplete: boolean): void {
    const growing = new Map([...this.#calls.values()].map((call) => [call.id, call]));
    for (const { id, name, arguments: text } of calls) {
      const known = growing.get(id);
      const call = known?.started ? known : { id, name, sent: '', started: false };
      if (text.startsWith(call.sent)) this.#addArguments(call, text.slice(call.sent.length));
      const done = { tool_call_id: id, tool_name: name, arguments: text };
      this.emit('response.tool_call_arguments.done', { ...done, ...(incomplete && { incomplete: true as const }) });
    }
  }
}

const lost = 'the attempt before broke off';
