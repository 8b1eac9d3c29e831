import fc from 'fast-check';
import { oneringaiAudit } from '../../src/projections/oneringai/audit';
import { oneringaiHistory, oneringaiMetrics } from '../../src/projections/oneringai/record';
import { plot, Story } from '../core/story';
import { durable, Log, logs } from './log';

function hooked(hook: 'before:tool' | 'approve:tool' | 'after:tool', answered: string[]): Log {
  const log = new Log().begin().says('', [{ name: 'refund', id: 'call_r', args: { cents: 9 } }]);
  return log.record('agent.hook.completed', { hook, toolCallId: 'call_r', durationMs: 4, answered });
}

function turns(count: number): Log {
  const log = new Log().begin();
  for (let i = 1; i < count; i++) log.says('', [{ name: 'add', id: `call_${i}` }]).ran(`call_${i}`, String(i));
  return log.says('Done.').complete();
}

const timeout = { name: 'ToolTimeoutError', message: 'timed out after 5 ms' };

describe('metrics', () => {
  test('[A205] a single answer counts its tokens and its iteration', () => {
    expect(oneringaiMetrics(logs.words().events)).toMatchObject({
      iterationCount: 1,
      inputTokens: 100,
      outputTokens: 20,
      totalTokens: 120,
      errors: [],
    });
  });

  test('[A205] the metrics are the same for streamed and awaited runs, and can be read in the middle of a run', () => {
    for (const make of Object.values(logs)) {
      const { events } = make();
      expect(oneringaiMetrics(events)).toEqual(oneringaiMetrics(durable(events)));
    }
    expect(oneringaiMetrics(logs.oneTool().events.slice(0, 12))).toMatchObject({ iterationCount: 1, totalTokens: 120 });
  });

  test('[A206] durations of the model, of tools and of hooks are separate, and so are successes, failures and timeouts', () => {
    const log = new Log().begin().says('', [
      { name: 'add', id: 'call_a' },
      { name: 'add', id: 'call_b' },
      { name: 'add', id: 'call_c' },
    ]);
    log.record('agent.hook.completed', { hook: 'before:tool', durationMs: 5, errors: [{ id: 'x#1', message: 'no', consecutive: 1 }] });
    log.ran('call_a', '3').ran('call_b', 'Error: no', { status: 'failed', durationMs: 7, error: { name: 'Error', message: 'no' } });
    const metrics = oneringaiMetrics(
      log.ran('call_c', 'Error', { status: 'timed-out', durationMs: 9, error: timeout }).says('.').complete().events,
    );
    expect(metrics).toMatchObject({
      llmDuration: 60,
      toolDuration: 28,
      hookDuration: 5,
      iterationCount: 2,
      toolCallCount: 3,
      toolSuccessCount: 1,
      toolFailureCount: 1,
      toolTimeoutCount: 1,
    });
    expect(metrics.totalDuration).toBeGreaterThan(100);
    expect(metrics.errors.map(({ type, error }) => [type, error])).toEqual([
      ['hook_error', 'before:tool x#1: no'],
      ['tool_error', "Tool 'add' execution failed: no"],
      ['tool_error', "Tool 'add' execution timed out after 5ms"],
    ]);
  });

  test('[A64] a timeout is counted as a timeout', () => {
    const log = new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a' }])
      .ran('call_a', 'Error', { status: 'timed-out', error: timeout });
    expect(oneringaiMetrics(log.events)).toMatchObject({ toolTimeoutCount: 1, toolFailureCount: 0, toolSuccessCount: 0 });
  });

  test('a call that continues after its placeholder is counted when it ends, and the time between two runs is not', () => {
    const log = new Log()
      .begin()
      .says('', [{ name: 'crawl', id: 'call_b' }])
      .ran('call_b', 'begun', { background: true });
    const first = log.says('It runs.').complete().events;
    expect(oneringaiMetrics(first)).toMatchObject({ toolCallCount: 1, toolSuccessCount: 0 });
    const before = oneringaiMetrics(first).totalDuration;
    const message = { id: 'm', role: 'user' as const, content: 'late' };
    log.wait(1_000_000);
    log.record('agent.tool.background.completed', { toolCallId: 'call_b', name: 'crawl', status: 'success', isError: false, message });
    expect(oneringaiMetrics(log.events)).toMatchObject({ toolSuccessCount: 1, totalDuration: before });
  });

  test('[A204] errors can be read after the run', () => {
    expect(oneringaiMetrics(logs.failed().events).errors).toMatchObject([{ type: 'execution_error', error: 'the provider failed (500)' }]);
  });

  test('[A206] every call of every log is a success, a failure or a timeout', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { events } = new Story().play(runs);
        const metrics = oneringaiMetrics(events);
        expect(metrics.toolSuccessCount + metrics.toolFailureCount + metrics.toolTimeoutCount).toBe(metrics.toolCallCount);
        expect(metrics.totalTokens).toBe(15 * metrics.iterationCount + 10 * events.filter((e) => e.type === 'agent.run.summarized').length);
      }),
      { numRuns: 30 },
    );
  });
});

