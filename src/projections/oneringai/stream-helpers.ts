import type { OneRingContent, OneRingItem, OneRingResponse } from './shapes';
import type { OneRingStreamEvent } from './stream-events';

type Source<T> = Iterable<T> | AsyncIterable<T>;

/** The text as it arrives, including pieces of attempts that broke off, which `response.retry` in the stream marks. */
export async function* textOnly(stream: Source<OneRingStreamEvent>): AsyncGenerator<string, void> {
  for await (const event of stream) if (event.type === 'response.output_text.delta') yield event.delta;
}

/** The final text of all iterations. */
export async function accumulateText(stream: Source<OneRingStreamEvent>): Promise<string> {
  const said: Said[] = [];
  for await (const event of stream) addText(said, event);
  return said.map(({ text }) => text).join('');
}

export async function* filterByType<K extends OneRingStreamEvent['type']>(
  stream: Source<OneRingStreamEvent>,
  type: K,
): AsyncGenerator<Extract<OneRingStreamEvent, { type: K }>, void> {
  for await (const event of stream) if (event.type === type) yield event as Extract<OneRingStreamEvent, { type: K }>;
}

/** The events in batches of `size`. The last batch may be smaller. */
export async function* bufferEvents<T>(stream: Source<T>, size: number): AsyncGenerator<T[], void> {
  let batch: T[] = [];
  for await (const event of stream) {
    batch.push(event);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Calls `look` with each event, and awaits it, before the event is passed on. */
export async function* tap<T>(stream: Source<T>, look: (event: T) => unknown): AsyncGenerator<T, void> {
  for await (const event of stream) {
    await look(event);
    yield event;
  }
}

/** The first `count` events. It does not request the next event, because a live stream may not have one for a week. */
export async function* take<T>(stream: Source<T>, count: number): AsyncGenerator<T, void> {
  if (count <= 0) return;
  let taken = 0;
  for await (const event of stream) {
    yield event;
    taken += 1;
    if (taken >= count) return;
  }
}

export async function* skip<T>(stream: Source<T>, count: number): AsyncGenerator<T, void> {
  let skipped = 0;
  for await (const event of stream) {
    if (skipped >= count) yield event;
    else skipped += 1;
  }
}

/** The result of `collectResponse`: the response, with the outcome of each call. */
export interface CollectedResponse extends OneRingResponse {
  iterations: number;
  tool_results: { tool_call_id: string; tool_name: string; result: unknown; error?: string }[];
}

/**
 * Collects the whole response: one message per iteration, with its text and its calls. Rejects if the stream ends in an error, is empty, or breaks off
 * before the response is complete.
 */
export async function collectResponse(stream: Source<OneRingStreamEvent>): Promise<CollectedResponse> {
  const said: Said[] = [];
  const toolResults: CollectedResponse['tool_results'] = [];
  let createdAt: number | undefined;
  let model = '';
  for await (const event of stream) {
    addText(said, event);
    switch (event.type) {
      case 'response.created':
        createdAt ??= event.created_at;
        model = event.model || model;
        break;
      case 'response.tool_call_arguments.done':
        said.at(-1)?.calls.push({ type: 'tool_use', id: event.tool_call_id, name: event.tool_name, arguments: event.arguments });
        break;
      case 'response.tool_execution.done': {
        const { type: _, response_id: __, execution_time_ms: ___, ...result } = event;
        toolResults.push(result);
        break;
      }
      case 'response.error':
        throw Object.assign(new Error(event.error.message), event.error.code !== undefined && { code: event.error.code });
      case 'response.complete': {
        const { response_id: id, status, usage, iterations } = event;
        const output_text = said.map(({ text }) => text).join('');
        const whole = { id, object: 'response' as const, created_at: createdAt ?? 0, status, model, output_text, usage };
        return { ...whole, output: said.flatMap(messageOf), iterations, tool_results: toolResults };
      }
    }
  }
  throw new Error(createdAt === undefined ? 'No stream events received.' : 'The stream broke off before the response was complete.');
}

/** The text and calls of one iteration so far. */
interface Said {
  text: string;
  calls: OneRingContent[];
}

function addText(said: Said[], event: OneRingStreamEvent): void {
  if (event.type === 'response.created') said.push({ text: '', calls: [] });
  const last = said.at(-1);
  if (!last) return;
  if (event.type === 'response.output_text.delta') last.text += event.delta;
  if (event.type === 'response.output_text.done') last.text = event.text;
  if (event.type === 'response.retry') last.text = '';
}

function messageOf({ text, calls }: Said): OneRingItem[] {
  const content: OneRingContent[] = [...(text === '' ? [] : [{ type: 'output_text' as const, text }]), ...calls];
  return content.length > 0 ? [{ type: 'message', role: 'assistant', content }] : [];
}
