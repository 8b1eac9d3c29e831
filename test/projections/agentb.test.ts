import fc from 'fast-check';
import type { AgentEvent } from '../../src/core/event';
import { agentbEvents } from '../../src/projections/agentb/agentb';
import { agentbRunRecord } from '../../src/projections/agentb/run';
import type { AgentBEvent, AgentBEventType } from '../../src/projections/agentb/words';
import { project } from '../../src/projections/projection';
import { plot, Story } from '../core/story';
import { rounds } from '../support/rounds';
import { durable, Log, logs } from './log';

const told = ({ events }: { events: readonly AgentEvent[] }) => project(agentbEvents(), events);
const types = (events: readonly AgentBEvent[]) => events.map(({ type }) => type);
const ofType = <T extends AgentBEventType>(events: readonly AgentBEvent[], type: T) =>
  events.filter((event) => event.type === type) as AgentBEvent<T>[];
const statuses = (events: readonly AgentBEvent[]) =>
  ofType(events, 'agent.run.status.changed').map(({ data }) => [data.previousStatus, data.currentStatus, data.details]);

const turn = ['agent.run.step.created', 'thread.message.created', 'agent.run.status.changed', 'thread.message.created'];
const text = ['thread.message.delta', 'thread.message.delta'];
const call = ['thread.run.step.tool_call.created', 'thread.run.step.tool_call.completed_by_llm', 'thread.message.delta'];
const execution = ['agent.tool.execution.started', 'agent.tool.execution.completed'];
const answer = ['thread.message.completed', 'thread.run.completed'];

test("[A1][A2][A5][A9][A10][A11] a run that answers with text is exactly AgentB's event stream", () => {
  const events = told(logs.words());
  expect(types(events)).toEqual(['agent.run.created', ...turn, ...text, ...answer]);
  for (const event of events) expect(Object.keys(event)).toEqual(['type', 'timestamp', 'runId', 'threadId', 'data']);
  const envelope = (n: number) => ({
    timestamp: `2026-01-01T00:00:00.${String(n * 10).padStart(3, '0')}Z`,
    runId: 'run_1',
    threadId: 'thread_1',
  });
  const user = {
    id: 'msg_1',
    threadId: 'thread_1',
    role: 'user',
    content: 'Hello',
    createdAt: envelope(3).timestamp,
    metadata: { runId: 'run_1', stepId: 'run_1-turn-1' },
  };
  const shell = {
    ...user,
    id: 'msg_2',
    role: 'assistant',
    content: '',
    createdAt: envelope(5).timestamp,
    metadata: { ...user.metadata, inProgress: true },
  };
  const whole = { ...shell, content: 'Hello there.', createdAt: envelope(8).timestamp, metadata: user.metadata };
  expect(events).toEqual([
    { type: 'agent.run.created', ...envelope(1), data: { status: 'in_progress', initialMessages: [{ role: 'user', content: 'Hello' }] } },
    { type: 'agent.run.step.created', ...envelope(2), data: { stepId: 'run_1-turn-1', details: { turn: 1, iterationInLoop: 1 } } },
    { type: 'thread.message.created', ...envelope(3), data: { message: user } },
    {
      type: 'agent.run.status.changed',
      ...envelope(4),
      data: { previousStatus: 'in_progress', currentStatus: 'in_progress', details: 'LLM call for turn 1' },
    },
    { type: 'thread.message.created', ...envelope(5), data: { message: shell } },
    { type: 'thread.message.delta', ...envelope(6), data: { messageId: 'msg_2', delta: { contentChunk: 'Hello ' } } },
    { type: 'thread.message.delta', ...envelope(7), data: { messageId: 'msg_2', delta: { contentChunk: 'there.' } } },
    { type: 'thread.message.completed', ...envelope(8), data: { message: whole } },
    {
      type: 'thread.run.completed',
      ...envelope(9),
      data: {
        status: 'completed',
        finalMessages: [{ ...whole, createdAt: envelope(9).timestamp, metadata: { runId: 'run_1' } }],
        usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120 },
      },
    },
  ]);
});

