import type { AgentEvent } from '../../src/core/event';
import { codeliaEvents, codeliaNotifications, codeliaRunLog, codeliaUsage, project, sessionHistory } from '../../src/projections';
import { callTools, fail, say, stall, thinking } from '../../src/testing/model-server';
import { until } from '../support/rig';
import { ask, reaches } from './asking';
import { busy, logOf, priced, startProjecting } from './projecting';

let place: Awaited<ReturnType<typeof startProjecting>>;
beforeAll(async () => {
  place = await startProjecting();
});
afterAll(() => place.end());

const told = (events: readonly AgentEvent[]) => project(codeliaEvents(), events);
const sent = (events: readonly AgentEvent[], options = {}) => project(codeliaNotifications(options), events);
const recorded = (events: readonly AgentEvent[]) => project(codeliaRunLog(), events);
const ofType = <E extends { type: string }, T extends E['type']>(events: readonly E[], type: T) =>
  events.filter((event): event is Extract<E, { type: T }> => event.type === type);
/** Notifications in short: an event by its type, a status by its word. */
const short = (events: readonly AgentEvent[], options = {}) =>
  sent(events, options).map(({ method, params }) =>
    method === 'agent.event' ? params.event.type : method === 'run.status' ? `= ${params.status}` : method,
  );
const step = ['step_start', 'tool_call', 'tool_result', 'step_complete'];

test('[B29][B57][B58][B60][B63][B65][B66][B67][B68] a busy real run is emitted in order, with its waits, its context and complete durations', async () => {
  const { live, log, requests } = await place.told(busy);
  expect(short(live, { contextWindow: 1_000 })).toEqual([
    ...['= running', 'run.context', 'reasoning', 'text', ...step, ...step, ...step, ...step],
    ...['llm.retry', ...step, 'final', '= completed'],
  ]);
  const events = told(live);
  expect(ofType(events, 'step_start').map(({ step_number }) => step_number)).toEqual([1, 2, 3, 4, 1]);
  const [failed, ...others] = ofType(events, 'step_complete');
  expect(failed).toMatchObject({ status: 'error' });
  for (const { status } of others) expect(status).toBe('completed');
  for (const { duration_ms } of [failed, ...others].filter((one) => one !== undefined)) {
    expect(Number.isInteger(duration_ms) && duration_ms >= 0).toBe(true);
  }
  expect(ofType(events, 'llm.retry')).toEqual([
    expect.objectContaining({ next_attempt: 2, max_attempts: 3, delay_ms: 10, delay_source: 'backoff', failure_kind: 'overloaded' }),
  ]);
  // Before the wait, not after it: the side channel reported it before the second request was made.
  const retry = live.find(({ type }) => type === 'agent.llm.retry');
  expect(Date.parse(retry?.timestamp ?? '')).toBeLessThanOrEqual(requests[2]?.at ?? 0);
  const seqs = sent(live).flatMap(({ method, params }) => (method === 'agent.event' ? [params.seq] : []));
  expect(seqs).toEqual(seqs.map((_, i) => i));
  // 120 of 1,000 tokens after each answer: reported once.
  expect(sent(live, { contextWindow: 1_000 }).find(({ method }) => method === 'run.context')?.params).toMatchObject({
    context_left_percent: 88,
  });
  expect(short(live)).not.toContain('run.diagnostics');
  expect(short(live, { diagnostics: true }).filter((word) => word === 'run.diagnostics')).toHaveLength(4);
  expect(recorded(log).map(({ type }) => type)).not.toContain('run.diagnostics');
});

test('[B26][B27][B29] arguments that are not JSON, a tool that throws and an unknown one are errors of their calls, and the run continues', async () => {
  const calls = [
    { name: 'add', rawArguments: '{"a":', id: 'call_raw' },
    { name: 'breaks', args: {}, id: 'call_b' },
    { name: 'nope', args: {}, id: 'call_n' },
  ];
  const { live } = await place.told([callTools(calls), say('So be it.')]);
  const events = told(live);
  expect(ofType(events, 'tool_call')[0]).toMatchObject({ args: { _raw: '{"a":' } });
  expect(ofType(events, 'tool_result').map(({ result, is_error }) => [result, is_error])).toEqual([
    [expect.stringMatching(/not valid JSON/), true],
    ['Error: it broke', true],
    [expect.stringMatching(/^Error: Unknown tool 'nope'/), true],
  ]);
  expect(ofType(events, 'step_complete').map(({ status }) => status)).toEqual(['error', 'error', 'error']);
  expect(events.at(-1)).toEqual({ type: 'final', content: 'So be it.' });
});

test('[B69][B171][B173] a real approval is emitted from preview to result, and kept; a refusal that stops ends with a fixed final message', async () => {
  const paying = [callTools([{ name: 'pay', args: { cents: 5 }, id: 'call_p' }]), say('Paid.')];
  const decide = (decision: object) => (thread: Parameters<typeof reaches>[0]) =>
    reaches(thread, 'requires_action', 1).then(() => ask(thread, 'approve', { toolCallId: 'call_p', by: 'dana', ...decision }));
  const asked = [
    'step_start',
    'tool_call',
    'permission.preview',
    'permission.ready',
    '= awaiting_ui',
    '= running',
    'tool_result',
    'step_complete',
  ];
  const approved = await place.told(paying, {}, decide({}));
  expect(short(approved.live)).toEqual(['= running', ...asked, 'final', '= completed']);
  const kept = recorded(approved.log).map((record) =>
    record.type === 'agent.event' ? record.event.type : record.type === 'run.status' ? `= ${record.status}` : '',
  );
  expect(kept.filter((word) => word.startsWith('permission') || word.startsWith('='))).toEqual([
    ...['= running', 'permission.preview', 'permission.ready', '= awaiting_ui', '= running', '= completed'],
  ]);
  const refused = await place.told(paying, {}, decide({ approved: false, stop: true }));
  expect(short(refused.live)).toEqual(['= running', ...asked, 'final', '= completed']);
  expect(told(refused.live).at(-1)).toEqual({
    type: 'final',
    content: 'Permission request was denied. Turn stopped. Please send your next input to continue.',
  });
  expect(refused.requests).toHaveLength(1);
});

