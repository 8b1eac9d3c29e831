import fc from 'fast-check';
import { exitCodeOfRun } from '../../src/cli/commands/follow';
import { type AgentEvent, isTerminal } from '../../src/core/event';
import type { AssistantMessage } from '../../src/core/message';
import { type BaseAgentLine, baseagentLines } from '../../src/projections/baseagent/baseagent';
import { project } from '../../src/projections/projection';
import { plot, Story } from '../core/story';
import { livePieces, withLive } from './live';
import { durable, Log, logs } from './log';

function linesOf({ events }: Pick<Log, 'events'>): BaseAgentLine[] {
  return project(baseagentLines(), events);
}

type ItemLine = Extract<BaseAgentLine, { item: unknown }>;

function itemsOf(lines: readonly BaseAgentLine[]): ItemLine[] {
  return lines.filter((line): line is ItemLine => 'item' in line);
}

const usage = (calls: number) => ({ input_tokens: 100 * calls, cached_input_tokens: 40 * calls, output_tokens: 20 * calls });

describe('the order of BaseAgent', () => {
  test('[B48][B49][B50][B52][B53] a tool and an answer are exactly these lines', () => {
    expect(linesOf(logs.oneTool())).toEqual([
      { type: 'thread.started', thread_id: 'thread_1' },
      { type: 'turn.started' },
      { type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text: 'Let me add.' } },
      {
        type: 'item.started',
        item: { id: 'item_2', type: 'command_execution', command: 'add({"a":1,"b":2})', status: 'in_progress', aggregated_output: '' },
      },
      {
        type: 'item.completed',
        item: { id: 'item_2', type: 'command_execution', command: 'add', status: 'completed', aggregated_output: '3', exit_code: 0 },
      },
      { type: 'item.completed', item: { id: 'item_3', type: 'agent_message', text: 'It is 3.' } },
      { type: 'turn.completed', usage: usage(2), stop_reason: 'completed' },
    ]);
  });

  test('[B48] every run is a turn of one thread', () => {
    const types = linesOf(logs.conversation()).map(({ type }) => type);
    expect(types.slice(0, 4)).toEqual(['thread.started', 'turn.started', 'item.completed', 'turn.completed']);
    expect(types.slice(4)).toEqual(['turn.started', 'item.started', 'item.completed', 'item.completed', 'turn.completed']);
  });

  test('[B52] empty text has no line, and a message has none before it is complete', () => {
    expect(linesOf(new Log().begin().says('').says('').complete()).map(({ type }) => type)).toEqual([
      'thread.started',
      'turn.started',
      'turn.completed',
    ]);
    const messages = itemsOf(linesOf(logs.parallelTools())).filter(({ item }) => item.type === 'agent_message');
    expect(messages.map(({ type }) => type)).toEqual(['item.completed']);
  });

  test('[B49][B50] concurrent calls keep their ids, whichever ends first', () => {
    const tools = itemsOf(linesOf(logs.parallelTools())).filter(({ item }) => item.type === 'command_execution');
    expect(tools.map(({ type, item }) => [type, item.id])).toEqual([
      ['item.started', 'item_1'],
      ['item.started', 'item_2'],
      ['item.started', 'item_3'],
      ['item.completed', 'item_2'],
      ['item.completed', 'item_1'],
      ['item.completed', 'item_3'],
    ]);
    expect(tools.at(-1)?.item).toMatchObject({ status: 'failed', aggregated_output: 'Error: it broke', exit_code: 1 });
  });

  test('a call that never ran begins and ends at the same moment, and one that is carried out elsewhere begins when it is handed out', () => {
    const rejected = itemsOf(linesOf(logs.rejected()));
    expect(rejected.slice(1, 3)).toMatchObject([
      { type: 'item.started', item: { id: 'item_2', command: 'refund({"orderId":"A1","cents":9000})' } },
      { type: 'item.completed', item: { id: 'item_2', status: 'failed', exit_code: 1 } },
    ]);
    const { events } = logs.requiresAction();
    const projection = baseagentLines();
    const byEvent = events.map((event) => [event.type, projection.push(event).map(({ type }) => type)]);
    expect(byEvent).toContainEqual(['thread.run.requires_action', ['item.started']]);
    expect(byEvent).toContainEqual(['agent.tool.execution.completed', ['item.completed']]);
  });

  test('the arguments that a person edits change the command', () => {
    const started = itemsOf(linesOf(logs.approved('{"cents":1}'))).find(({ type }) => type === 'item.started');
    expect(started?.item).toMatchObject({ command: 'refund({"cents":1})' });
  });
});