test('[A5][A7][A8][A73] two tools and an answer have the order of AgentB, and running tools are not a pause', () => {
  const log = new Log()
    .begin('Add')
    .says('Let me add.', [
      { name: 'add', id: 'call_a', args: { a: 1, b: 2 } },
      { name: 'add', id: 'call_b', args: 'not json' },
    ])
    .ran('call_a', '3')
    .done('call_b', 'Error: not JSON', { status: 'rejected', error: { name: 'InvalidToolArgumentsError', message: 'not JSON' } })
    .says('It is 3.')
    .complete();
  const events = told(log);
  expect(types(events)).toEqual([
    'agent.run.created',
    ...turn,
    ...text,
    ...call,
    ...call,
    'thread.message.completed',
    'thread.run.requires_action',
    ...execution,
    ...execution,
    'agent.run.step.created',
    'thread.message.created',
    ...turn.slice(1),
    ...text,
    ...answer,
  ]);
  const [asks] = ofType(events, 'thread.run.requires_action');
  expect(asks?.data).toEqual({
    status: 'in_progress',
    required_action: {
      type: 'submit_tool_outputs',
      submit_tool_outputs: {
        tool_calls: [
          { id: 'call_a', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } },
          { id: 'call_b', type: 'function', function: { name: 'add', arguments: 'not json' } },
        ],
      },
    },
  });
  expect(statuses(events).map(([, status]) => status)).toEqual(['in_progress', 'in_progress']);
  expect(ofType(events, 'agent.tool.execution.started').map(({ data }) => data)).toEqual([
    { stepId: 'run_1-turn-1-tool_exec-call_a', toolCallId: 'call_a', toolName: 'add', input: { a: 1, b: 2 } },
    { stepId: 'run_1-turn-1-tool_exec-call_b', toolCallId: 'call_b', toolName: 'add', input: {} },
  ]);
  expect(ofType(events, 'agent.tool.execution.completed').map(({ data }) => data.result)).toEqual([
    { success: true, data: '3', metadata: { toolName: 'add', status: 'success', durationMs: 12 } },
    { success: false, error: 'not JSON', metadata: { toolName: 'add', status: 'rejected', errorName: 'InvalidToolArgumentsError' } },
  ]);
  const messages = ofType(events, 'thread.message.created').map(({ data }) => data.message);
  expect(messages.filter(({ role }) => role === 'tool').map(({ metadata }) => metadata)).toEqual([
    { runId: 'run_1', stepId: 'run_1-turn-2', tool_call_id: 'call_a', name: 'add' },
    { runId: 'run_1', stepId: 'run_1-turn-2', tool_call_id: 'call_b', name: 'add' },
  ]);
  const [first] = ofType(events, 'thread.message.completed');
  expect(first?.data.message.metadata.tool_calls?.map(({ id }) => id)).toEqual(['call_a', 'call_b']);
});

test('[A73] each turn with tools has its own notice', () => {
  const call = (id: string) => [{ name: 'add', id }];
  const log = new Log()
    .begin()
    .says('', call('call_a'))
    .ran('call_a', '3')
    .says('', call('call_b'))
    .ran('call_b', '4')
    .says('4')
    .complete();
  const notices = ofType(told(log), 'thread.run.requires_action').map(
    ({ data }) => data.required_action.submit_tool_outputs.tool_calls[0]?.id,
  );
  expect(notices).toEqual(['call_a', 'call_b']);
});

test('[A73] concurrent calls are announced once, and begin before they end', () => {
  const events = told(logs.parallelTools());
  expect(ofType(events, 'thread.run.requires_action')).toHaveLength(1);
  const order = events.flatMap(({ type, data }) =>
    type.startsWith('agent.tool') ? [`${type.slice(21)} ${(data as { toolCallId: string }).toolCallId}`] : [],
  );
  expect(order).toEqual(['started call_a', 'started call_b', 'started call_c', 'completed call_b', 'completed call_a', 'completed call_c']);
});