test('[B41][B43][B44] a cancel of a real run emits no final, gives every call its result, and leaves the next run intact', async () => {
  const writing = await place.told([stall('Half an ans')], {}, async (thread, asked) => {
    await until(asked, (n) => n === 1);
    await thread.cancel({ reason: 'enough' });
  });
  expect(short(writing.live)).toEqual(['= running', '= cancelled']);

  const calls = callTools([
    { name: 'talks', args: {}, id: 'call_1' },
    { name: 'breaks', args: {}, id: 'call_2' },
  ]);
  const { thread, live } = await place.told([calls, say('Hello again.')], { mode: 'conversation' }, async (begun) => {
    await until(
      () => begun.status(),
      ({ messages }) => messages === 2,
    );
    await begun.cancel();
  });
  const words = short(live);
  expect(words.filter((word) => word === 'tool_call')).toHaveLength(words.filter((word) => word === 'tool_result').length);
  expect(words).toContain('tool_call');
  expect(words).not.toContain('final');
  expect(words.at(-1)).toBe('= cancelled');
  await thread.send('And now?');
  const all = await until(
    () => logOf(thread),
    (log) => log.at(-1)?.type === 'thread.run.completed',
  );
  expect(short(all).slice(-3)).toEqual(['= running', 'final', '= completed']);
  await thread.close();
});

test('[B62] a compaction that is requested during the last model call precedes the final', async () => {
  const long = callTools([{ name: 'shell', args: { command: 'seq 1 3000' }, id: 'call_s' }]);
  const { live } = await place.told(
    [long, thinking('Hm.', stall('Half')), say('All done.')],
    { mode: 'conversation' },
    async (thread, asked) => {
      await until(asked, (n) => n === 2);
      await ask(thread, 'compact');
      // Gives the model call up, so that the run comes to its end.
      await ask(thread, 'sendMessage', { input: 'Be quick.', delivery: 'now' });
    },
  );
  const words = short(live).filter((word) => /compaction|final|=/.test(word));
  expect(words).toEqual(['= running', 'compaction_start', 'compaction_complete', 'final', '= completed']);
});

test('[B86][B90] a real failure is kept as run.error with a sanitized message and run.end, and no final is emitted', async () => {
  const { live, log, thread } = await place.told([callTools([{ name: 'add', args: { a: 3, b: 1 }, id: 'call_a' }]), fail(401)]);
  expect(short(live)).toEqual(['= running', ...step, '= error']);
  const records = recorded(log);
  expect(records.slice(-3)).toMatchObject([
    {
      type: 'run.error',
      name: 'ProviderFailureError',
      status: 401,
      attempts: 1,
      max_attempts: 3,
      message: expect.stringContaining('OPENAI_API_KEY'),
    },
    { type: 'run.status', status: 'error' },
    { type: 'run.end', outcome: 'error' },
  ]);
  expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
});

test('[B131][B181][B182][B187][B190] a session that another worker takes over has one run log, one count of model calls, and its usage', async () => {
  const first = await place.told(
    [priced(callTools([{ name: 'add', args: { a: 3, b: 1 }, id: 'call_a' }])), priced(say('4')), priced(say('Still 4.'))],
    { mode: 'conversation' },
  );
  await place.rig.workers[0]?.stop();
  await place.rig.addWorker();
  await first.thread.send('And now?');
  const log = await until(
    () => logOf(first.thread),
    (events) => events.filter(({ type }) => type === 'thread.run.completed').length === 2,
  );
  const named = recorded(log).map((record) =>
    record.type === 'agent.event'
      ? record.event.type
      : record.type.startsWith('llm')
        ? `${record.type} ${(record as { seq: number }).seq}`
        : record.type,
  );
  expect(named).toEqual([
    ...['header', 'run.start', 'run.status', 'llm.request 1', 'llm.response 1', 'step_start', 'tool_call', 'tool.output', 'tool_result'],
    ...['step_complete', 'llm.request 2', 'llm.response 2', 'final', 'run.status', 'run.end'],
    ...['header', 'run.start', 'run.status', 'llm.request 3', 'llm.response 3', 'final', 'run.status', 'run.end'],
  ]);
  expect(codeliaUsage(log)).toMatchObject({
    total_calls: 3,
    by_model: { 'openai/test-model': { calls: 3, input_tokens: 300, output_tokens: 60 } },
  });
  expect(sessionHistory(log)).toMatchObject({ runs: 2, truncated: false });
  expect(sessionHistory(log, { maxRuns: 1 })).toMatchObject({ runs: 1, truncated: true });
  expect(sessionHistory(log, { maxEvents: 2 }).events.map(({ event }) => event.type)).toEqual(['hidden_user_message', 'final']);
  await first.thread.close();
});
