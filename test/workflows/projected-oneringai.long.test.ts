import { type AgentEvent, isDurable } from '../../src/core/event';
import {
  oneringaiAudit,
  oneringaiEvents,
  oneringaiHistory,
  oneringaiMetrics,
  oneringaiStream,
  project,
  StreamHelpers,
} from '../../src/projections';
import { callTools, empty, fail, say, slowly, stall } from '../../src/testing/model-server';
import { until } from '../support/rig';
import { ask, handleOf, reaches } from './asking';
import { hooked, logOf, priced, startProjecting } from './projecting';
import { thrownBy } from './scenes';

let place: Awaited<ReturnType<typeof startProjecting>>;
beforeAll(async () => {
  place = await startProjecting();
});
afterAll(() => place.end());

/** All that any test here saw. */
const everything: AgentEvent[] = [];
const emitted = (events: readonly AgentEvent[]) => {
  everything.push(...events);
  return project(oneringaiEvents(), events);
};
const streamed = (events: readonly AgentEvent[]) => project(oneringaiStream(), events);
const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type.replace('response.', ''));
const ofType = <E extends { type: string }, T extends E['type']>(events: readonly E[], type: T) =>
  events.filter((event): event is Extract<E, { type: T }> => event.type === type);

const sum = (a = 3) => priced(callTools([{ name: 'add', args: { a, b: 2 }, id: `call_${a}` }], 'Let me add.'));
const turn = ['iteration:start', 'llm:request', 'llm:response'];
const ran = ['tool:detected', 'tool:start', 'tool:complete', 'iteration:complete'];
const oneTool = ['execution:start', ...turn, ...ran, ...turn, 'iteration:complete', 'execution:complete'];

test('[A16][A17][A18][A19][A20][A22][A23] a real run with a tool, awaited or streamed, is emitted in order, under one id', async () => {
  const { live, log } = await place.told([sum(), priced(say('It is 5.'))]);
  const events = emitted(live);
  expect(typesOf(events)).toEqual(oneTool);
  expect(emitted(log)).toEqual(events);
  expect(new Set(events.map(({ executionId }) => executionId))).toEqual(new Set([`exec_${live[0]?.runId?.slice(4)}`]));
  expect(ofType(events, 'iteration:start').map(({ iteration }) => iteration)).toEqual([0, 1]);
  expect(ofType(events, 'tool:detected')[0]?.toolCalls.map(({ id }) => id)).toEqual(['call_3']);
  expect(ofType(events, 'execution:complete')[0]?.response).toMatchObject({ usage: { input_tokens: 200, output_tokens: 40 } });
});

test('[A94][A207][A208][A209][A210] a real stream has its order, its sums and its ends, and can be collected with its calls', async () => {
  const { live } = await place.told([slowly(sum(), { chunkMs: 5, chunkSize: 4 }), priced(say('It is 5.'))]);
  const items = streamed(live);
  const shape = typesOf(items).filter((type, i, all) => type !== all[i - 1]);
  expect(shape).toEqual([
    ...['created', 'output_text.delta', 'tool_call.start', 'tool_call_arguments.delta', 'tool_call_arguments.done'],
    ...['tool_execution.start', 'tool_execution.done', 'iteration.complete'],
    ...['created', 'output_text.delta', 'iteration.complete', 'complete'],
  ]);
  expect(
    ofType(items, 'response.output_text.delta')
      .map(({ delta }) => delta)
      .join(''),
  ).toBe('Let me add.It is 5.');
  expect(ofType(items, 'response.iteration.complete').map(({ has_more_iterations }) => has_more_iterations)).toEqual([true, false]);
  expect(ofType(items, 'response.tool_execution.done')).toMatchObject([
    { tool_name: 'add', result: '5', execution_time_ms: expect.any(Number) },
  ]);
  expect(items.at(-1)).toMatchObject({
    status: 'completed',
    iterations: 2,
    usage: { input_tokens: 200, output_tokens: 40, total_tokens: 240 },
  });
  expect(await StreamHelpers.accumulateText(items)).toBe('Let me add.It is 5.');
  expect(await StreamHelpers.collectResponse(items)).toMatchObject({
    output: [{ content: [{ text: 'Let me add.' }, { type: 'tool_use', id: 'call_3' }] }, { content: [{ text: 'It is 5.' }] }],
    tool_results: [{ tool_call_id: 'call_3', result: '5' }],
  });

  const broken = streamed((await place.told([sum(), fail(400, { message: 'no such setting' })])).live);
  expect(broken.at(-1)).toMatchObject({ type: 'response.error', error: { type: 'execution_error' }, recoverable: false });
  expect(ofType(broken, 'response.error')).toHaveLength(1);
  await expect(StreamHelpers.collectResponse(broken)).rejects.toThrow(/no such setting/);
});