test('[A3][A6][A71][A73] a waiting run first requires action, then changes the status, and continues with the outputs', () => {
  const events = told(logs.requiresAction());
  const rest = types(events).indexOf('thread.run.requires_action');
  expect(types(events).slice(rest - 1, rest + 3)).toEqual([
    'thread.message.completed',
    'thread.run.requires_action',
    'agent.run.status.changed',
    'agent.run.status.changed',
  ]);
  expect(events[rest]?.data).toEqual({
    status: 'requires_action',
    required_action: {
      type: 'submit_tool_outputs',
      submit_tool_outputs: { tool_calls: [{ id: 'call_x', type: 'function', function: { name: 'look', arguments: '{"what":"sky"}' } }] },
    },
    pending: [{ kind: 'output', toolCallId: 'call_x', name: 'look', arguments: '{"what":"sky"}' }],
  });
  expect(statuses(events)).toEqual([
    ['in_progress', 'in_progress', 'LLM call for turn 1'],
    ['in_progress', 'requires_action', undefined],
    ['requires_action', 'in_progress', 'Continuing run with tool results.'],
    ['in_progress', 'in_progress', 'LLM call for turn 2'],
  ]);
  expect(types(events).filter((type) => type === 'agent.run.created' || type.startsWith('agent.tool'))).toEqual(['agent.run.created']);
  const steps = ofType(events, 'agent.run.step.created').map(({ data }) => data.stepId);
  expect(new Set(steps).size).toBe(2);
});

test('[A71] at the limit of tool rounds the calls are handed out, and no tool of the turn is executed', () => {
  const log = new Log()
    .begin()
    .says('', [{ name: 'add', id: 'call_a' }])
    .rest('output', 'call_a');
  const events = told(log);
  expect(types(events).slice(-3)).toEqual(['thread.message.completed', 'thread.run.requires_action', 'agent.run.status.changed']);
  expect(types(events).filter((type) => type.startsWith('agent.tool') || type.startsWith('thread.run.completed'))).toEqual([]);
  expect(agentbRunRecord(log.events)).toMatchObject({ status: 'requires_action' });
});

test('a call that a person must decide is pending, not an output to submit; a refusal is a failed execution', () => {
  const events = told(logs.rejected());
  const [rest] = ofType(events, 'thread.run.requires_action');
  expect(rest?.data).toMatchObject({
    status: 'requires_action',
    required_action: { submit_tool_outputs: { tool_calls: [] } },
    pending: [{ kind: 'approval', toolCallId: 'call_r' }],
  });
  expect(ofType(events, 'agent.tool.execution.completed').map(({ data }) => data.result)).toEqual([
    { success: false, error: 'refunded before', metadata: { toolName: 'refund', status: 'denied', errorName: 'ApprovalDeniedError' } },
  ]);
  const edited = told(logs.approved('{"orderId":"A2","cents":100}'));
  expect(ofType(edited, 'agent.tool.execution.started').map(({ data }) => data.input)).toEqual([{ orderId: 'A2', cents: 100 }]);
});

test('[A4] a run that begins without a user message continues instead of being created', () => {
  const log = new Log();
  log.runId = 'run_1';
  log.record('agent.run.created', { status: 'in_progress', initialMessages: [] });
  expect(told(log).map(({ type, data }) => [type, data])).toEqual([
    ['agent.run.status.changed', { currentStatus: 'in_progress', details: 'Continuing run.' }],
  ]);
});

/** What of each message was given since its shell was last announced. */
function textsOf(events: readonly AgentBEvent[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { type, data } of events) {
    if (type === 'thread.message.created' && data.message.metadata.inProgress) texts.set(data.message.id, '');
    if (type !== 'thread.message.delta' || !('contentChunk' in data.delta)) continue;
    texts.set(data.messageId, (texts.get(data.messageId) ?? 'no shell') + data.delta.contentChunk);
  }
  return texts;
}

