import fc from 'fast-check';
import { type AgentEvent, isTerminal } from '../../src/core/event';
import type { OneRingEvent } from '../../src/projections/oneringai/events';
import { oneringaiEvents } from '../../src/projections/oneringai/oneringai';
import { project } from '../../src/projections/projection';
import { plot, Story } from '../core/story';
import { durable, Log, logs } from './log';

function emitted({ events }: Pick<Log, 'events'>): OneRingEvent[] {
  return project(oneringaiEvents(), events);
}

function typesOf(events: readonly OneRingEvent[]): string[] {
  return events.map(({ type }) => type);
}

function ofType<K extends OneRingEvent['type']>(events: readonly OneRingEvent[], type: K): Extract<OneRingEvent, { type: K }>[] {
  return events.filter((event): event is Extract<OneRingEvent, { type: K }> => event.type === type);
}

/** A run with one call, up to where the call begins. */
function calling(name = 'add', args: unknown = { a: 1 }): Log {
  return new Log().begin().says('', [{ name, id: 'call_a', args }]);
}

function hook(log: Log, name: 'before:llm' | 'after:llm' | 'after:execution', consecutive = 1): Log {
  const errors = [{ id: 'audit#1', message: 'no disk', consecutive }];
  return log.record('agent.hook.completed', { hook: name, durationMs: 2, errors });
}

const oneToolOrder = [
  'execution:start',
  'iteration:start',
  'llm:request',
  'llm:response',
  'tool:detected',
  'tool:start',
  'tool:complete',
  'iteration:complete',
  'iteration:start',
  'llm:request',
  'llm:response',
  'iteration:complete',
  'execution:complete',
];

