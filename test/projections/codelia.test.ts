import fc from 'fast-check';
import { contextLeftPercent } from '../../src/core/context/budget';
import type { AgentEvent } from '../../src/core/event';
import { type CodeliaNotification, codeliaEvents, codeliaNotifications, codeliaRunLog } from '../../src/projections/codelia/codelia';
import { codeliaUsage, sessionHistory } from '../../src/projections/codelia/history';
import { type CodeliaEvent, viewOf } from '../../src/projections/codelia/words';
import { project } from '../../src/projections/projection';
import { plot, Story } from '../core/story';
import { rounds } from '../support/rounds';
import { durable, Log, logs } from './log';

interface Told {
  events: readonly AgentEvent[];
}
const told = ({ events }: Told) => project(codeliaEvents(), events);
const types = (all: readonly { type: string }[]) => all.map(({ type }) => type);
const ofType = <T extends CodeliaEvent['type']>(events: readonly CodeliaEvent[], type: T) =>
  events.filter((event) => event.type === type) as Extract<CodeliaEvent, { type: T }>[];
const sent = ({ events }: Told, options = {}) => project(codeliaNotifications(options), events);
/** Notifications in short: an event by its type, a status by its word. */
const short = (all: readonly CodeliaNotification[]) =>
  all.map(({ method, params }) => (method === 'agent.event' ? params.event.type : method === 'run.status' ? `= ${params.status}` : method));
const recorded = ({ events }: Told) => project(codeliaRunLog(), events);

const step = ['step_start', 'tool_call', 'tool_result', 'step_complete'];

test('[B16][B17] a run without tools emits its answer once, trimmed, as final', () => {
  expect(told(new Log().begin().says('\n Hello there.  \n').complete())).toEqual([{ type: 'final', content: 'Hello there.' }]);
});

test('[B18] a refusal is text if the run continues, and final if it ends', () => {
  const log = new Log().begin().says('', [], { refusal: 'No.' });
  expect(told(log.complete())).toEqual([{ type: 'final', content: 'No.' }]);
  const nudged = new Log().begin().says('', [], { refusal: 'No.' }).say('Do.').says('Well.').complete();
  expect(told(nudged).map((event) => [event.type, 'content' in event && event.content])).toEqual([
    ['text', 'No.'],
    ['final', 'Well.'],
  ]);
});

test('[B57][B58][B64] reasoning, and four events for each hosted search, precede the text and the calls, whose step numbers continue', () => {
  const search = (id: string, more: object) => ({ type: 'hosted-tool' as const, id, name: 'web-search', input: { query: 'q' }, ...more });
  const before = [
    { type: 'reasoning' as const, text: 'I search.' },
    // An update of the same search.
    search('s1', {}),
    search('s1', { output: ['found'] }),
    search('s2', { output: 'no results', isError: true }),
  ];
  const events = told(
    new Log()
      .begin()
      .turn()
      .answer('Look:', [{ name: 'list_dir', id: 'call_a' }], { before })
      .ran('call_a', 'nothing')
      .says('Done.')
      .complete(),
  );
  expect(types(events)).toEqual(['reasoning', ...step, ...step, 'text', ...step, 'final']);
  expect(ofType(events, 'step_start').map(({ step_id, step_number }) => [step_id, step_number])).toEqual([
    ['s1', 1],
    ['s2', 2],
    ['call_a', 3],
  ]);
  expect(ofType(events, 'tool_call')[0]).toMatchObject({ tool: 'web-search', args: { query: 'q' } });
  expect(ofType(events, 'tool_result').map(({ result, is_error }) => [result, is_error])).toEqual([
    ['["found"]', undefined],
    ['no results', true],
    ['nothing', undefined],
  ]);
  expect(ofType(events, 'step_complete').map(({ status }) => status)).toEqual(['completed', 'error', 'completed']);
});