test('[A12] the deltas since the message shell add up to the text: for the second attempt, from snapshots, and without live deltas', () => {
  const retried = told(logs.retried());
  expect([...textsOf(retried).values()]).toEqual(['Hello.']);
  expect(ofType(retried, 'thread.message.created').filter(({ data }) => data.message.metadata.inProgress)).toHaveLength(2);

  const replayed = project(agentbEvents(), durable(logs.oneTool().events));
  expect([...textsOf(replayed).values()]).toEqual(['Let me add.', 'It is 3.']);
  expect(types(replayed)).toEqual(
    types(told(logs.oneTool())).filter((type, i, all) => !(type === all[i - 1] && type === 'thread.message.delta')),
  );

  // A piece of the attempt that was given up comes late.
  const late = logs
    .retried()
    .events.flatMap((event) =>
      event.type === 'thread.message.delta' && event.data.restart
        ? [event, { ...event, data: { ...event.data, attempt: 1, contentChunk: 'lo', restart: undefined } }]
        : [event],
    ) as AgentEvent[];
  expect(
    ofType(told({ events: late }), 'thread.message.delta').map(({ data }) => 'contentChunk' in data.delta && data.delta.contentChunk),
  ).toEqual(['Hel', 'Hello.']);

  const log = new Log().begin().turn();
  const { messageId } = { messageId: 'msg_2' };
  const snapshot = (contentChunk: string) =>
    log.live('thread.message.delta', { messageId, turn: 1, attempt: 1, index: 0, contentChunk, snapshot: true });
  snapshot('Once');
  snapshot('Once upon');
  log.delta({ contentChunk: ' of something else' });
  // Late, of a message that is over.
  log.answer('Once upon a time').live('thread.message.delta', { messageId, turn: 1, attempt: 1, index: 9, contentChunk: '!' });
  const grown = told(log.complete());
  expect([...textsOf(grown).values()]).toEqual(['Once upon a time']);
  const chunks = ofType(grown, 'thread.message.delta').map(({ data }) => 'contentChunk' in data.delta && data.delta.contentChunk);
  expect(chunks.slice(0, 2)).toEqual(['Once', ' upon']);
});

test('[A13][A89][A90] a failure of the provider closes the shell and fails the run once, as an LLMError', () => {
  const events = told(logs.failed());
  expect(types(events).slice(-3)).toEqual(['thread.message.delta', 'thread.message.incomplete', 'thread.run.failed']);
  expect(ofType(events, 'thread.message.incomplete')[0]?.data).toEqual({ messageId: 'msg_4', reason: 'failed' });
  expect(ofType(events, 'thread.run.failed').map(({ data }) => data)).toEqual([
    {
      status: 'failed',
      error: {
        code: 'LLMError',
        message: 'the provider failed (500)',
        details: {
          statusCode: 500,
          provider: 'openai',
          errorType: 'server',
          attempts: [expect.objectContaining({ waitMs: 900 }), expect.anything()],
          maxAttempts: 2,
        },
      },
      usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120 },
    },
  ]);
  const early = new Log()
    .begin()
    .turn()
    .fail('auth', 'no such key', { details: { status: 401 } });
  expect(project(agentbEvents({ provider: 'openai' }), early.events).at(-1)?.data).toMatchObject({
    error: { code: 'LLMError', details: { statusCode: 401, provider: 'openai', errorType: 'auth' } },
  });
});

test('[A74][A75][A91] other failures keep their own code and the partial answer', () => {
  for (const finishReason of ['length', 'content_filter'] as const) {
    const events = told(
      new Log()
        .begin()
        .says('Half a sen', [], { finishReason })
        .fail('llm_finish_reason_error', `LLM stopped with an unexpected reason: ${finishReason}`),
    );
    expect(types(events).slice(-2)).toEqual(['thread.message.completed', 'thread.run.failed']);
    expect(events.at(-1)?.data).toMatchObject({
      error: { code: 'llm_finish_reason_error', message: expect.stringContaining(finishReason) },
    });
  }
  const unknown = new Log().begin().fail('UnknownAgent', 'no agent "x"', { announced: false });
  expect(told(unknown).map(({ type, data }) => [type, 'error' in data ? data.error : undefined])).toEqual([
    ['agent.run.created', undefined],
    ['thread.run.failed', { code: 'UnknownAgent', message: 'no agent "x"' }],
  ]);
});