test('[A55][A59][A63][A64][A206] tools that are unknown, throw or time out are emitted and counted as such', async () => {
  const calls = ['nope', 'breaks', 'slow'].map((name) => ({ name, args: {}, id: `call_${name}` }));
  const { live, log } = await place.told([callTools([...calls, { name: 'add', args: { a: 3, b: 2 }, id: 'call_add' }]), say('So be it.')]);
  const events = emitted(live);
  expect(ofType(events, 'tool:error').map(({ toolCall, error }) => [toolCall.id, error.message])).toEqual([
    ['call_nope', "Tool 'nope' not found. Did you register it with the agent?"],
    ['call_breaks', "Tool 'breaks' execution failed: it broke"],
  ]);
  expect(ofType(events, 'tool:timeout')).toMatchObject([
    {
      timeout: 500,
      toolCall: { id: 'call_slow', state: 'timeout', error: "Tool 'slow' execution timed out after 500ms", function: { name: 'slow' } },
    },
  ]);
  expect(ofType(events, 'tool:complete').map(({ toolCall }) => toolCall.id)).toEqual(['call_add']);
  const done = ofType(streamed(live), 'response.tool_execution.done').find(({ tool_call_id }) => tool_call_id === 'call_slow');
  expect(done?.error).toBe("Tool 'slow' execution timed out after 500ms");
  const metrics = oneringaiMetrics(log);
  expect(metrics).toMatchObject({ toolCallCount: 4, toolSuccessCount: 1, toolFailureCount: 2, toolTimeoutCount: 1, hookDuration: 0 });
  // The timeout is of the tool, and no time of the model's.
  expect(metrics.toolDuration).toBeGreaterThanOrEqual(500);
  expect(metrics.llmDuration).toBeGreaterThan(0);
  expect(events.at(-1)?.type).toBe('execution:complete');
});

test('[A24][A92][A93] a rate limit that does not end is an error of the model call, then of the execution, with the wait in milliseconds', async () => {
  const { thread, live } = await place.told([fail(429, { headers: { 'retry-after-ms': '50' }, message: 'slow down' })]);
  const events = emitted(live);
  expect(typesOf(events).slice(-2)).toEqual(['llm:error', 'execution:error']);
  const [{ error } = { error: undefined }] = ofType(events, 'execution:error');
  expect(error).toMatchObject({
    name: 'ProviderRateLimitError',
    status: 429,
    retryAfter: 50,
    message: expect.stringContaining('slow down'),
  });
  expect(ofType(events, 'execution:error')).toHaveLength(1);
  expect((await thrownBy(thread.result())).message).toBe(error?.message);
});

test('[A84] an empty response is requested again with waits and execution:retry, and the run completes', async () => {
  const { live, requests } = await place.told([empty(), empty(), say('Here.')]);
  const events = emitted(live);
  expect(ofType(events, 'execution:retry').map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
    [1, 10],
    [2, 20],
  ]);
  expect(requests).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({ type: 'execution:complete', response: { output_text: 'Here.' } });
});

test('[A80][A81][A82] a real run at its maximum is the error that OneRingAI throws, or a summary; its stream is one incomplete response', async () => {
  const stopped = await place.told([sum()], { limits: { turns: 1 } });
  expect(ofType(emitted(stopped.live), 'execution:error').map(({ error }) => error.message)).toEqual([
    'Max iterations (1) reached without completion',
  ]);
  expect(streamed(stopped.live).at(-1)).toMatchObject({ type: 'response.complete', status: 'incomplete' });

  const summed = await place.told([sum(), priced(say('So far 5.'))], { limits: { turns: 1 }, atLimit: 'summarize' });
  expect(typesOf(emitted(summed.live)).slice(-4)).toEqual(['llm:request', 'llm:response', 'execution:maxIterations', 'execution:complete']);
  expect(ofType(streamed(summed.live), 'response.complete')).toMatchObject([{ status: 'incomplete', usage: { total_tokens: 240 } }]);
  // A single-shot answer and the closing words are counted like any other.
  expect(oneringaiMetrics(summed.log)).toMatchObject({ totalTokens: 240 });

  const exact = await place.told([sum(), say('5')], { limits: { turns: 2 } });
  expect(ofType(streamed(exact.live), 'response.complete').map(({ status }) => status)).toEqual(['completed']);
  expect(exact.requests).toHaveLength(2);
});

test('[A108][A111][A112] a pause, a resume and a cancel of a real run are emitted once each, and the cancel ends its stream', async () => {
  const paused = await place.told([callTools([{ name: 'pay', args: { cents: 5 }, id: 'call_p' }]), say('Paid.')], {}, async (thread) => {
    await reaches(thread, 'requires_action', 1);
    await ask(thread, 'pause');
    await ask(thread, 'resume');
    await ask(thread, 'approve', { toolCallId: 'call_p', by: 'dana' });
  });
  const events = emitted(paused.live);
  expect(typesOf(events).filter((type) => /paused|resumed/.test(type))).toEqual(['execution:paused', 'execution:resumed']);
  expect(ofType(events, 'execution:paused')[0]?.reason).toBe('Manual pause');

  const { live, thread } = await place.told([stall('Half an ans')], {}, async (thread, asked) => {
    await until(asked, (n) => n === 1);
    await thread.cancel({ reason: 'enough' });
  });
  expect(ofType(emitted(live), 'execution:cancelled')).toMatchObject([{ reason: 'enough' }]);
  expect(typesOf(emitted(live)).slice(-3)).toEqual(['execution:cancelled', 'llm:error', 'execution:error']);
  expect(streamed(live).at(-1)).toMatchObject({ type: 'response.error', error: { type: 'cancelled' } });
  await expect(StreamHelpers.collectResponse(streamed(live))).rejects.toThrow(/cancelled/);
  expect((await thrownBy(thread.result())).message).toMatch(/cancelled/);
});