describe('the outcome of a command', () => {
  const shell = (output: string, rest = {}) => {
    const log = new Log().begin().says('', [{ name: 'shell', id: 'call_s', args: { command: 'make' } }]);
    return itemsOf(linesOf(log.ran('call_s', output, rest).says('.').complete()))
      .filter(({ item }) => item.id === 'item_1')
      .at(-1)?.item;
  };

  test('[B51] the exit code is that of the process, and any other than 0 is a failure', () => {
    const error = { name: 'ShellExitError', message: 'exit code 42' };
    expect(shell('no rule\n[exit code: 42]', { status: 'failed', error })).toMatchObject({ status: 'failed', exit_code: 42 });
    expect(shell('replaced by a hook', { status: 'failed', error })).toMatchObject({ exit_code: 42 });
    expect(shell('replaced by a hook\n[exit code: 7]')).toMatchObject({ status: 'failed', exit_code: 7 });
    expect(shell('done')).toMatchObject({ status: 'completed', exit_code: 0 });
    expect(shell('it printed [exit code: 3]\nand went on')).toMatchObject({ status: 'completed', exit_code: 0 });
    expect(shell('Command timed out after 1s', { status: 'timed-out' })).toMatchObject({ status: 'failed', exit_code: 1 });
  });

  test('[B51] other tools whose output looks like this have no exit code', () => {
    const log = new Log().begin().says('', [{ name: 'read_file', id: 'call_r', args: { path: 'log' } }]);
    const [, done] = itemsOf(linesOf(log.ran('call_r', '[exit code: 3]').says('.').complete()));
    expect(done?.item).toMatchObject({ status: 'completed', exit_code: 0 });
  });
});