describe('the order of the emitter', () => {
  test('[A17][A20][A22][A23] a tool and an answer are emitted in exactly this order', () => {
    expect(typesOf(emitted(logs.oneTool()))).toEqual(oneToolOrder);
    expect(typesOf(emitted(logs.words()))).toEqual(oneToolOrder.filter((_, i) => i === 0 || i > 7));
  });

  test('[A16] all events of a run have the same execution id, and those of the next run another', () => {
    const events = emitted(logs.conversation());
    const starts = events.flatMap(({ type }, i) => (type === 'execution:start' ? [i] : []));
    expect(starts).toHaveLength(2);
    const ids = starts.map((start, i) => new Set(events.slice(start, starts[i + 1]).map(({ executionId }) => executionId)));
    expect(ids).toEqual([new Set(['exec_1']), new Set(['exec_2'])]);
  });

  test('[A17] each event has the fields of its kind', () => {
    const events = project(oneringaiEvents({ model: 'gpt-x', maxIterations: 5 }), logs.oneTool().events);
    const at = { executionId: 'exec_1', timestamp: expect.stringMatching(/Z$/) };
    const call = { id: 'call_a', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' }, blocking: true };
    const response = {
      id: expect.any(String),
      object: 'response',
      created_at: Date.UTC(2026, 0, 1) / 1_000,
      status: 'completed',
      model: 'openai/gpt-x',
      usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120, output_tokens_details: { reasoning_tokens: 5 } },
    };
    expect(events.slice(0, 8)).toEqual([
      {
        type: 'execution:start',
        ...at,
        config: { model: 'gpt-x', maxIterations: 5 },
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Add 1 and 2' }] }],
      },
      { type: 'iteration:start', ...at, iteration: 0 },
      { type: 'llm:request', ...at, iteration: 0, options: { model: 'gpt-x' } },
      {
        type: 'llm:response',
        ...at,
        iteration: 0,
        duration: 30,
        response: {
          ...response,
          output_text: 'Let me add.',
          output: [
            {
              type: 'message',
              id: expect.any(String),
              role: 'assistant',
              content: [
                { type: 'output_text', text: 'Let me add.' },
                { type: 'tool_use', id: 'call_a', name: 'add', arguments: '{"a":1,"b":2}' },
              ],
            },
          ],
        },
      },
      { type: 'tool:detected', ...at, iteration: 0, toolCalls: [{ ...call, state: 'pending' }] },
      { type: 'tool:start', ...at, iteration: 0, toolCall: { ...call, state: 'executing', startTime: expect.any(String) } },
      {
        type: 'tool:complete',
        ...at,
        iteration: 0,
        toolCall: { ...call, state: 'completed', startTime: expect.any(String), endTime: expect.any(String) },
        result: { tool_use_id: 'call_a', content: '3', state: 'completed', executionTime: 12 },
      },
      { type: 'iteration:complete', ...at, iteration: 0, duration: expect.any(Number), response: expect.objectContaining(response) },
    ]);
    const [end] = ofType(events, 'execution:complete');
    expect(end?.duration).toBeGreaterThan(0);
  });

  test('[A219] the response of an execution counts the tokens of all its model calls', () => {
    const [end] = ofType(emitted(logs.oneTool()), 'execution:complete');
    expect(end?.response).toMatchObject({
      status: 'completed',
      output_text: 'It is 3.',
      usage: { input_tokens: 200, output_tokens: 40, total_tokens: 240 },
    });
  });

  test('[A18] a streamed run emits the same events as an awaited one', () => {
    for (const make of Object.values(logs)) {
      const { events } = make();
      expect(project(oneringaiEvents(), events)).toEqual(project(oneringaiEvents(), durable(events)));
    }
  });

  test('[A19] iterations count from 0', () => {
    const events = emitted(logs.oneTool());
    expect(ofType(events, 'iteration:start').map(({ iteration }) => iteration)).toEqual([0, 1]);
    expect(ofType(events, 'iteration:complete').map(({ iteration }) => iteration)).toEqual([0, 1]);
  });

  test('[A22][A50] all the calls of an answer are detected before the first runs, and each result names its call', () => {
    const events = emitted(logs.parallelTools());
    const [detected] = ofType(events, 'tool:detected');
    expect(detected?.toolCalls.map(({ id }) => id)).toEqual(['call_a', 'call_b', 'call_c']);
    expect(typesOf(events).indexOf('tool:detected')).toBeLessThan(typesOf(events).indexOf('tool:start'));
    const results = ofType(events, 'tool:complete').map(({ toolCall, result }) => [toolCall.id, result.tool_use_id]);
    expect(results).toEqual([
      ['call_b', 'call_b'],
      ['call_a', 'call_a'],
    ]);
    expect(typesOf(events).indexOf('iteration:complete')).toBeGreaterThan(typesOf(events).indexOf('tool:error'));
  });

  test('[A21] an error of an after:llm hook is emitted after the answer that it received, whenever it was recorded', () => {
    const early = hook(new Log().begin().turn(), 'after:llm').answer('Hello.').complete();
    const late = hook(new Log().begin().says('Hello.'), 'after:llm').complete();
    for (const log of [early, late]) {
      const types = typesOf(emitted(log));
      expect(types.indexOf('hook:error')).toBeGreaterThan(types.indexOf('llm:response'));
    }
  });

  test('[A23] the end of an execution is emitted after its after:execution hooks', () => {
    const types = typesOf(emitted(hook(new Log().begin().says('Hello.'), 'after:execution').complete()));
    expect(types.slice(-2)).toEqual(['hook:error', 'execution:complete']);
  });

  test('[A25] after a thread is closed nothing is emitted, except that the current run ends', () => {
    const log = new Log().begin().turn().record('thread.closed', { reason: 'requested' });
    const events = emitted(log.answer('Hello.').complete());
    expect(typesOf(events).at(-1)).toBe('execution:complete');
    const closed = new Log()
      .begin()
      .says('', [{ name: 'crawl', id: 'call_b' }])
      .ran('call_b', 'begun', { background: true });
    closed.says('Bye.').complete().record('thread.closed', { reason: 'requested' });
    const message = { id: 'm', role: 'user' as const, content: 'late' };
    closed.record('agent.tool.background.completed', { toolCallId: 'call_b', name: 'crawl', status: 'success', isError: false, message });
    closed.record('agent.run.paused', { reason: '' });
    expect(typesOf(emitted(closed)).at(-1)).toBe('execution:complete');
  });

  test('[A26] all seventeen events of the loop are emitted', () => {
    const timeout = calling().ran('call_a', 'Error', { status: 'timed-out' });
    const all = [
      logs.parallelTools(),
      logs.failed(),
      logs.paused(),
      logs.cancelledWriting(),
      timeout,
      hook(new Log().begin(), 'before:llm'),
    ];
    const types = new Set(all.flatMap((log) => typesOf(emitted(log))));
    expect([...types].filter((type) => !['execution:retry'].includes(type)).sort()).toEqual(
      [
        ...['execution:start', 'execution:complete', 'execution:error', 'execution:paused', 'execution:resumed', 'execution:cancelled'],
        ...['iteration:start', 'iteration:complete', 'llm:request', 'llm:response', 'llm:error', 'hook:error'],
        ...['tool:detected', 'tool:start', 'tool:complete', 'tool:error', 'tool:timeout'],
      ].sort(),
    );
  });
});

