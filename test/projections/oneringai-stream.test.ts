import fc from 'fast-check';
import { type AgentEvent, isTerminal } from '../../src/core/event';
import { wordsOf } from '../../src/core/message';
import { oneringaiStream } from '../../src/projections/oneringai/stream';
import type { OneRingStreamEvent } from '../../src/projections/oneringai/stream-events';
import { accumulateText } from '../../src/projections/oneringai/stream-helpers';
import { project } from '../../src/projections/projection';
import { plot, Story } from '../core/story';
import { livePieces, withLive } from './live';
import { durable, Log, logs } from './log';

function streamed({ events }: Pick<Log, 'events'>): OneRingStreamEvent[] {
  return project(oneringaiStream(), events);
}

function ofType<K extends OneRingStreamEvent['type']>(events: readonly OneRingStreamEvent[], type: K) {
  return events.filter((event): event is Extract<OneRingStreamEvent, { type: K }> => event.type === type);
}

/** Types, with pieces of one kind in a row as one. */
function shape(events: readonly OneRingStreamEvent[]): string[] {
  return events.map(({ type }) => type.replace('response.', '')).filter((type, i, all) => type !== all[i - 1]);
}

function textOf(events: readonly OneRingStreamEvent[]): string {
  return ofType(events, 'response.output_text.delta')
    .map(({ delta }) => delta)
    .join('');
}

const oneToolOrder = [
  ...['created', 'output_text.delta', 'tool_call.start', 'tool_call_arguments.delta', 'tool_call_arguments.done'],
  ...['tool_execution.start', 'tool_execution.done', 'iteration.complete'],
  ...['created', 'output_text.delta', 'iteration.complete', 'complete'],
];

test('[A207][A208][A209] a tool and an answer are streamed in exactly this order, with and without live events', () => {
  const { events } = logs.oneTool();
  expect(shape(project(oneringaiStream(), events))).toEqual(oneToolOrder);
  expect(shape(project(oneringaiStream(), durable(events)))).toEqual(oneToolOrder);
});

test('[A207][A219] each item has the fields of its kind, and the usage at the end is the sum of all iterations', () => {
  const events = project(oneringaiStream({ model: 'gpt-x' }), durable(logs.oneTool().events));
  const of = { response_id: 'exec_1' };
  const call = { tool_call_id: 'call_a', tool_name: 'add' };
  expect(events.slice(0, 8)).toEqual([
    { type: 'response.created', ...of, model: 'gpt-x', created_at: Date.UTC(2026, 0, 1) / 1_000 },
    {
      type: 'response.output_text.delta',
      ...of,
      item_id: expect.any(String),
      output_index: 0,
      content_index: 0,
      delta: 'Let me add.',
      sequence_number: 0,
    },
    { type: 'response.tool_call.start', ...of, item_id: 'call_a', ...call },
    { type: 'response.tool_call_arguments.delta', ...of, item_id: 'call_a', ...call, delta: '{"a":1,"b":2}', sequence_number: 1 },
    { type: 'response.tool_call_arguments.done', ...of, ...call, arguments: '{"a":1,"b":2}' },
    { type: 'response.tool_execution.start', ...of, ...call, arguments: { a: 1, b: 2 } },
    { type: 'response.tool_execution.done', ...of, ...call, result: '3', execution_time_ms: 12 },
    { type: 'response.iteration.complete', ...of, iteration: 0, tool_calls_count: 1, has_more_iterations: true },
  ]);
  expect(events.slice(-2)).toEqual([
    { type: 'response.iteration.complete', ...of, iteration: 1, tool_calls_count: 0, has_more_iterations: false },
    {
      type: 'response.complete',
      ...of,
      status: 'completed',
      usage: { input_tokens: 200, output_tokens: 40, total_tokens: 240, output_tokens_details: { reasoning_tokens: 10 } },
      iterations: 2,
      duration_ms: expect.any(Number),
    },
  ]);
  expect(ofType(events, 'response.created')[1]?.model).toBe('openai/gpt-x');
});