describe('the items that BaseAgent only declared', () => {
  test('[B55] reasoning is taken from the live events of the recorded attempt, before the text', () => {
    const log = new Log()
      .begin()
      .turn()
      .delta({ reasoningChunk: 'void' })
      .retry()
      .delta({ restart: true, reasoningChunk: 'Let me ' }, 2)
      .delta({ reasoningChunk: 'think.' }, 2)
      .answer('42', [], { attempts: [{ kind: 'rate-limit', message: 'slow down', waitMs: 700 }] })
      .complete();
    const items = itemsOf(linesOf(log)).map(({ type, item }) => [type, item.type, 'text' in item ? item.text : '']);
    expect(items.slice(1)).toEqual([
      ['item.completed', 'reasoning', 'Let me think.'],
      ['item.completed', 'agent_message', '42'],
    ]);
    expect(itemsOf(project(baseagentLines(), durable(log.events))).map(({ item }) => item.type)).toEqual(['error', 'agent_message']);
  });

  test.each([
    ['write_file', { path: 'a.txt', content: 'x' }, [{ path: 'a.txt', kind: 'update' }]],
    ['edit', { file_path: 'b.txt' }, [{ path: 'b.txt', kind: 'update' }]],
    [
      'apply_patch',
      {
        patch:
          '*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: src/a b.ts\n@@\n-a\n+b\n*** Delete File: old.txt\n*** End Patch',
      },
      [
        { path: 'new.txt', kind: 'add' },
        { path: 'src/a b.ts', kind: 'update' },
        { path: 'old.txt', kind: 'delete' },
      ],
    ],
    [
      'apply_patch',
      { patch: '--- a/x.ts\t2026\n+++ b/x.ts\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/n.ts\n--- a/o.ts\n+++ /dev/null\n' },
      [
        { path: 'x.ts', kind: 'update' },
        { path: 'n.ts', kind: 'add' },
        { path: 'o.ts', kind: 'delete' },
      ],
    ],
  ])('[B55][B50] %s changes files, and reports the result', (name, args, changes) => {
    const log = new Log().begin().says('', [{ name, id: 'call_f', args }]);
    const items = itemsOf(linesOf(log.ran('call_f', 'Done').says('.').complete()));
    expect(items.slice(0, 2)).toEqual([
      { type: 'item.started', item: { id: 'item_1', type: 'file_change', changes, status: 'in_progress', aggregated_output: '' } },
      {
        type: 'item.completed',
        item: { id: 'item_1', type: 'file_change', changes, status: 'completed', aggregated_output: 'Done', exit_code: 0 },
      },
    ]);
  });

  test('[B55] a patch that names no file is a command like any other', () => {
    const log = new Log().begin().says('', [{ name: 'apply_patch', id: 'call_f', args: '{"patch": nonsense' }]);
    const [started] = itemsOf(linesOf(log.done('call_f', 'Error', { status: 'rejected' }).says('.').complete()));
    expect(started?.item).toMatchObject({ type: 'command_execution', command: 'apply_patch({"patch": nonsense)' });
  });

  test('[B55] the plan of an agent is one list, updated while it runs and completed with the turn', () => {
    const plan = (status: string) => ({
      steps: [
        { description: 'look', status: 'completed' },
        { description: 'fix', status },
      ],
    });
    const log = new Log()
      .begin()
      .says('', [{ name: 'update_plan', id: 'call_p', args: plan('in_progress') }])
      .ran('call_p', 'Plan updated')
      .says('', [
        {
          name: 'update_plan',
          id: 'call_q',
          args: {
            changes: [
              { step: 2, status: 'completed' },
              { step: 9, status: 'pending' },
            ],
          },
        },
      ])
      .ran('call_q', 'Plan updated')
      .says('', [{ name: 'update_plan', id: 'call_bad', args: plan('pending') }])
      .ran('call_bad', 'Error: no', { status: 'failed' })
      .says('', [{ name: 'todo_append', id: 'call_t', args: { todos: [{ content: 'rest', status: 'pending' }] } }])
      .ran('call_t', 'ok')
      .says('Fixed.')
      .complete();
    const look = { text: 'look', completed: true };
    const items = itemsOf(linesOf(log));
    const lists = items.filter(({ item }) => item.type === 'todo_list');
    expect(lists).toEqual([
      { type: 'item.started', item: { id: 'item_1', type: 'todo_list', items: [look, { text: 'fix', completed: false }] } },
      { type: 'item.updated', item: { id: 'item_1', type: 'todo_list', items: [look, { text: 'fix', completed: true }] } },
      {
        type: 'item.updated',
        item: { id: 'item_1', type: 'todo_list', items: [look, { text: 'fix', completed: true }, { text: 'rest', completed: false }] },
      },
      { type: 'item.completed', item: expect.objectContaining({ id: 'item_1' }) },
    ]);
    expect(items.filter(({ item }) => item.type === 'command_execution')).toHaveLength(2);
    expect(items.at(-1)?.item.type).toBe('todo_list');
  });

  test('[B55] progress of a running tool updates its item', () => {
    const log = new Log().begin().says('', [{ name: 'shell', id: 'call_s', args: { command: 'make' } }]);
    log
      .started('call_s')
      .progress('call_s', 'compiling')
      .progress('call_s', 'linking')
      .done('call_s', 'built')
      .progress('call_s', 'too late');
    const updates = itemsOf(linesOf(log.says('.').complete())).filter(({ type }) => type === 'item.updated');
    expect(updates.map(({ item }) => item)).toEqual([
      expect.objectContaining({ id: 'item_1', status: 'in_progress', aggregated_output: 'compiling' }),
      expect.objectContaining({ id: 'item_1', status: 'in_progress', aggregated_output: 'compiling\nlinking' }),
    ]);
  });

  test('[B55] failed attempts and failing hooks are error items, each reported once', () => {
    const failed = 'The model call failed (truncated-stream) and is tried again: the stream broke off';
    for (const events of [logs.retried().events, durable(logs.retried().events)]) {
      const errors = itemsOf(project(baseagentLines(), events)).filter(({ item }) => item.type === 'error');
      expect(errors).toEqual([{ type: 'item.completed', item: { id: 'item_1', type: 'error', message: failed } }]);
    }
    const log = new Log()
      .begin()
      .turn()
      .record('agent.hook.completed', {
        hook: 'before:llm',
        durationMs: 3,
        errors: [{ id: 'check#1', message: 'no network', consecutive: 1 }],
      });
    expect(itemsOf(linesOf(log.answer('Hello.').complete()))[0]?.item).toMatchObject({
      type: 'error',
      message: 'Hook before:llm (check#1) failed: no network',
    });
  });

  test('[B55] reasoning of an attempt that broke off is not part of the answer, and each turn reports its own failed attempts', () => {
    const attempts = [{ kind: 'server' as const, message: 'it broke', waitMs: 1 }];
    const log = new Log()
      .begin()
      .turn()
      .delta({ reasoningChunk: 'void' })
      .answer('', [{ name: 'add', id: 'call_a' }], { attempts });
    const items = itemsOf(linesOf(log.ran('call_a', '3').turn().answer('3', [], { attempts }).complete()));
    expect(items.map(({ item }) => item.type)).toEqual(['error', 'command_execution', 'command_execution', 'error', 'agent_message']);
  });

  test('a result that comes after its turn begins the next one', () => {
    const log = new Log()
      .begin()
      .says('', [{ name: 'crawl', id: 'call_b', args: { url: 'x' } }])
      .ran('call_b', 'started', { background: true })
      .says('It runs.')
      .complete();
    const message = { id: 'msg_b', role: 'user' as const, content: 'crawled' };
    log.record('agent.tool.background.completed', { toolCallId: 'call_b', name: 'crawl', status: 'success', isError: false, message });
    const lines = linesOf(log.begin('Well?').says('Done.').complete());
    expect(lines.slice(-5)).toMatchObject([
      { type: 'turn.started' },
      { type: 'item.started', item: { command: 'crawl({"url":"x"})' } },
      { type: 'item.completed', item: { aggregated_output: 'crawled' } },
      { type: 'item.completed', item: { text: 'Done.' } },
      { type: 'turn.completed' },
    ]);
  });
});

