import type { AgentEvent } from '../../src/core/event';
import { agentbEvents, agentbRunRecord, baseagentLines, project } from '../../src/projections';
import { callTools, fail, say, stall } from '../../src/testing/model-server';
import { until } from '../support/rig';
import { reaches } from './asking';
import { busy, priced, startProjecting } from './projecting';

let place: Awaited<ReturnType<typeof startProjecting>>;
beforeAll(async () => {
  place = await startProjecting();
});
afterAll(() => place.end());

const agentb = (events: readonly AgentEvent[]) => project(agentbEvents(), events);
const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type);
const add = (id: string) => priced(callTools([{ name: 'add', args: { a: 3, b: 1 }, id }]));

describe('AgentB', () => {
  test('[A71][A73][A188] at the maximum of continuations a real run requires action, then changes its status, and executes nothing', async () => {
    let resting: AgentEvent[] = [];
    const { live, thread, log } = await place.told(
      [add('call_1'), add('call_2'), say('Done.')],
      { limits: { toolRounds: 1 }, atLimit: 'hand-out' },
      async (begun) => {
        await reaches(begun, 'requires_action', 1);
        const reader = new AbortController();
        for await (const event of begun.events({ live: false, signal: reader.signal })) {
          resting.push(event);
          if (event.type === 'thread.run.requires_action') reader.abort();
        }
        await begun.submitToolOutputs([{ toolCallId: 'call_2', output: 'by hand' }]);
      },
    );
    const events = agentb(live);
    const notices = events.filter(({ type }) => type === 'thread.run.requires_action');
    // The first is a notice that a tool is about to run; in the second the run waits, and says so.
    expect(notices.map(({ data }) => (data as { status: string }).status)).toEqual(['in_progress', 'requires_action']);
    const rest = events.indexOf(notices[1] as (typeof events)[number]);
    expect(events[rest + 1]).toMatchObject({ type: 'agent.run.status.changed', data: { currentStatus: 'requires_action' } });
    expect(typesOf(agentb(resting)).filter((type) => type === 'agent.tool.execution.started')).toHaveLength(1);
    expect(typesOf(agentb(resting))).not.toContain('thread.run.completed');

    expect(agentbRunRecord(log.slice(0, 1))).toMatchObject({ status: 'queued' });
    const tool = log.findIndex(({ type }) => type === 'agent.tool.execution.started');
    expect(agentbRunRecord(log.slice(0, tool + 1))).toMatchObject({ status: 'in_progress', startedAt: expect.any(String) });
    expect(agentbRunRecord(resting)).toMatchObject({ status: 'requires_action' });
    expect(agentbRunRecord(log)).toMatchObject({ status: 'completed', completedAt: log.at(-1)?.timestamp, threadId: thread.id });
    resting = [];
  });

  test('[A13][A89][A90][A188] a real failure of the provider is one LLMError, with the HTTP status and the provider, and the last error of the record', async () => {
    const { live, log } = await place.told([add('call_1'), fail(400, { message: 'no such setting' })]);
    expect(typesOf(agentb(live)).slice(-2)).toEqual(['thread.message.incomplete', 'thread.run.failed']);
    const error = {
      code: 'LLMError',
      message: expect.stringContaining('no such setting'),
      details: { statusCode: 400, provider: 'openai' },
    };
    expect(agentb(live).at(-1)?.data).toMatchObject({ status: 'failed', error });
    expect(agentbRunRecord(log)).toMatchObject({ status: 'failed', lastError: error });
  });

  test('[A97][A102] a cancel in the middle of a real answer is emitted as cancelling, then cancelled, and the record has its end', async () => {
    const { live, log } = await place.told([stall('Half an ans')], {}, async (thread, asked) => {
      await until(asked, (n) => n === 1);
      await thread.cancel({ reason: 'enough' });
    });
    const events = agentb(live);
    // Deltas are live, and may come late.
    expect(
      typesOf(events)
        .filter((type) => type !== 'thread.message.delta')
        .slice(-4),
    ).toEqual([...['agent.run.status.changed', 'thread.message.incomplete', 'agent.run.status.changed', 'thread.run.cancelled']]);
    const statuses = events.flatMap(({ data }) => ('currentStatus' in data ? [data.currentStatus] : []));
    expect(statuses.slice(-2)).toEqual(['cancelling', 'cancelled']);
    expect(typesOf(events)).not.toContain('thread.message.completed');
    expect(agentbRunRecord(log)).toMatchObject({ status: 'cancelled', completedAt: log.at(-1)?.timestamp });
  });
});

describe('BaseAgent', () => {
  const linesOf = (events: readonly AgentEvent[]) => project(baseagentLines(), events);

  test('[B9][B48][B49][B50][B51][B52][B53][B55] a busy real run has each item in order, with exit codes, and the sum of its usage', async () => {
    const lines = linesOf((await place.told(busy)).live);
    const items = lines.flatMap((line) =>
      'item' in line ? [`${line.type.slice(5)} ${line.item.id.slice(5)} ${line.item.type}`] : [line.type],
    );
    expect(items.filter((word) => !word.startsWith('updated') || word.endsWith('todo_list'))).toEqual([
      ...['thread.started', 'turn.started', 'completed 1 reasoning', 'completed 2 agent_message'],
      ...['started 3 command_execution', 'completed 3 command_execution', 'started 4 file_change', 'completed 4 file_change'],
      ...['started 5 todo_list', 'started 6 command_execution', 'completed 6 command_execution', 'completed 7 error'],
      ...['updated 5 todo_list', 'completed 8 agent_message', 'completed 5 todo_list', 'turn.completed'],
    ]);
    const ended = lines.flatMap((line) => (line.type === 'item.completed' && 'exit_code' in line.item ? [line.item] : []));
    expect(ended).toMatchObject([
      { id: 'item_3', status: 'failed', exit_code: 3, aggregated_output: 'out\n[exit code: 3]' },
      { id: 'item_4', status: 'completed', exit_code: 0 },
      { id: 'item_6', status: 'completed', exit_code: 0 },
    ]);
    // What the tool said while it ran.
    expect(items).toContain('updated 6 command_execution');
    const usage = { input_tokens: 300, cached_input_tokens: 120, output_tokens: 60 };
    expect(lines.at(-1)).toEqual({ type: 'turn.completed', usage, stop_reason: 'completed' });
  });

  test('[B7][B70] a reached cost limit fails a real turn with its message, and a limit of turns completes it with another reason', async () => {
    const poor = await place.told([add('call_1'), say('never')], { limits: { costUsd: 0.1 } });
    expect(linesOf(poor.live).at(-1)).toMatchObject({
      type: 'turn.failed',
      error: { message: expect.stringMatching(/^Cost limit exceeded: /) },
    });
    expect(poor.requests).toHaveLength(1);
    const limited = await place.told([add('call_1'), say('never')], { limits: { turns: 1 } });
    expect(linesOf(limited.live).at(-1)).toMatchObject({ type: 'turn.completed', stop_reason: 'max_iterations' });
    expect(linesOf((await place.told([say('Done.')])).live).at(-1)).toMatchObject({ type: 'turn.completed', stop_reason: 'completed' });
  });
});