describe('history', () => {
  test('[A203][A204] it keeps nothing, summaries, or everything of the newest ten iterations, also after the run', () => {
    const { events } = turns(12);
    expect(oneringaiHistory(events, 'none')).toEqual([]);
    const summaries = oneringaiHistory(events);
    expect(summaries.map(({ iteration }) => iteration)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(summaries[0]).toEqual({
      executionId: 'exec_1',
      iteration: 2,
      tokens: 120,
      toolCount: 1,
      duration: expect.any(Number),
      timestamp: expect.any(String),
    });
    const full = oneringaiHistory(events, 'full');
    expect(full).toHaveLength(10);
    expect(full[0]).toMatchObject({
      iteration: 2,
      response: { output: [{ content: [{ type: 'tool_use', id: 'call_3' }] }] },
      toolResults: [{ tool_use_id: 'call_3', tool_name: 'add', content: '3' }],
    });
    expect(Date.parse(full[0]?.endTime ?? '')).toBeGreaterThan(Date.parse(full[0]?.startTime ?? ''));
  });
});

describe('the audit trail', () => {
  const typesOf = (log: Log) => oneringaiAudit(log.events).map(({ type, toolName }) => [type, toolName]);

  test('[A138][A204] an approval is in it, with the person who approved', () => {
    const trail = oneringaiAudit(logs.approved('{"cents":1}').events);
    expect(trail).toMatchObject([
      { type: 'tool_approved', toolName: 'refund', executionId: 'exec_1', details: { by: 'dana' } },
      { type: 'tool_modified', toolName: 'refund', details: { editedArguments: '{"cents":1}' } },
    ]);
  });

  test('[A134] a refusal is in it once, with its reason', () => {
    expect(oneringaiAudit(logs.rejected().events)).toMatchObject([
      { type: 'tool_rejected', toolName: 'refund', details: { by: 'dana', reason: 'refunded before' } },
    ]);
    const byRule = hooked('approve:tool', ['approved', 'reason']).done('call_r', 'Error', {
      status: 'denied',
      error: { name: 'PermissionDeniedError', message: 'not on Sundays' },
    });
    expect(typesOf(byRule)).toEqual([
      ['hook_executed', 'refund'],
      ['tool_rejected', 'refund'],
    ]);
    expect(oneringaiAudit(byRule.events)[1]?.details).toEqual({ reason: 'not on Sundays' });
  });

  test('[A131] a call that a hook answered instead is in it as skipped', () => {
    expect(typesOf(hooked('before:tool', ['skip', 'mockResult']).done('call_r', '0'))).toEqual([
      ['hook_executed', 'refund'],
      ['tool_skipped', 'refund'],
    ]);
  });

  test.each([
    ['before:tool', ['args']],
    ['approve:tool', ['approved', 'args']],
    ['after:tool', ['content']],
  ] as const)('[A132] what %s changed is in it as modified', (hook, answered) => {
    const [executed, modified, ...rest] = oneringaiAudit(hooked(hook, [...answered]).events);
    expect(executed).toMatchObject({ type: 'hook_executed', hookName: hook, toolName: 'refund', details: { durationMs: 4 } });
    expect(modified).toMatchObject({ type: 'tool_modified', hookName: hook, toolName: 'refund' });
    expect(rest).toEqual([]);
  });

  test('a hook that changed nothing is in it as executed', () => {
    expect(typesOf(hooked('before:tool', []))).toEqual([['hook_executed', 'refund']]);
  });

  test('[A108] pauses are in it', () => {
    expect(oneringaiAudit(logs.paused().events)).toMatchObject([
      { type: 'execution_paused', details: { reason: 'look first', by: 'dana' } },
      { type: 'execution_resumed', details: { by: 'dana' } },
    ]);
  });

  test('[A203] it keeps the newest thousand', () => {
    const log = new Log().begin();
    for (let i = 0; i < 2_500; i++) log.record('agent.run.resumed', { reason: String(i) });
    const trail = oneringaiAudit(log.events);
    expect(trail).toHaveLength(1_000);
    expect(trail.at(0)?.details).toEqual({ reason: '1500' });
    expect(trail.at(-1)?.details).toEqual({ reason: '2499' });
  });
});