test('[A15][A97] a cancel emits cancelling, then cancelled, then its own terminal event, and completes no message', () => {
  const events = told(logs.cancelledWriting());
  expect(types(events).slice(-4)).toEqual([
    'agent.run.status.changed',
    'thread.message.incomplete',
    'agent.run.status.changed',
    'thread.run.cancelled',
  ]);
  expect(statuses(events).slice(1)).toEqual([
    ['in_progress', 'cancelling', 'changed my mind'],
    ['cancelling', 'cancelled', 'Run cancelled by request.'],
  ]);
  expect(events.at(-1)?.data).toEqual({ status: 'cancelled', reason: 'changed my mind', by: 'dana' });
  expect(types(events)).not.toContain('thread.message.completed');
  // Even if only the end was recorded, both are emitted.
  const sudden = new Log().begin();
  sudden.record('thread.run.cancelled', {});
  expect(statuses(told(sudden)).map(([, status]) => status)).toEqual(['cancelling', 'cancelled']);
});

test('calls that never ran because the run ended have no execution, and their results are messages', () => {
  const events = told(logs.cancelledInTools());
  expect(ofType(events, 'agent.tool.execution.completed').map(({ data }) => data.toolCallId)).toEqual(['call_a']);
  expect(ofType(events, 'thread.message.created').filter(({ data }) => data.message.role === 'tool')).toHaveLength(2);
});

test('a limit and an external end are failures with a code', () => {
  expect(told(logs.maxTurns()).at(-1)?.data).toMatchObject({
    status: 'failed',
    error: { code: 'limit_reached', details: { limit: 'turns', max: 1 } },
  });
  expect(told(new Log().begin().expire()).at(-1)?.data).toMatchObject({ status: 'expired', error: { code: 'terminated' } });
});

test('[A14] each status change names the previous status; a suspended run requires action, and a pause has no event', () => {
  const log = logs.suspended();
  expect(statuses(told(log))).toEqual([
    ['in_progress', 'in_progress', 'LLM call for turn 1'],
    ['in_progress', 'requires_action', undefined],
    ['requires_action', 'in_progress', 'Resumed by a reply.'],
    ['in_progress', 'in_progress', 'LLM call for turn 2'],
  ]);
  const asleep = log.events.slice(0, log.events.findIndex(({ data }) => 'status' in data && data.status === 'suspended') + 1);
  expect(agentbRunRecord(asleep)).toMatchObject({ status: 'requires_action', expiresAt: '2026-01-08T00:00:00.000Z' });
  expect(types(told(logs.paused()))).toEqual(types(told(logs.words())));
});

test('[A102][A188][A219] the record of a run goes from queued to its end, with times, usage and the last error', () => {
  const log = logs.requiresAction();
  const upTo = (type: string) => agentbRunRecord(log.events.slice(0, log.events.findIndex((event) => event.type === type) + 1));
  expect(agentbRunRecord([])).toBeUndefined();
  expect(upTo('agent.run.created')).toEqual({
    id: 'run_1',
    threadId: 'thread_1',
    agentType: 'BaseAgent',
    status: 'queued',
    createdAt: '2026-01-01T00:00:00.010Z',
    config: {},
    metadata: { turns: 0, usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 } },
  });
  expect(upTo('agent.run.step.created')).toMatchObject({ status: 'in_progress', startedAt: '2026-01-01T00:00:00.020Z' });
  expect(upTo('thread.run.requires_action')).toMatchObject({ status: 'requires_action' });
  const done = agentbRunRecord(log.events);
  expect(done).toMatchObject({
    status: 'completed',
    completedAt: log.events.at(-1)?.timestamp,
    config: { model: 'openai/gpt-x' },
    metadata: { turns: 2, usage: { promptTokens: 200, completionTokens: 40, totalTokens: 240 } },
  });
  expect(done).not.toHaveProperty('lastError');
  expect(agentbRunRecord(logs.cancelledWriting().events)).toMatchObject({ status: 'cancelled', completedAt: expect.any(String) });
  expect(agentbRunRecord(logs.failed().events)).toMatchObject({
    status: 'failed',
    lastError: { code: 'LLMError', details: { provider: 'openai' } },
  });
  expect(agentbRunRecord(new Log().begin().expire().events)).toMatchObject({ status: 'expired', lastError: { code: 'terminated' } });
  const two = logs.conversation();
  expect(agentbRunRecord(two.events, 'run_1')?.metadata.turns).toBe(1);
  expect(agentbRunRecord(two.events)).toMatchObject({ id: 'run_2', metadata: { turns: 2 } });
});