test('[B57][B58][B60] each iteration emits reasoning, text, and its calls one after another in the order of the model', () => {
  const log = new Log()
    .begin('Look')
    .turn()
    .delta({ reasoningChunk: 'I should ' })
    .delta({ reasoningChunk: 'look.' })
    .delta({ contentChunk: 'Looking.' })
    .answer('Looking.', [
      { name: 'read_file', id: 'call_a', args: { path: 'a' } },
      { name: 'list_dir', id: 'call_b', args: { path: '.' } },
    ])
    .started('call_a')
    .started('call_b')
    .done('call_b', 'a', { durationMs: 4.6 })
    .done('call_a', 'Error: no such file', { status: 'failed' })
    .says('', [{ name: 'list_dir', id: 'call_c' }])
    .ran('call_c', 'nothing')
    .says('Done.')
    .complete();
  const events = told(log);
  expect(types(events)).toEqual(['reasoning', 'text', ...step, ...step, ...step, 'final']);
  expect(events.slice(0, 10)).toEqual([
    { type: 'reasoning', content: 'I should look.', timestamp: Date.UTC(2026, 0, 1) + 130 },
    { type: 'text', content: 'Looking.', timestamp: Date.UTC(2026, 0, 1) + 130 },
    { type: 'step_start', step_id: 'call_a', title: 'read_file', step_number: 1 },
    { type: 'tool_call', tool: 'read_file', args: { path: 'a' }, tool_call_id: 'call_a' },
    { type: 'tool_result', tool: 'read_file', result: 'Error: no such file', tool_call_id: 'call_a', is_error: true },
    // 30 ms between its events, where the tool's own clock said nothing.
    { type: 'step_complete', step_id: 'call_a', status: 'error', duration_ms: 30 },
    { type: 'step_start', step_id: 'call_b', title: 'list_dir', step_number: 2 },
    { type: 'tool_call', tool: 'list_dir', args: { path: '.' }, tool_call_id: 'call_b' },
    { type: 'tool_result', tool: 'list_dir', result: 'a', tool_call_id: 'call_b' },
    { type: 'step_complete', step_id: 'call_b', status: 'completed', duration_ms: 5 },
  ]);
  expect(ofType(events, 'step_start').map(({ step_number }) => step_number)).toEqual([1, 2, 1]);
});

test('a call is emitted as soon as it begins if nothing precedes it', () => {
  const projection = codeliaEvents();
  const log = new Log()
    .begin()
    .says('', [
      { name: 'add', id: 'call_a' },
      { name: 'add', id: 'call_b' },
    ])
    .started('call_a')
    .started('call_b');
  for (const event of log.events.slice(0, -2)) projection.push(event);
  expect(types(log.events.slice(-2).flatMap((event) => projection.push(event)))).toEqual(['step_start', 'tool_call']);
});

test('[B27] arguments that are not a JSON object are emitted as the model wrote them', () => {
  const log = new Log()
    .begin()
    .says('', [{ name: 'add', id: 'call_a', args: '{"a":' }])
    .done('call_a', 'Error: the arguments are not JSON', { status: 'rejected' })
    .says('ok')
    .complete();
  expect(ofType(told(log), 'tool_call')).toEqual([
    { type: 'tool_call', tool: 'add', args: { _raw: '{"a":' }, raw_args: '{"a":', tool_call_id: 'call_a' },
  ]);
  expect(ofType(told(log), 'tool_result')[0]).toMatchObject({ is_error: true });
});