test('[A207] text and arguments are streamed in the pieces in which the model wrote them', () => {
  const log = new Log()
    .begin()
    .turn()
    .delta({ contentChunk: 'Let ' })
    .delta({ contentChunk: 'me.' })
    .delta({ toolCallsChunk: [{ index: 0, id: 'call_a', name: 'add', arguments: '' }] })
    .delta({ toolCallsChunk: [{ index: 0, arguments: '{"a"' }] })
    .delta({ toolCallsChunk: [{ index: 1, id: 'call_b', arguments: '{' }] })
    .delta({ toolCallsChunk: [{ index: 1, name: 'sub' }] })
    .delta({ toolCallsChunk: [{ index: 0, arguments: ':1' }] });
  const events = streamed(
    log
      .answer('Let me.', [
        { name: 'add', id: 'call_a', args: '{"a":1}' },
        { name: 'sub', id: 'call_b', args: '{}' },
      ])
      .delta({ contentChunk: 'late' }),
  );
  expect(ofType(events, 'response.output_text.delta').map(({ delta }) => delta)).toEqual(['Let ', 'me.']);
  const pieces = events.filter(({ type }) => type.startsWith('response.tool_call'));
  expect(
    pieces.map((event) => [event.type.slice(9), 'tool_call_id' in event && event.tool_call_id, 'delta' in event && event.delta]),
  ).toEqual([
    ['tool_call.start', 'call_a', false],
    ['tool_call_arguments.delta', 'call_a', '{"a"'],
    ['tool_call.start', 'call_b', false],
    ['tool_call_arguments.delta', 'call_b', '{'],
    ['tool_call_arguments.delta', 'call_a', ':1'],
    ['tool_call_arguments.delta', 'call_a', '}'],
    ['tool_call_arguments.done', 'call_a', false],
    ['tool_call_arguments.delta', 'call_b', '}'],
    ['tool_call_arguments.done', 'call_b', false],
  ]);
  const numbers = events.flatMap((event) => ('sequence_number' in event ? [event.sequence_number] : []));
  expect(numbers).toEqual(numbers.map((_, i) => i));
});

test('[A208] every call begins and ends, with its duration and, if it failed, the error', () => {
  const failed = ofType(streamed(logs.parallelTools()), 'response.tool_execution.done');
  expect(failed.map(({ tool_call_id, execution_time_ms, error }) => [tool_call_id, execution_time_ms, error])).toEqual([
    ['call_b', 12, undefined],
    ['call_a', 12, undefined],
    ['call_c', 7, "Tool 'shell' execution failed: it broke"],
  ]);
  const rejected = streamed(logs.rejected());
  expect(shape(rejected).slice(5, 7)).toEqual(['tool_execution.start', 'tool_execution.done']);
  expect(ofType(rejected, 'response.tool_execution.done')[0]?.error).toBe('Tool rejected: refunded before');
  const skipped = ofType(streamed(logs.cancelledInTools()), 'response.tool_execution.done');
  expect(skipped.map(({ tool_call_id, error }) => [tool_call_id, error])).toEqual([
    ['call_a', undefined],
    ['call_b', 'not executed, because the run was cancelled.'],
  ]);
});

test('[A63] a call that exceeded its timeout says so', () => {
  const error = { name: 'ToolTimeoutError', message: "Tool 'add' timed out after 1500 ms." };
  const log = new Log().begin().says('', [{ name: 'add', id: 'call_a' }]);
  const [done] = ofType(streamed(log.ran('call_a', 'Error', { status: 'timed-out', error })), 'response.tool_execution.done');
  expect(done?.error).toBe("Tool 'add' execution timed out after 1500ms");
});

test('edited arguments are shown for the execution, and unreadable ones are shown unchanged', () => {
  expect(ofType(streamed(logs.approved('{"cents":1}')), 'response.tool_execution.start')[0]?.arguments).toEqual({ cents: 1 });
  const log = new Log().begin().says('', [{ name: 'add', id: 'call_a', args: '{"a":' }]);
  const events = streamed(log.done('call_a', 'Error', { status: 'rejected' }));
  expect(ofType(events, 'response.tool_execution.start')[0]?.arguments).toBe('{"a":');
});