describe('how a turn ends', () => {
  const endOf = (log: Log) => linesOf(log).at(-1);

  test('[B7] a turn that reached its limit differs from one that ended with its answer', () => {
    expect(endOf(logs.maxTurns())).toEqual({ type: 'turn.completed', usage: usage(1), stop_reason: 'max_iterations' });
    expect(endOf(logs.words())).toMatchObject({ type: 'turn.completed', stop_reason: 'completed' });
    const tokens = new Log().begin().says('.').incomplete({ limit: 'tokens', max: 5, message: 'enough', output: '.' });
    expect(endOf(tokens)).toMatchObject({ type: 'turn.completed', stop_reason: 'max_tokens' });
  });

  test('[B54] usage counts every model call, including those for the closing words at a limit and for summaries, used or not', () => {
    const log = new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a' }])
      .ran('call_a', '3');
    const own = { inputTokens: 7, cachedInputTokens: 3, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
    const spent = { usage: own, model: 'm', durationMs: 3 };
    log.record('thread.context.compacted', { reason: 'window', prunedOutputs: 0, droppedMessages: 1, bytes: 9, spent });
    log.record('thread.context.kept', { reason: 'window', failed: 'empty', bytes: 9, spent });
    log.record('agent.run.summarized', { stepId: 'x', output: 'As far as I got.', ...spent });
    const lines = linesOf(log.incomplete({ limit: 'turns', max: 1, message: 'enough', output: 'As far as I got.' }));
    expect(lines.slice(-2)).toEqual([
      { type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text: 'As far as I got.' } },
      {
        type: 'turn.completed',
        usage: { input_tokens: 121, cached_input_tokens: 49, output_tokens: 26 },
        stop_reason: 'max_iterations',
      },
    ]);
  });

  test('[B55] failed attempts at the closing words are reported once, live or not, and late ones of another turn are not reported', () => {
    const attempts = [{ kind: 'rate-limit' as const, message: 'the provider asks to slow down', waitMs: 700 }];
    const own = { inputTokens: 7, cachedInputTokens: 3, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
    const log = new Log()
      .begin()
      .says('', [{ name: 'add', id: 'call_a' }])
      .ran('call_a', '3')
      .says('', [{ name: 'add', id: 'call_b' }]);
    log.retry({ turn: 1 }).ran('call_b', '4').retry({ turn: 2 });
    log.record('agent.run.summarized', { stepId: 'x', output: 'So far.', usage: own, model: 'm', durationMs: 3, attempts });
    log.incomplete({ limit: 'turns', max: 2, message: 'enough', output: 'So far.' });
    for (const events of [log.events, durable(log.events)]) {
      const errors = itemsOf(project(baseagentLines(), events)).filter(({ item }) => item.type === 'error');
      expect(errors).toHaveLength(1);
    }
  });

  test('[B70][B77] a reached cost limit fails the turn', () => {
    const log = new Log()
      .begin()
      .says('.')
      .incomplete({ limit: 'costUsd', max: 0.1, message: 'The run spent $0.12 of $0.10.', output: '' });
    expect(endOf(log)).toEqual({ type: 'turn.failed', error: { message: 'Cost limit exceeded: The run spent $0.12 of $0.10.' } });
  });

  test('[B76] a failure fails the turn with its message, once, and the attempts before it are reported', () => {
    const lines = linesOf(logs.failed());
    expect(lines.slice(-2)).toMatchObject([
      { type: 'item.completed', item: { type: 'error' } },
      { type: 'turn.failed', error: { message: 'the provider failed (500)' } },
    ]);
    expect(itemsOf(lines).filter(({ item }) => item.type === 'error')).toHaveLength(1);
  });

  test('[B77] every failed turn has a non-zero exit code', () => {
    const cost = new Log().begin().says('.').incomplete({ limit: 'costUsd', max: 1, message: 'spent', output: '' });
    for (const log of [logs.failed(), logs.cancelledWriting(), logs.words(), logs.maxTurns(), cost, new Log().begin().turn().expire()]) {
      const end = log.events.filter(isTerminal).at(-1);
      if (endOf(log)?.type === 'turn.failed') expect(exitCodeOfRun({ end: end as never })).not.toBe(0);
      else expect(end?.type).toMatch(/completed|incomplete/);
    }
  });

  test('calls that were running when the thread was ended externally are ended, and so is the turn', () => {
    const log = new Log()
      .begin()
      .says('', [{ name: 'shell', id: 'call_s' }])
      .started('call_s')
      .progress('call_s', 'half');
    log.runId = null;
    expect(linesOf(log.expire()).slice(-2)).toMatchObject([
      { type: 'item.completed', item: { status: 'failed', aggregated_output: 'half', exit_code: 1 } },
      { type: 'turn.failed', error: { message: 'the thread was terminated' } },
    ]);
    expect(linesOf(new Log().expire('timed-out')).map(({ type }) => type)).toEqual(['thread.started', 'turn.started', 'turn.failed']);
    // A conversation that is ended while idle: its last turn ended long ago, whether the end names its run or not.
    for (const runId of [null, 'run_1']) {
      const rested = logs.words();
      rested.runId = runId;
      expect(linesOf(rested.expire()).map(({ type }) => type)).toEqual(linesOf(logs.words()).map(({ type }) => type));
    }
  });

  test('[B56] an event that can not be written as a line becomes an error, and the others follow', () => {
    const unwritable = {
      toString() {
        throw new TypeError('it can not be written');
      },
    };
    const log = new Log().begin().says('first');
    log.record('thread.message.completed', undefined as never);
    const { events } = log.says('second').complete();
    const [first] = (events as { type: string; data?: { message?: AssistantMessage } }[]).flatMap(({ type, data }) =>
      type === 'thread.message.completed' && data?.message ? data.message.content : [],
    );
    Object.assign(first as object, { text: unwritable });
    const lines = project(baseagentLines(), events);
    const errors = lines.filter(({ type }) => type === 'error');
    expect(errors).toEqual([
      { type: 'error', message: expect.stringMatching(/^Failed to emit event: it can not be written/) },
      { type: 'error', message: expect.stringMatching(/^Failed to emit event: /) },
    ]);
    expect(lines.slice(-2)).toMatchObject([{ item: { text: 'second' } }, { type: 'turn.completed' }]);
  });
});

function expectInvariants(events: readonly AgentEvent[]): void {
  const lines = project(baseagentLines(), events);
  expect(JSON.parse(JSON.stringify(lines))).toEqual(lines);
  const types = lines.map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(['thread.started', 'turn.started']);
  expect(types.filter((type) => type === 'turn.started')).toHaveLength(events.filter(isTerminal).length);
  expect(types.filter((type) => /^turn\.(completed|failed)$/.test(type))).toHaveLength(events.filter(isTerminal).length);
  expect(types.at(-1)).toMatch(/^turn\.(completed|failed)$/);
  expect(types).not.toContain('error');
  const ids: string[] = [];
  const open = new Set<string>();
  for (const { type, item } of itemsOf(lines)) {
    if (!ids.includes(item.id)) ids.push(item.id);
    if (type === 'item.started') open.add(item.id);
    else if (type === 'item.completed')
      expect(open.delete(item.id) || ['agent_message', 'reasoning', 'error'].includes(item.type)).toBe(true);
    else expect(open).toContain(item.id);
    if (type === 'item.completed' && item.type === 'command_execution') expect(item).toMatchObject({ exit_code: expect.any(Number) });
  }
  expect(open.size).toBe(0);
  expect(ids).toEqual(ids.map((_, i) => `item_${i + 1}`));
}

test('[B48][B49][B50] every log of the core is projected as turns, with items numbered from 1, and each item that began ends', () => {
  fc.assert(
    fc.property(plot, (runs) => expectInvariants(new Story().play(runs).events)),
    { numRuns: 40 },
  );
  for (const make of Object.values(logs)) expectInvariants(make().events);
});

test('[B49][B50] whatever live events arrive in between, items stay in order and each item that began ends', () => {
  fc.assert(
    fc.property(plot, livePieces, (runs, pieces) => expectInvariants(withLive(new Story().play(runs).events, pieces))),
    { numRuns: 60 },
  );
});