test('[B59] a reader gets the beginning of a long output, and the run log has all of it', () => {
  const whole = 'a line of twenty-two ch\n'.repeat(5_000);
  const log = new Log()
    .begin()
    .says('', [{ name: 'shell', id: 'call_a' }])
    .ran('call_a', whole)
    .says('ok')
    .complete();
  const [result] = ofType(told(log), 'tool_result');
  const [view = '', marker] = (result?.result ?? '').split('\n\n');
  expect(marker).toBe('[tool output truncated; ref=call_a]');
  expect(whole.startsWith(view)).toBe(true);
  expect(view.length).toBeGreaterThan(51_000);
  expect(view.length).toBeLessThanOrEqual(51_200);
  expect(view.endsWith('ch')).toBe(true);
  expect(recorded(log).find((record) => record.type === 'tool.output')).toMatchObject({
    tool: 'shell',
    tool_call_id: 'call_a',
    result_raw: whole,
    is_error: false,
  });
  // One line of 60,000 characters, three bytes each: cut between two of them, not lost.
  expect(viewOf('€'.repeat(60_000), 'x')).toBe(`${'€'.repeat(17_066)}\n\n[tool output truncated; ref=x]`);
});

test('an output that is stored has a reference in the run log, and its view is not cut a second time', () => {
  const view = `${'x'.repeat(30_000)}\n[tool output truncated; ref=abc]\n${'y'.repeat(30_000)}`;
  const outputRef = { id: 'abc', bytes: 90_000, lines: 2, mediaType: 'text/plain', trimmed: true as const };
  const log = new Log()
    .begin()
    .says('', [{ name: 'shell', id: 'call_a' }])
    .ran('call_a', view, { outputRef })
    .says('ok')
    .complete();
  expect(ofType(told(log), 'tool_result')[0]?.result).toBe(view);
  expect(recorded(log).find((record) => record.type === 'tool.output')).toMatchObject({
    result_raw: view,
    output_ref: { id: 'abc', byte_size: 90_000, line_count: 2 },
  });
});

test('[B61][B62] a compaction is a pair of events, before the final if the run ends with it', () => {
  const compact = (log: Log) =>
    log.record('thread.context.compacted', { reason: 'requested', prunedOutputs: 1, droppedMessages: 0, bytes: 9 });
  const last = compact(new Log().begin().says('All done.')).complete();
  expect(types(told(last))).toEqual(['compaction_start', 'compaction_complete', 'final']);
  expect(ofType(told(last), 'compaction_complete')[0]).toMatchObject({ compacted: true });
  const between = compact(new Log().begin().says('Not yet.')).say('Go on').says('Done.').complete();
  expect(types(told(between))).toEqual(['text', 'compaction_start', 'compaction_complete', 'final']);

  const summarized = new Log().begin().says('Not yet.').say('Go on');
  summarized.record('thread.context.compaction.started', { stepId: 'x', reason: 'window' });
  summarized.record('thread.context.kept', { reason: 'window', failed: 'empty', bytes: 9 });
  expect(types(told(summarized.says('Done.').complete()))).toEqual(['text', 'compaction_start', 'compaction_complete', 'final']);
  expect(ofType(told(summarized), 'compaction_complete')[0]).toMatchObject({ compacted: false });
});

test('[B63] each wait before another attempt is emitted once: live before it, or with the answer for a late reader', () => {
  const retry = {
    type: 'llm.retry',
    provider: 'unknown',
    failure_kind: 'network',
    next_attempt: 2,
    max_attempts: 5,
    delay_ms: 700,
    delay_source: 'backoff',
  };
  expect(told(logs.retried())).toEqual([retry, { type: 'final', content: 'Hello.' }]);
  expect(told({ events: durable(logs.retried().events) })).toEqual([
    { ...retry, provider: 'openai' },
    { type: 'final', content: 'Hello.' },
  ]);
  expect(project(codeliaEvents({ model: 'openai/x' }), logs.retried().events)[0]).toMatchObject({ provider: 'openai' });
  const projection = codeliaEvents();
  const soFar = logs
    .retried()
    .events.slice(0, 7)
    .flatMap((event) => projection.push(event));
  expect(types(soFar)).toEqual(['llm.retry']);
});