describe('an attempt that breaks off', () => {
  test('is reported before the text begins again, once', () => {
    const events = streamed(logs.retried());
    expect(shape(events)).toEqual(['created', 'output_text.delta', 'retry', 'output_text.delta', 'iteration.complete', 'complete']);
    expect(ofType(events, 'response.retry')).toEqual([
      {
        type: 'response.retry',
        response_id: 'exec_1',
        attempt: 1,
        max_attempts: 5,
        reason: 'truncated-stream: the stream broke off',
        delay_ms: 700,
      },
    ]);
    expect(textOf(events)).toBe('HelHello.');
  });

  test('also if only the next attempt is received', () => {
    const { events } = logs.retried();
    const deaf = events.filter(({ type }) => type !== 'agent.llm.retry');
    expect(shape(project(oneringaiStream(), deaf)).slice(1, 4)).toEqual(['output_text.delta', 'retry', 'output_text.delta']);
    const lost = deaf.filter(({ type, data }) => type !== 'thread.message.delta' || (data as { attempt: number }).attempt === 1);
    expect(textOf(project(oneringaiStream(), lost))).toBe('HelHello.');
    expect(shape(project(oneringaiStream(), durable(events)))).toEqual([
      'created',
      'retry',
      'output_text.delta',
      'iteration.complete',
      'complete',
    ]);
  });

  test('also if it was lost with its worker, without a failure', () => {
    const log = new Log().begin().turn().delta({ contentChunk: 'Hel' }).answer('Hello.').complete();
    for (const event of log.events) if (event.type === 'thread.message.completed') event.data.message.attempt = 2;
    expect(shape(streamed(log)).slice(1, 4)).toEqual(['output_text.delta', 'retry', 'output_text.delta']);
    expect(textOf(streamed(log))).toBe('HelHello.');
  });

  test('and its late pieces are ignored', () => {
    const call = { toolCallsChunk: [{ index: 0, id: 'call_old', name: 'add', arguments: '{' }] };
    const log = new Log().begin().turn().delta({ contentChunk: 'a' }).delta({ contentChunk: 'b', restart: true }, 2);
    log.delta({ contentChunk: 'late' }, 1).delta(call, 1);
    expect(shape(streamed(log))).toEqual(['created', 'output_text.delta', 'retry', 'output_text.delta']);
    expect(textOf(streamed(log))).toBe('ab');
  });

  test('and nothing of a message is emitted after its answer, or of a turn in the next', () => {
    const call = { toolCallsChunk: [{ index: 0, id: 'call_old', name: 'add', arguments: '{' }] };
    const log = new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a' }])
      .delta(call)
      .retry()
      .ran('call_a', '3')
      .turn()
      .retry({ turn: 1 });
    expect(shape(streamed(log.answer('3').complete()))).toEqual(oneToolOrder.filter((type, i) => i !== 1 || type !== 'output_text.delta'));
  });

  test('a call whose name is known only when it is complete is emitted then', () => {
    const log = new Log()
      .begin()
      .turn()
      .delta({ toolCallsChunk: [{ index: 0, id: 'call_a', arguments: '{"a"' }] });
    const events = streamed(log.answer('', [{ name: 'add', id: 'call_a', args: '{"a":1}' }]));
    expect(shape(events)).toEqual(['created', 'tool_call.start', 'tool_call_arguments.delta', 'tool_call_arguments.done']);
    expect(ofType(events, 'response.tool_call_arguments.delta').map(({ delta }) => delta)).toEqual(['{"a":1}']);
  });
});

test('if a hook replaced the streamed text, the replacement is emitted', () => {
  const log = new Log()
    .begin()
    .turn()
    .delta({ contentChunk: 'the password is' })
    .answer('[redacted]', [{ name: 'add', id: 'call_a' }]);
  const events = streamed(log);
  expect(ofType(events, 'response.output_text.done')).toMatchObject([{ text: '[redacted]' }]);
  expect(ofType(events, 'response.tool_call_arguments.done')).toHaveLength(1);
});

