import { oneringaiStream } from '../../src/projections/oneringai/stream';
import type { OneRingStreamEvent } from '../../src/projections/oneringai/stream-events';
import {
  accumulateText,
  bufferEvents,
  collectResponse,
  filterByType,
  skip,
  take,
  tap,
  textOnly,
} from '../../src/projections/oneringai/stream-helpers';
import { project } from '../../src/projections/projection';
import { type Log, logs, Log as NewLog } from './log';

function streamed(log: Log): OneRingStreamEvent[] {
  return project(oneringaiStream(), log.events);
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const got: T[] = [];
  for await (const item of stream) got.push(item);
  return got;
}

/** Counts what it is asked for, and whether it was closed. */
function counting<T>(items: readonly T[]) {
  const seen = { asked: 0, closed: false };
  async function* source() {
    try {
      for (const item of items) {
        seen.asked += 1;
        yield item;
      }
    } finally {
      seen.closed = true;
    }
  }
  return { seen, stream: source() };
}

describe('[A210] what reads a stream', () => {
  test('textOnly returns the pieces of text, accumulateText the complete text', async () => {
    expect(await all(textOnly(streamed(logs.oneTool())))).toEqual(['Let me', ' add.', 'It i', 's 3.']);
    expect(await accumulateText(streamed(logs.oneTool()))).toBe('Let me add.It is 3.');
    expect(await accumulateText(streamed(logs.retried()))).toBe('Hello.');
    const redacted = new NewLog().begin().turn().delta({ contentChunk: 'the password' }).answer('[redacted]').complete();
    expect(await accumulateText(streamed(redacted))).toBe('[redacted]');
  });

  test('filterByType keeps one kind', async () => {
    const done = await all(filterByType(streamed(logs.parallelTools()), 'response.tool_execution.done'));
    expect(done.map(({ tool_call_id }) => tool_call_id)).toEqual(['call_b', 'call_a', 'call_c']);
  });

  test('bufferEvents returns batches, and the rest', async () => {
    expect(await all(bufferEvents([1, 2, 3, 4, 5], 2))).toEqual([[1, 2], [3, 4], [5]]);
    expect(await all(bufferEvents([1, 2], 2))).toEqual([[1, 2]]);
    expect(await all(bufferEvents([], 2))).toEqual([]);
  });

  test('tap passes each item to a function before it returns it, and waits', async () => {
    const order: string[] = [];
    const look = async (n: number) => {
      await Promise.resolve();
      order.push(`saw ${n}`);
    };
    for await (const n of tap([1, 2], look)) order.push(`got ${n}`);
    expect(order).toEqual(['saw 1', 'got 1', 'saw 2', 'got 2']);
  });

  test('take requests no more than it returns and closes the stream, skip leaves out the first', async () => {
    const { seen, stream } = counting([1, 2, 3]);
    expect(await all(take(stream, 2))).toEqual([1, 2]);
    expect(seen).toEqual({ asked: 2, closed: true });
    const untouched = counting([1]);
    expect(await all(take(untouched.stream, 0))).toEqual([]);
    expect(untouched.seen.asked).toBe(0);
    expect(await all(skip([1, 2, 3], 2))).toEqual([3]);
    expect(await all(skip([1], 5))).toEqual([]);
  });

  test('collectResponse returns the complete response with the calls of every iteration and their outcomes', async () => {
    const response = await collectResponse(streamed(logs.oneTool()));
    expect(response).toEqual({
      id: 'exec_1',
      object: 'response',
      created_at: expect.any(Number),
      status: 'completed',
      model: 'openai/gpt-x',
      output: [
        {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'Let me add.' },
            { type: 'tool_use', id: 'call_a', name: 'add', arguments: '{"a":1,"b":2}' },
          ],
        },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is 3.' }] },
      ],
      output_text: 'Let me add.It is 3.',
      usage: { input_tokens: 200, output_tokens: 40, total_tokens: 240, output_tokens_details: { reasoning_tokens: 10 } },
      iterations: 2,
      tool_results: [{ tool_call_id: 'call_a', tool_name: 'add', result: '3' }],
    });
  });

  test('[A94] collectResponse rejects if the stream ends in an error, is empty, or breaks off', async () => {
    await expect(collectResponse(streamed(logs.failed()))).rejects.toMatchObject({ message: 'the provider failed (500)', code: 'server' });
    await expect(collectResponse(streamed(logs.cancelledWriting()))).rejects.toThrow('cancelled');
    await expect(collectResponse([])).rejects.toThrow('No stream events received');
    await expect(collectResponse(streamed(logs.words()).slice(0, -1))).rejects.toThrow('broke off');
  });
});