test('[B63] a live wait that arrives before the beginning of its turn is emitted in its turn, once; so is one for closing words', () => {
  const { events } = new Log()
    .begin()
    .says('', [{ name: 'add', id: 'call_a' }])
    .started('call_a')
    .retry({ turn: 2 })
    .done('call_a', '3')
    .turn()
    .answer('Done.', [], { attempts: [{ kind: 'rate-limit', message: 'slow down', waitMs: 700 }] })
    .complete();
  expect(types(told({ events }))).toEqual([...step, 'llm.retry', 'final']);
  const usage = { inputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
  const limited = new Log()
    .begin()
    .says('', [{ name: 'add', id: 'call_a' }])
    .ran('call_a', '3')
    .retry({ turn: 1 });
  const attempts = [{ kind: 'rate-limit' as const, message: 'slow down', waitMs: 700 }];
  limited.record('agent.run.summarized', { stepId: 'x', output: 'So far.', usage, model: 'm', durationMs: 4, attempts });
  limited.incomplete({ limit: 'turns', max: 1, message: 'enough', output: 'So far.' });
  expect(types(told(limited)).filter((type) => type === 'llm.retry')).toHaveLength(1);
});

test('[B86][B90] a failure ends the run with an error in a sanitized message and its attempts, and never with a final', () => {
  expect(types(told(logs.failed()))).toEqual(['text', ...step, 'llm.retry']);
  expect(short(sent(logs.failed())).at(-1)).toBe('= error');
  const records = recorded(logs.failed());
  expect(types(records).slice(-3)).toEqual(['run.error', 'run.status', 'run.end']);
  expect(records.at(-3)).toEqual({
    type: 'run.error',
    ts: logs.failed().events.at(-1)?.timestamp,
    run_id: 'run_1',
    name: 'ProviderFailureError',
    message: 'the provider failed (500)',
    provider: 'openai',
    kind: 'provider',
    status: 500,
    attempts: 2,
    max_attempts: 2,
  });
  expect(records.at(-1)).toMatchObject({ type: 'run.end', outcome: 'error' });
  const other = recorded(new Log().begin().fail('UnknownAgent', 'x'.repeat(9_000), { announced: false }));
  expect(other.at(-3)).toMatchObject({ type: 'run.error', name: 'UnknownAgent', message: expect.stringMatching(/^x{499}…$/) });
});

test('[B16] a run at its limit has a final message that says so, and completes', () => {
  expect(told(logs.maxTurns()).at(-1)).toEqual({
    type: 'final',
    content: '[Max Iterations Reached]\n\nThe run reached its limit of 1 turns.',
  });
  expect(sent(logs.maxTurns()).at(-1)).toEqual({
    method: 'run.status',
    params: { run_id: 'run_1', status: 'completed', message: 'The run reached its limit of 1 turns.' },
  });
  const output = '[Max Iterations Reached] I added one number.';
  const summed = new Log()
    .begin()
    .says('', [{ name: 'add', id: 'call_a' }])
    .ran('call_a', '3');
  summed.incomplete({ limit: 'turns', max: 1, message: 'enough', output });
  expect(told(summed).at(-1)).toEqual({ type: 'final', content: '[Max Iterations Reached]\n\nI added one number.' });
});

test('[B44] after a cancel nothing new is emitted, what has begun is ended, and the next run is emitted completely', () => {
  expect(short(sent(logs.cancelledWriting()))).toEqual(['= running', '= cancelled']);
  expect(short(sent(logs.cancelledInTools()))).toEqual(['= running', ...step, '= cancelled']);
  const asked = new Log()
    .begin()
    .says('', [
      { name: 'pay', id: 'call_a' },
      { name: 'pay', id: 'call_b' },
    ])
    .ask('call_a');
  asked.rest('approval', 'call_a').cancel().begin('Again').says('Hello.').complete();
  expect(short(sent(asked))).toEqual([
    '= running',
    'step_start',
    'tool_call',
    'permission.ready',
    '= awaiting_ui',
    '= running',
    'tool_result',
    'step_complete',
    '= cancelled',
    '= running',
    'final',
    '= completed',
  ]);
});

test('[B65][B67] notifications of a run: running, events from 0 without gaps, and one end', () => {
  const all = sent(logs.conversation());
  expect(short(all)).toEqual(['= running', 'final', '= completed', '= running', ...step, 'final', '= completed']);
  const seqs = all.flatMap(({ method, params }) => (method === 'agent.event' ? [[params.run_id, params.seq]] : []));
  expect(seqs).toEqual([
    ['run_1', 0],
    ['run_2', 0],
    ['run_2', 1],
    ['run_2', 2],
    ['run_2', 3],
    ['run_2', 4],
  ]);
});

test('[B66][B131] the context that is left is emitted when it changes', () => {
  const used = (log: Log, inputTokens: number) =>
    log.says('', [{ name: 'add', id: `call_${inputTokens}` }], { usage: { inputTokens, outputTokens: 0 } }).ran(`call_${inputTokens}`, '3');
  const log = used(used(used(new Log().begin(), 1_000), 1_001), 2_500)
    .says('ok', [], { usage: { inputTokens: 99_999 } })
    .complete();
  const percents = sent(log, { contextWindow: 10_000 }).flatMap(({ method, params }) =>
    method === 'run.context' ? [params.context_left_percent] : [],
  );
  expect(percents).toEqual([90, 75, 0]);
  expect(short(sent(log))).not.toContain('run.context');
  expect([
    contextLeftPercent(undefined, 10),
    contextLeftPercent(5, undefined),
    contextLeftPercent(5, 0),
    contextLeftPercent(-5, 10),
  ]).toEqual([null, null, null, 100]);
});

test('[B68] diagnostics are sent to readers that request them, and never kept', () => {
  const log = new Log().begin().says('Hello.', [], { costUsd: 0.25 }).complete();
  expect(short(sent(log))).toEqual(['= running', 'final', '= completed']);
  const all = sent(log, { diagnostics: true });
  expect(short(all)).toEqual(['= running', 'run.diagnostics', 'final', '= completed', 'run.diagnostics']);
  expect(all[1]?.params).toEqual({
    run_id: 'run_1',
    kind: 'llm_call',
    call: {
      seq: 1,
      provider: 'openai',
      model: 'openai/gpt-x',
      request_ts: '2026-01-01T00:00:00.050Z',
      response_ts: '2026-01-01T00:00:00.080Z',
      latency_ms: 30,
      stop_reason: 'stop',
      usage: { model: 'openai/gpt-x', input_tokens: 100, input_cached_tokens: 40, output_tokens: 20, total_tokens: 120 },
      cache: { hit_state: 'hit', cache_read_tokens: 40, cache_read_ratio: 0.4 },
      cost_usd: 0.25,
    },
  });
  expect(all[4]?.params).toMatchObject({ kind: 'run_summary', summary: { calls: 1, total_tokens: 120 } });
  expect(types(recorded(log))).not.toContain('run.diagnostics');
});

test('[B173] an approval: preview, ready, awaiting_ui, running, and then the result', () => {
  const all = sent(logs.approved());
  expect(short(all)).toEqual([
    '= running',
    'text',
    'step_start',
    'tool_call',
    'permission.preview',
    'permission.ready',
    '= awaiting_ui',
    '= running',
    'tool_result',
    'step_complete',
    'final',
    '= completed',
  ]);
  const about = { tool: 'refund', tool_call_id: 'call_r' };
  const permission = told(logs.approved()).filter(({ type }) => type.startsWith('permission'));
  expect(permission).toEqual([
    { type: 'permission.preview', ...about, summary: '9000 cents are above the limit' },
    { type: 'permission.ready', ...about },
  ]);
  expect(ofType(told(logs.rejected()), 'tool_result')[0]).toMatchObject({
    result: expect.stringContaining('refunded before'),
    is_error: true,
  });
  expect(short(sent(logs.rejected()))).toEqual(short(all));
});

test('a preview shows the content to write, at most 120 lines', () => {
  const preview = (name: string, args: object) =>
    ofType(
      told(
        new Log()
          .begin()
          .says('', [{ name, id: 'call_a', args }])
          .ask('call_a'),
      ),
      'permission.preview',
    )[0];
  expect(preview('edit', { path: 'a.txt', old_string: 'one', new_string: 'two' })).toMatchObject({
    file_path: 'a.txt',
    diff: '-one\n+two',
  });
  const long = preview('write_file', { path: 'a.txt', content: 'x\n'.repeat(500) });
  expect(long).toMatchObject({ truncated: true });
  expect(long?.diff?.split('\n')).toHaveLength(120);
  expect(preview('shell', { command: 'rm -rf build' })).toMatchObject({ summary: 'rm -rf build' });
  expect(preview('pay', { cents: 5 })).toBeUndefined();
});

test('a call that is carried out externally awaits the user, too; two pending calls are emitted one after the other', () => {
  expect(short(sent(logs.requiresAction()))).toEqual([
    '= running',
    'step_start',
    'tool_call',
    '= awaiting_ui',
    '= running',
    'tool_result',
    'step_complete',
    'final',
    '= completed',
  ]);
  const two = new Log()
    .begin()
    .says('', [
      { name: 'pay', id: 'call_a' },
      { name: 'pay', id: 'call_b' },
    ])
    .ask('call_a')
    .ask('call_b')
    .rest('approval', 'call_a', 'call_b')
    .decide('call_b', true)
    .ran('call_b', 'paid')
    .rest('approval', 'call_a')
    .decide('call_a', false)
    .says('ok')
    .complete();
  const one = ['step_start', 'tool_call', 'permission.ready', '= awaiting_ui', '= running', 'tool_result', 'step_complete'];
  expect(short(sent(two))).toEqual(['= running', ...one, ...one, 'final', '= completed']);
});

test('a run that waits for a reply, or for the extension of a limit, awaits the user', () => {
  expect(short(sent(logs.suspended()))).toEqual([...['= running', ...step, 'text', '= awaiting_ui', '= running', 'final', '= completed']]);
  expect(ofType(told(logs.suspended()), 'text')[0]).toMatchObject({ content: 'I have asked, and wait.' });
  const more = new Log().begin().says('Not yet.');
  more.record('agent.limit.reached', { id: 'limit_1', limit: 'turns', max: 1, scope: 'run' }).status('requires_action');
  const pending = [{ kind: 'limit' as const, toolCallId: 'limit_1', name: 'turns', arguments: '' }];
  more.record('thread.run.requires_action', { pending }).record('thread.run.requires_action', { pending });
  more.record('agent.limit.extended', { id: 'limit_1', limit: 'turns', max: 2, scope: 'run' });
  more.status('in_progress', 'Continuing run.').says('Now.').complete();
  expect(short(sent(more))).toEqual(['= running', 'text', '= awaiting_ui', '= running', 'final', '= completed']);
});

test('a refusal that ends the run is its final message, not a cancel', () => {
  const log = new Log()
    .begin()
    .says('', [{ name: 'pay', id: 'call_a' }])
    .ask('call_a')
    .rest('approval', 'call_a')
    .decide('call_a', false, { stop: true });
  log.record('thread.run.cancelled', { reason: 'stopped by a refusal: refused', by: 'dana' });
  expect(told(log).at(-1)).toEqual({
    type: 'final',
    content: 'Permission request was denied. Turn stopped. Please send your next input to continue.',
  });
  expect(short(sent(log)).slice(-4)).toEqual(['tool_result', 'step_complete', 'final', '= completed']);
});

test('[B20][B69][B181][B182] the run log has every record in order, and model calls are counted over all runs', () => {
  const log = new Log()
    .begin('Hello')
    .says('Hello there.')
    .complete()
    .begin('Refund A1')
    .says('One moment.', [{ name: 'refund', id: 'call_r', args: '{ "cents": 9000 }' }])
    .ask('call_r', 'much')
    .rest('approval', 'call_r')
    .decide('call_r', true)
    .ran('call_r', 'refunded')
    .says('Refunded.')
    .complete();
  const records = recorded(log);
  const named = records.map((record) =>
    record.type === 'agent.event'
      ? `${record.seq} ${record.event.type}`
      : record.type === 'run.status'
        ? `= ${record.status}`
        : record.type.startsWith('llm')
          ? `${record.type} ${(record as { seq: number }).seq}`
          : record.type,
  );
  expect(named).toEqual([
    ...['header', 'run.start', '= running', 'llm.request 1', 'llm.response 1', '0 final', '= completed', 'run.end'],
    ...['header', 'run.start', '= running', 'llm.request 2', 'llm.response 2', '0 text', '1 step_start', '2 tool_call'],
    ...['3 permission.preview', '4 permission.ready', '= awaiting_ui', '= running'],
    ...['tool.output', '5 tool_result', '6 step_complete', 'llm.request 3', 'llm.response 3', '7 final', '= completed', 'run.end'],
  ]);
  expect(records.slice(8, 10)).toEqual([
    { type: 'header', ts: expect.any(String), run_id: 'run_2', schema_version: 1, session_id: 'thread_1', model: 'openai/gpt-x' },
    { type: 'run.start', ts: expect.any(String), run_id: 'run_2', session_id: 'thread_1', input: { type: 'text', text: 'Refund A1' } },
  ]);
  expect(records.find((record) => record.type === 'llm.response' && record.seq === 2)).toMatchObject({
    stop_reason: 'tool_calls',
    messages: [
      {
        role: 'assistant',
        content: 'One moment.',
        tool_calls: [{ id: 'call_r', type: 'function', function: { name: 'refund', arguments: '{ "cents": 9000 }' } }],
      },
    ],
  });
  // The new message that the model was sent: the result of its call.
  expect(records.find((record) => record.type === 'llm.request' && record.seq === 3)).toMatchObject({
    input: { messages: [{ role: 'tool', tool_call_id: 'call_r', content: 'refunded' }] },
  });
  expect(records.at(-1)).toMatchObject({ type: 'run.end', outcome: 'completed', final: 'Refunded.' });
});

test('[B181] a request that failed or was given up has no response', () => {
  const seqs = (log: Log) => recorded(log).flatMap((record) => (record.type.startsWith('llm') ? [record.type] : []));
  expect(seqs(logs.failed())).toEqual(['llm.request', 'llm.response', 'llm.request']);
  expect(seqs(logs.cancelledWriting())).toEqual(['llm.request']);
});

test('[B187] the history of a session is its newest events with the user messages, and says whether older ones are missing', () => {
  const { events } = logs.conversation();
  const all = sessionHistory(events);
  expect(all).toMatchObject({ runs: 2, truncated: false });
  expect(all.events.map(({ run_id, seq, event }) => `${run_id} ${seq} ${event.type}`)).toEqual([
    'run_1 0 hidden_user_message',
    'run_1 1 final',
    'run_2 0 hidden_user_message',
    ...step.map((type, i) => `run_2 ${i + 1} ${type}`),
    'run_2 5 final',
  ]);
  expect(all.events[2]?.event).toEqual({ type: 'hidden_user_message', content: 'Add 1 and 2' });
  const newest = sessionHistory(events, { maxRuns: 1 });
  expect(newest).toMatchObject({ runs: 1, truncated: true });
  expect(newest.events).toEqual(all.events.slice(2));
  const few = sessionHistory(events, { maxEvents: 7 });
  expect(few).toMatchObject({ runs: 2, truncated: true });
  expect(few.events.map(({ event }) => event)).toEqual(all.events.slice(1).map(({ event }) => event));
  expect(sessionHistory(events, { maxEvents: 0 })).toEqual({ runs: 0, events: [], truncated: true });
  expect(sessionHistory([])).toEqual({ runs: 0, events: [], truncated: false });
});

test('[B190][B191] usage is counted by model, including the calls for closing words and compactions, with the cost if a price is known', () => {
  const log = new Log()
    .begin()
    .says('', [{ name: 'add', id: 'call_a' }], { costUsd: 0.5 })
    .ran('call_a', '3')
    .says('', [{ name: 'add', id: 'call_b' }], {
      model: 'local/free',
      usage: { inputTokens: 7, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 1 },
    })
    .ran('call_b', '3');
  log.summarize('So far: 3.', { costUsd: 0.25 }).summarize('', { failed: 'the provider is down' });
  log.incomplete({ limit: 'turns', max: 2, message: 'enough', output: 'So far: 3.' });
  const usage = { inputTokens: 50, cachedInputTokens: 5, cacheWriteTokens: 0, outputTokens: 4, reasoningTokens: 0 };
  const compaction = { model: 'local/short', usage, durationMs: 3, costUsd: 0.25 };
  log.record('thread.context.compacted', { reason: 'window', prunedOutputs: 0, droppedMessages: 1, bytes: 9, spent: compaction });
  log.record('thread.context.kept', { reason: 'window', failed: 'empty', bytes: 9, spent: compaction });
  expect(codeliaUsage(log.events)).toEqual({
    total_calls: 5,
    total_tokens: 256,
    total_input_tokens: 217,
    total_cached_input_tokens: 50,
    total_output_tokens: 39,
    total_cost_usd: 1.25,
    by_model: {
      'local/short': { calls: 2, input_tokens: 100, cached_input_tokens: 10, output_tokens: 8, total_tokens: 108, cost_usd: 0.5 },
      'openai/gpt-x': { calls: 2, input_tokens: 110, cached_input_tokens: 40, output_tokens: 30, total_tokens: 140, cost_usd: 0.75 },
      'local/free': { calls: 1, input_tokens: 7, cached_input_tokens: 0, output_tokens: 1, total_tokens: 8, cost_usd: null },
    },
  });
  expect(codeliaUsage([])).toMatchObject({ total_calls: 0, total_tokens: 0, total_cost_usd: 0, by_model: {} });
  expect(types(recorded(log)).slice(-6)).toEqual(['llm.request', 'llm.response', 'llm.request', 'agent.event', 'run.status', 'run.end']);
});

test('[B65][B67][B181] any log is projected without an exception, and follows the rules of codelia', () => {
  fc.assert(
    fc.property(plot, (runs) => {
      const { events } = new Story().play(runs);
      const all = sent({ events });
      const ends = ['= completed', '= error', '= cancelled'];
      for (const runId of new Set(events.flatMap((event) => event.runId ?? []))) {
        const own = all.filter(({ params }) => params.run_id === runId);
        const seqs = own.flatMap(({ method, params }) => (method === 'agent.event' ? [params.seq] : []));
        expect(seqs).toEqual(seqs.map((_, i) => i));
        const words = short(own);
        const status = words.filter((word) => word.startsWith('='));
        expect(status.slice(0, -1).join(' ')).toMatch(/^= running( = awaiting_ui = running)*( = awaiting_ui)?$/);
        expect(status.filter((word) => ends.includes(word))).toEqual([words.at(-1)]);
        if (words.at(-1) === '= completed') expect(words.at(-2)).toBe('final');
        else expect(words).not.toContain('final');
        // One call after another, each whole.
        const calls = words.filter((word) => word.startsWith('step') || word.startsWith('tool'));
        for (let i = 0; i < calls.length; i += 4) expect(calls.slice(i, i + 4)).toEqual(step);
      }
      const records = recorded({ events });
      const requests = records.flatMap((record) => (record.type === 'llm.request' ? [record.seq] : []));
      expect(requests).toEqual(requests.map((_, i) => i + 1));
      for (const record of records) if (record.type === 'llm.response') expect(requests).toContain(record.seq);
      expect(JSON.parse(JSON.stringify(records))).toEqual(records);
      expect(sessionHistory(events).events.length).toBeGreaterThanOrEqual(runs.length);
    }),
    { numRuns: rounds(40) },
  );
});