describe('how a stream ends', () => {
  test('[A94] a failure is an unrecoverable error, and the last item', () => {
    expect(streamed(logs.failed()).at(-1)).toEqual({
      type: 'response.error',
      response_id: 'exec_1',
      error: { type: 'execution_error', message: 'the provider failed (500)', code: 'server' },
      recoverable: false,
    });
  });

  test('[A81][A82] reaching the limit of turns is one incomplete response, and reaching it with an answer is one completed response', () => {
    const limited = streamed(logs.maxTurns());
    expect(ofType(limited, 'response.complete').map(({ status }) => status)).toEqual(['incomplete']);
    expect(shape(limited).slice(-2)).toEqual(['iteration.complete', 'complete']);
    expect(ofType(limited, 'response.iteration.complete')).toMatchObject([{ has_more_iterations: false }]);
    expect(ofType(streamed(logs.oneTool()), 'response.complete').map(({ status }) => status)).toEqual(['completed']);
  });

  test('[A81] closing words at a limit are streamed, and counted', () => {
    const usage = { inputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
    const log = new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a' }])
      .ran('call_a', '3');
    log.record('agent.run.summarized', { stepId: 'x', output: 'So far: 3.', usage, model: 'm', durationMs: 4 });
    const events = streamed(log.incomplete({ limit: 'turns', max: 1, message: 'enough', output: 'So far: 3.' }));
    expect(shape(events).slice(-4)).toEqual(['iteration.complete', 'created', 'output_text.delta', 'complete']);
    expect(events.at(-1)).toMatchObject({ status: 'incomplete', usage: { total_tokens: 127 } });
  });

  test('a run counts its own iterations, and one without any counts none', () => {
    const conversation = ofType(streamed(logs.conversation()), 'response.complete');
    expect(conversation.map(({ iterations }) => iterations)).toEqual([1, 2]);
    const log = logs.oneTool().begin();
    const none = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    log.record('thread.run.completed', { finalMessages: [], output: 'Compaction run completed.', usage: none, turns: 0 });
    expect(streamed(log).at(-1)).toMatchObject({ type: 'response.complete', iterations: 0 });
  });

  test('[A112] a cancel ends the stream with an error of its own kind', () => {
    for (const log of [logs.cancelledWriting(), logs.cancelledInTools()]) {
      expect(streamed(log).at(-1)).toMatchObject({ type: 'response.error', error: { type: 'cancelled', message: 'Execution cancelled' } });
    }
  });

  test('an external end ends everything that was running, too', () => {
    const log = new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a' }])
      .started('call_a');
    log.runId = null;
    expect(shape(streamed(log.expire())).slice(-2)).toEqual(['tool_execution.done', 'error']);
    expect(shape(streamed(new Log().expire()))).toEqual(['error']);
  });
});

function expectInvariants(events: readonly AgentEvent[]): void {
  const items = project(oneringaiStream(), events);
  expect(JSON.parse(JSON.stringify(items))).toEqual(items);
  const ends = items.filter(({ type }) => type === 'response.complete' || type === 'response.error');
  expect(ends).toHaveLength(events.filter(isTerminal).length);
  const executing = new Set<string>();
  const written = new Map<string, string>();
  for (const item of items) {
    if (item.type === 'response.tool_call.start') written.set(item.tool_call_id, '');
    if (item.type === 'response.tool_call_arguments.delta')
      written.set(item.tool_call_id, `${written.get(item.tool_call_id)}${item.delta}`);
    if (item.type === 'response.tool_call_arguments.done') expect(item.arguments).toBe(written.get(item.tool_call_id));
    if (item.type === 'response.tool_execution.start') executing.add(item.tool_call_id);
    if (item.type === 'response.tool_execution.done') expect(executing.delete(item.tool_call_id)).toBe(true);
    if (item.type === 'response.iteration.complete') expect(executing.size).toBe(0);
  }
  if (ends.length > 0) expect(executing.size).toBe(0);
}

test('[A207][A208] every log of the core is streamed with one end per run, complete arguments, and calls that begin and end', () => {
  fc.assert(
    fc.property(plot, (runs) => expectInvariants(new Story().play(runs).events)),
    { numRuns: 40 },
  );
  for (const make of Object.values(logs)) expectInvariants(make().events);
});

test('[A207][A210] whatever live events arrive in between, the final text is the text of the answers', async () => {
  await fc.assert(
    fc.asyncProperty(plot, livePieces, async (runs, pieces) => {
      const { events } = new Story().play(runs);
      const all = withLive(events, pieces);
      expectInvariants(all);
      const answers = events.flatMap((event) => {
        if (event.type === 'agent.run.summarized') return [event.data.output];
        return event.type === 'thread.message.completed' ? [wordsOf(event.data.message.content)] : [];
      });
      // Of answers that never came whole there is no text to compare with.
      const whole = runs.every(({ end }) => end !== 'failed');
      if (whole) expect(await accumulateText(project(oneringaiStream(), all))).toBe(answers.join(''));
    }),
    { numRuns: 60 },
  );
});