describe('the outcome of a call', () => {
  test('[A59] a tool that throws is emitted with its name and its error', () => {
    const [told] = ofType(emitted(logs.parallelTools()), 'tool:error');
    expect(told?.error).toEqual({ name: 'ToolExecutionError', message: "Tool 'shell' execution failed: it broke" });
    expect(told?.toolCall).toMatchObject({ id: 'call_c', state: 'failed', error: "Tool 'shell' execution failed: it broke" });
  });

  test('[A55] an unknown tool is emitted as not found, and the execution continues', () => {
    const error = { name: 'ToolNotFoundError', message: "Unknown tool 'nope'. Available tools: add." };
    const events = emitted(calling('nope').done('call_a', 'Error', { status: 'rejected', error }).says('Sorry.').complete());
    expect(ofType(events, 'tool:error')[0]?.error).toEqual({
      name: 'ToolNotFoundError',
      message: "Tool 'nope' not found. Did you register it with the agent?",
    });
    expect(typesOf(events).slice(4, 8)).toEqual(['tool:detected', 'tool:start', 'tool:error', 'iteration:complete']);
    expect(typesOf(events).at(-1)).toBe('execution:complete');
  });

  test('arguments that can not be parsed are emitted as text', () => {
    const error = { name: 'InvalidToolArgumentsError', message: "Tool 'add': the arguments are not valid JSON" };
    const events = emitted(calling().done('call_a', 'Error', { status: 'rejected', error }).says('Sorry.').complete());
    expect(ofType(events, 'tool:error')[0]?.error).toEqual(error);
  });

  test.each([
    ["Tool 'add' timed out after 1500 ms.", 1_500],
    ['Command timed out after 2.5s', 2_500],
    ['no words of a time', 77],
  ])('[A63][A64] a timeout names its tool and its time: %s', (message, timeout) => {
    const log = calling().ran('call_a', 'Error', { status: 'timed-out', durationMs: 77, error: { name: 'ToolTimeoutError', message } });
    const events = emitted(log.says('Too slow.').complete());
    expect(ofType(events, 'tool:error')).toEqual([]);
    const [told] = ofType(events, 'tool:timeout');
    expect(told).toMatchObject({
      timeout,
      toolCall: { state: 'timeout', function: { name: 'add' }, error: `Tool 'add' execution timed out after ${timeout}ms` },
    });
    expect(typesOf(events).at(-1)).toBe('execution:complete');
  });

  test('a call that is refused, skipped, or answered instead of the tool emits nothing', () => {
    const mocked = calling().done('call_a', '0').says('Fine.').complete();
    for (const log of [logs.rejected(), mocked]) {
      expect(typesOf(emitted(log)).filter((type) => /^tool:(?!detected)/.test(type))).toEqual([]);
      expect(typesOf(emitted(log)).filter((type) => type === 'iteration:complete')).toHaveLength(2);
    }
  });

  test('a call that is carried out externally starts when it is handed out', () => {
    const projection = oneringaiEvents();
    const byEvent = logs.requiresAction().events.map((event) => [event.type, typesOf(projection.push(event))]);
    expect(byEvent).toContainEqual(['thread.run.requires_action', ['tool:start']]);
    expect(byEvent).toContainEqual(['agent.tool.execution.completed', ['tool:complete', 'iteration:complete']]);
  });

  test('edited arguments are the ones that run', () => {
    const [started] = ofType(emitted(logs.approved('{"cents":1}')), 'tool:start');
    expect(started?.toolCall.function.arguments).toBe('{"cents":1}');
  });

  test.each([
    ['success', 'async:tool:complete', { result: { tool_use_id: 'call_a', content: 'late', state: 'completed', executionTime: 9 } }],
    ['failed', 'async:tool:error', { error: { message: "Tool 'add' execution failed: it broke" }, duration: 9 }],
    ['timed-out', 'async:tool:timeout', { timeout: 9 }],
  ] as const)('a call that goes on behind its placeholder is told when it ends: %s', (status, type, payload) => {
    const log = calling().ran('call_a', 'started', { background: true }).says('It runs.').complete().begin('And?');
    log.record('agent.tool.background.completed', {
      toolCallId: 'call_a',
      name: 'add',
      status,
      isError: status !== 'success',
      message: { id: 'm', role: 'user', content: 'late' },
      durationMs: 9,
      ...(status === 'failed' && { error: { name: 'Error', message: 'it broke' } }),
    });
    const events = emitted(log.says('Done.').complete());
    expect(ofType(events, 'async:tool:started')[0]).toMatchObject({ toolCallId: 'call_a', toolName: 'add', args: '{"a":1}' });
    expect(ofType(events, type)).toMatchObject([{ executionId: 'exec_1', toolCallId: 'call_a', toolName: 'add', ...payload }]);
  });
});