test('[A219] the end of a run reports its own usage, however it ends', () => {
  const usages = [logs.conversation(), logs.failed(), logs.maxTurns()].map((log) =>
    told(log).flatMap(({ data }) => ('usage' in data ? [data.usage.totalTokens] : [])),
  );
  expect(usages).toEqual([[120, 240], [120], [120]]);
});

const terminal = ['thread.run.completed', 'thread.run.failed', 'thread.run.cancelled'];

test('[A13] any log is projected without an exception: one terminal event per run, as its last event, and every execution begins and ends once', () => {
  fc.assert(
    fc.property(plot, (runs) => {
      const { events } = new Story().play(runs);
      const all = told({ events });
      for (const runId of new Set(events.flatMap((event) => event.runId ?? []))) {
        const own = all.filter((event) => event.runId === runId);
        expect(own.filter(({ type }) => terminal.includes(type))).toHaveLength(1);
        expect(terminal).toContain(own.at(-1)?.type);
        const ids = (type: AgentBEventType) =>
          own.flatMap((event) => (event.type === type ? [(event.data as { toolCallId: string }).toolCallId] : []));
        expect(ids('agent.tool.execution.started').sort()).toEqual(ids('agent.tool.execution.completed').sort());
        expect(new Set(ids('agent.tool.execution.started')).size).toBe(ids('agent.tool.execution.started').length);
      }
      const texts = textsOf(all);
      for (const { data } of ofType(all, 'thread.message.completed')) expect(texts.get(data.message.id)).toBe(data.message.content);
      expect(JSON.parse(JSON.stringify(all))).toEqual(all);
    }),
    { numRuns: rounds(40) },
  );
});

/** Live pieces as they might come: right or wrong, of any attempt, snapshots or not, also of messages that are over. */
const pieces = fc.array(
  fc.record({
    attempt: fc.integer({ min: 1, max: 3 }),
    contentChunk: fc.string(),
    restart: fc.boolean(),
    snapshot: fc.boolean(),
    old: fc.boolean(),
  }),
  { maxLength: 5 },
);

test('[A12] whatever live events arrive, the deltas since the message shell add up to the text', () => {
  fc.assert(
    fc.property(plot, fc.array(pieces, { minLength: 1, maxLength: 4 }), (runs, live) => {
      const shells: string[] = [];
      const events = new Story().play(runs).events.flatMap((event, i): AgentEvent[] => {
        if (event.type === 'thread.message.created' && event.data.inProgress) shells.push(event.data.message.id);
        const between = (live[i % live.length] ?? []).map(({ old, restart, snapshot, ...rest }, index) => {
          const messageId = (old ? shells.at(-2) : shells.at(-1)) ?? 'none';
          const { timestamp, threadId, runId } = event;
          const data = { messageId, turn: 1, index, ...rest, ...(restart && { restart }), ...(snapshot && { snapshot }) };
          return { type: 'thread.message.delta', timestamp, threadId, runId, data } as AgentEvent;
        });
        return [event, ...between];
      });
      const all = told({ events });
      const texts = textsOf(all);
      for (const { data } of ofType(all, 'thread.message.completed')) expect(texts.get(data.message.id)).toBe(data.message.content);
    }),
    { numRuns: rounds(30) },
  );
});