test('[A21][A23][A124][A131][A132][A134][A138] hooks of a real run that fail or intervene are emitted, and are in the audit', async () => {
  const calls = [0, 1, 2].map((a) => ({ name: 'add', args: { a, b: 1 }, id: `call_${a}` }));
  const { live, log } = await place.told([callTools([...calls, { name: 'pay', args: { cents: 5 }, id: 'call_p' }]), say('Done.')], {
    agent: hooked,
  });
  const events = emitted(live);
  const types = typesOf(events);
  expect(
    ofType(events, 'hook:error').map(({ hookName, error, consecutiveErrors }) => [hookName, error.message, consecutiveErrors]),
  ).toEqual([
    ['after:llm', 'reader: reader broke', 1],
    ['after:llm', 'reader: reader broke', 2],
    ['after:execution', 'closer: closer broke', 1],
  ]);
  expect(types.indexOf('hook:error')).toBe(types.indexOf('llm:response') + 1);
  expect(types.slice(-2)).toEqual(['hook:error', 'execution:complete']);
  const trail = oneringaiAudit(log).filter(({ type }) => type !== 'hook_executed');
  const entries = trail.map(({ type, toolName, details }) =>
    [type, toolName, (details as { reason?: string } | undefined)?.reason].join(' '),
  );
  // The calls run side by side.
  expect(entries.sort()).toEqual([
    'tool_approved pay it is little',
    'tool_modified add ',
    'tool_rejected add not twos',
    'tool_skipped add ',
  ]);
  const results = ofType(streamed(live), 'response.tool_execution.done');
  expect(results.find(({ tool_call_id }) => tool_call_id === 'call_2')?.error).toBe('Tool rejected: not twos');
  expect(results.find(({ tool_call_id }) => tool_call_id === 'call_0')?.result).toBe('0');
});

test('[A203][A204][A205] after a real run of twelve turns the history has the newest ten, and metrics and errors count all', async () => {
  const { live, log } = await place.told([...Array.from({ length: 11 }, (_, a) => sum(a)), priced(say('All added.'))]);
  expect(oneringaiHistory(log, 'none')).toEqual([]);
  expect(oneringaiHistory(log).map(({ iteration }) => iteration)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(oneringaiHistory(log, 'full')[0]).toMatchObject({ iteration: 2, toolResults: [{ tool_use_id: 'call_2', content: '4' }] });
  expect(oneringaiMetrics(log)).toMatchObject({ iterationCount: 12, totalTokens: 12 * 120, errors: [] });
  expect(oneringaiMetrics(live)).toEqual(oneringaiMetrics(log));

  const single = await place.told([priced(say('Hello.'))]);
  expect(oneringaiMetrics(single.log)).toMatchObject({ iterationCount: 1, totalTokens: 120 });
  const failed = await place.told([fail(400, { message: 'no such setting' })]);
  expect(oneringaiMetrics(failed.log).errors).toMatchObject([
    { type: 'execution_error', error: expect.stringContaining('no such setting') },
  ]);
});

test('[A25] after the destruction of a real thread nothing is emitted, whatever is sent to it', async () => {
  const { thread } = await place.told([stall('Half an ans')], { mode: 'conversation' }, async (begun, asked) => {
    await until(asked, (n) => n === 1);
    await begun.destroy();
  });
  const before = emitted(await logOf(thread));
  expect(before.at(-1)?.type).toBe('execution:error');
  await handleOf(thread)
    .signal('sendMessage', { input: 'Hello?' })
    .catch(() => undefined);
  expect(emitted(await logOf(thread))).toEqual(before);
});

test('[A26] the real runs above emitted all seventeen events of the loop', () => {
  expect(everything.filter(isDurable).length).toBeGreaterThan(100);
  expect([...new Set(typesOf(emitted(everything)))]).toEqual(
    expect.arrayContaining([
      ...['execution:start', 'execution:complete', 'execution:error', 'execution:paused', 'execution:resumed', 'execution:cancelled'],
      ...['iteration:start', 'iteration:complete', 'llm:request', 'llm:response', 'llm:error', 'hook:error'],
      ...['tool:detected', 'tool:start', 'tool:complete', 'tool:error', 'tool:timeout'],
    ]),
  );
});