describe('how an execution ends', () => {
  test('[A92][A24] a failed model call is an llm:error and then a single execution:error', () => {
    const events = emitted(logs.failed());
    expect(typesOf(events).slice(-3)).toEqual(['execution:retry', 'llm:error', 'execution:error']);
    const error = { name: 'ProviderError', message: 'the provider failed (500)', code: 'server', status: 500 };
    expect(ofType(events, 'llm:error')[0]).toMatchObject({ iteration: 1, error });
    expect(ofType(events, 'execution:error').map((event) => event.error)).toEqual([error]);
    expect(ofType(events, 'execution:retry')[0]).toMatchObject({ attempt: 1, maxAttempts: 2, delayMs: 900 });
  });

  test('[A93] a rate limit is emitted with the wait that the provider requested', () => {
    const attempts = [{ kind: 'rate-limit' as const, message: 'slow down', status: 429, retryAfterMs: 90_000 }];
    const log = new Log()
      .begin()
      .turn()
      .fail('rate-limit', 'slow down', { details: { status: 429, attempts, maxAttempts: 5 } });
    expect(ofType(emitted(log), 'execution:error')[0]?.error).toEqual({
      name: 'ProviderRateLimitError',
      message: 'slow down',
      code: 'rate-limit',
      status: 429,
      retryAfter: 90_000,
    });
  });

  test('a failure that is not of a model call has no llm:error', () => {
    const types = typesOf(emitted(calling().ran('call_a', '3').fail('blocked_by_hook', 'no', { announced: false })));
    expect(types.slice(-2)).toEqual(['iteration:complete', 'execution:error']);
  });

  test('[A80] without closing words the limit of turns is the error that OneRingAI throws', () => {
    const events = emitted(logs.maxTurns());
    expect(ofType(events, 'execution:error')[0]?.error.message).toBe('Max iterations (1) reached without completion');
    expect(ofType(events, 'execution:complete')).toEqual([]);
  });

  test('[A80] with closing words the limit is emitted, and they are the response', () => {
    const log = calling().ran('call_a', '3');
    const usage = { inputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
    log.record('agent.run.summarized', { stepId: 'x', output: 'So far: 3.', usage, model: 'm', durationMs: 4 });
    const events = emitted(log.incomplete({ limit: 'turns', max: 1, message: 'enough', output: 'So far: 3.' }));
    expect(typesOf(events).slice(-5)).toEqual([
      'iteration:complete',
      'llm:request',
      'llm:response',
      'execution:maxIterations',
      'execution:complete',
    ]);
    expect(ofType(events, 'execution:maxIterations')[0]).toMatchObject({ iteration: 0, maxIterations: 1 });
    expect(ofType(events, 'execution:complete')[0]?.response).toMatchObject({
      status: 'incomplete',
      output_text: 'So far: 3.',
      usage: { total_tokens: 127 },
    });
  });

  test.each([
    ['wallClockMs', 1_000, /^Execution time limit exceeded: \d+ms > 1000ms$/],
    ['toolCalls', 0, /^Tool call limit exceeded: 1 > 0$/],
    ['contextTokens', 50, /^Context size limit exceeded: 120 > 50$/],
    ['tokens', 50, /^enough$/],
  ] as const)('[A85][A86][A87] the limit %s is emitted with its message', (limit, max, words) => {
    const events = emitted(calling().incomplete({ limit, max, message: 'enough', output: '' }));
    expect(ofType(events, 'execution:error')[0]?.error.message).toMatch(words);
  });

  test('[A111][A112] a cancel is emitted once, with its reason, and ends the execution', () => {
    const events = emitted(logs.cancelledWriting());
    expect(ofType(events, 'execution:cancelled')).toMatchObject([{ reason: 'changed my mind' }]);
    expect(typesOf(events).slice(-3)).toEqual(['execution:cancelled', 'llm:error', 'execution:error']);
    expect(ofType(events, 'execution:error')[0]?.error.message).toBe('Execution cancelled');
    const silent = emitted(logs.cancelledInTools());
    expect(ofType(silent, 'execution:cancelled')).toMatchObject([{ reason: 'Manual cancellation' }]);
    // The calls of the answer were not all run, so their iteration never became complete.
    expect(ofType(silent, 'iteration:complete')).toEqual([]);
  });

  test('[A108] pause and resume are emitted once each, always with a reason', () => {
    expect(typesOf(emitted(logs.paused())).slice(0, 3)).toEqual(['execution:start', 'execution:paused', 'execution:resumed']);
    expect(ofType(emitted(logs.paused()), 'execution:paused')).toMatchObject([{ executionId: 'exec_1', reason: 'look first' }]);
    expect(ofType(emitted(new Log().begin().pause('')), 'execution:paused')[0]?.reason).toBe('Manual pause');
  });

  test('[A118] a suspended run emits its correlation id and its expiry', () => {
    const log = calling().ran('call_a', 'sent').says('I wait for a reply.');
    const words = { correlationId: 'mail-7', expiresAt: '2026-01-08T00:00:00.000Z', metadata: { to: 'dana' } };
    const events = emitted(log.record('agent.run.suspended', { ...words, output: 'I wait for a reply.' }));
    expect(ofType(events, 'execution:suspended')).toMatchObject([{ ...words, sessionId: 'thread_1', resumeAs: 'user_message' }]);
    expect(typesOf(events).at(-1)).toBe('execution:suspended');
  });

  test('[A124] a hook that fails is emitted with its name and its number of consecutive errors, and the execution continues', () => {
    const events = emitted(hook(new Log().begin(), 'before:llm', 2).says('Hello.').complete());
    expect(ofType(events, 'hook:error')).toMatchObject([
      { executionId: 'exec_1', hookName: 'before:llm', error: { message: 'audit#1: no disk' }, consecutiveErrors: 2 },
    ]);
    expect(typesOf(events).at(-1)).toBe('execution:complete');
  });

  test('failed attempts are emitted before the answer that follows', () => {
    const events = emitted(logs.retried());
    expect(typesOf(events).slice(2, 5)).toEqual(['llm:request', 'execution:retry', 'llm:response']);
    expect(ofType(events, 'execution:retry')).toMatchObject([
      { attempt: 1, reason: 'truncated-stream: the stream broke off', delayMs: 700 },
    ]);
  });

  test('an answer that was cut or filtered says so in its status', () => {
    const cut = (finishReason: 'length' | 'content_filter') => {
      const log = new Log().begin().says('Half', [], { finishReason });
      return emitted(log.fail('llm_finish_reason_error', 'cut', { announced: false }));
    };
    expect(ofType(cut('length'), 'llm:response')[0]?.response.status).toBe('incomplete');
    expect(ofType(cut('content_filter'), 'llm:response')[0]?.response.status).toBe('failed');
  });

  test('a model call that was aborted for a message is emitted as aborted, and the next iteration follows', () => {
    const log = new Log().begin().turn();
    log.record('thread.message.incomplete', { stepId: log.stepId, messageId: 'msg_2', reason: 'superseded' });
    const events = emitted(log.say('Stop that').says('Yes.').complete());
    expect(typesOf(events).slice(1, 6)).toEqual(['iteration:start', 'llm:request', 'llm:error', 'iteration:complete', 'iteration:start']);
    expect(ofType(events, 'iteration:complete')[0]?.response).toMatchObject({ status: 'cancelled', output: [] });
  });

  test('if a failing tool ends the run, its iteration is never emitted as complete', () => {
    const error = { name: 'Error', message: 'it broke' };
    const log = calling().ran('call_a', 'Error: it broke', { status: 'failed', error });
    const failed = emitted(log.fail('tool_failed', "Tool 'add' failed: it broke", { announced: false }));
    expect(typesOf(failed).slice(-3)).toEqual(['tool:start', 'tool:error', 'execution:error']);
  });

  test('closing words before a suspension are not those of a limit that the run reaches later', () => {
    const usage = { inputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
    const log = calling().ran('call_a', 'sent');
    log.record('agent.run.summarized', { stepId: 'x', output: 'I wait.', usage, model: 'm', durationMs: 4 });
    log.record('agent.run.suspended', { correlationId: 'mail', expiresAt: '2026-01-08T00:00:00.000Z', output: 'I wait.' });
    log
      .say('Here I am.')
      .says('', [{ name: 'add', id: 'call_b' }])
      .ran('call_b', '3');
    const events = emitted(log.incomplete({ limit: 'turns', max: 2, message: 'enough', output: '' }));
    expect(ofType(events, 'execution:error')[0]?.error.message).toBe('Max iterations (2) reached without completion');
  });

  test('a run that only compacts is an execution without an iteration', () => {
    const log = new Log().begin();
    const none = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    log.record('thread.run.completed', { finalMessages: [], output: 'Compaction run completed.', usage: none, turns: 0 });
    const events = emitted(log);
    expect(typesOf(events)).toEqual(['execution:start', 'execution:complete']);
    expect(ofType(events, 'execution:complete')[0]?.response.output_text).toBe('Compaction run completed.');
  });

  test('a thread that was ended externally ends its execution and everything that was running in it', () => {
    const log = calling().started('call_a');
    log.runId = null;
    expect(typesOf(emitted(log.expire())).slice(-2)).toEqual(['tool:error', 'execution:error']);
    expect(typesOf(emitted(new Log().expire()))).toEqual(['execution:start', 'execution:error']);
    for (const runId of [null, 'run_1']) {
      const rested = logs.words();
      rested.runId = runId;
      expect(typesOf(emitted(rested.expire()))).toEqual(typesOf(emitted(logs.words())));
    }
  });
});

function expectInvariants(events: readonly AgentEvent[]): void {
  const told = project(oneringaiEvents(), events);
  expect(JSON.parse(JSON.stringify(told))).toEqual(told);
  const runs = [...new Set(events.map(({ runId }) => runId))].filter((id) => id !== null).length;
  const ids = new Set(told.map(({ executionId }) => executionId));
  expect(ids.size).toBe(runs);
  const ended = events.filter(isTerminal).length;
  expect(told.filter(({ type }) => type === 'execution:complete' || type === 'execution:error')).toHaveLength(ended);
  for (const id of ids) {
    const own = told.filter(({ executionId }) => executionId === id);
    expect(own[0]?.type).toBe('execution:start');
    if (ended === runs) expect(own.at(-1)?.type).toMatch(/^execution:(complete|error)$/);
    const open = new Set<string>();
    for (const event of own) {
      if (event.type === 'llm:request') open.add('llm');
      if (event.type === 'llm:response' || event.type === 'llm:error') expect(open.delete('llm')).toBe(true);
      if (event.type === 'iteration:start') open.add('iteration');
      if (event.type === 'iteration:complete') expect(open.delete('iteration')).toBe(true);
      if (event.type === 'tool:start') open.add(event.toolCall.id);
      if (/^tool:(complete|error|timeout)$/.test(event.type) && 'toolCall' in event) expect(open.delete(event.toolCall.id)).toBe(true);
    }
    // An iteration that the end of the execution cut short stays open; calls of the model and of tools never do.
    if (ended === runs) expect([...open].filter((name) => name !== 'iteration')).toEqual([]);
  }
}

test('[A16][A24] every log of the core is projected with one start and one end per execution, and everything that starts in it ends', () => {
  fc.assert(
    fc.property(plot, (runs) => expectInvariants(new Story().play(runs).events)),
    { numRuns: 40 },
  );
  for (const make of Object.values(logs)) expectInvariants(make().events);
});
