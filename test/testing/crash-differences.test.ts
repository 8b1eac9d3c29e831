import type { DurableEvent } from '../../src/core/event';
import { differencesOf, runOf } from '../../src/testing/crash/judge';
import { type Effect, notedEffects, noteEffect } from '../../src/testing/crash/ledger';
import { placesOf } from '../../src/testing/crash/points';

type Told = [type: DurableEvent['type'], data: object];

const completed = (output = 'done'): Told => ['thread.run.completed', { output, turns: 2 }];
const called = (toolCallId: string, status = 'success', more = {}): Told => [
  'agent.tool.execution.completed',
  { toolCallId, name: 'pay', status, output: 'paid', ...more },
];
const paid: Effect = { tool: 'pay', what: 'paid' };

function run(threadId: string, told: Told[], effects: Effect[] = []) {
  const events = told.map(([type, data], at) => ({
    ...{ seq: at + 1, type, data, threadId, runId: `run_${threadId}`, timestamp: new Date().toISOString() },
  })) as unknown as DurableEvent[];
  return runOf(threadId, events, effects);
}

const clean = run('clean', [called('a'), called('b'), completed()], [paid]);
const kinds = (told: Told[], effects: Effect[] = [paid]) => differencesOf(run('struck', told, effects), clean).map(({ kind }) => kind);

test('attempts, durations, ids of threads and the order of concurrent calls are no differences', () => {
  const told = [called('b', 'success', { attempts: 2, durationMs: 3_000 }), called('a', 'success', { wasted: { usage: 1 } }), completed()];
  expect(kinds(told)).toEqual([]);
  const key = (thread: string) => [called('a', 'success', { output: `key ${thread}/run_${thread}/a` }), completed()];
  expect(differencesOf(run('struck', key('struck')), run('clean', key('clean')))).toEqual([]);
});

test('another answer, another output, a missing event and an additional one are differences', () => {
  expect(kinds([called('a'), called('b'), completed('other')])).toEqual(['answer']);
  expect(kinds([called('a'), called('b', 'success', { output: 'other' }), completed()])).toEqual(['events']);
  expect(kinds([called('a'), completed()])).toEqual(['events']);
  expect(kinds([called('a'), called('b'), called('c'), completed()])).toEqual(['events']);
  expect(kinds([called('a'), called('b')])).toEqual(['stuck']);
});

test('after an unknown outcome only the effects count, and before it the log still does', () => {
  expect(kinds([called('a', 'unknown'), called('b'), completed('I checked.')])).toEqual([]);
  expect(kinds([called('a'), called('b', 'unknown'), ['thread.run.failed', { code: 'outcome_unknown', message: 'b' }]])).toEqual([]);
  expect(kinds([called('a', 'success', { output: 'other' }), called('b', 'unknown'), completed()])).toEqual(['events']);
  expect(kinds([called('a', 'unknown'), called('b'), completed()], [paid, paid])).toEqual(['doubled']);
});

test('a missing effect is excused once for each unknown outcome of its tool, and never for another tool', () => {
  const whole = [called('a'), called('b'), completed()];
  expect(kinds(whole, [])).toEqual(['missing']);
  expect(kinds([called('a', 'unknown'), called('b'), completed()], [])).toEqual([]);
  expect(kinds([called('a', 'unknown', { name: 'mail' }), called('b'), completed()], [])).toEqual(['missing']);
  const twice = run('clean', whole, [paid, paid]);
  const [missing] = differencesOf(run('struck', [called('a', 'unknown'), called('b'), completed()]), twice);
  expect(missing?.message).toBe(
    'pay: "paid" happened never, and without faults 2 times, and only 1 outcomes of pay were reported as unknown',
  );
});

test('an effect that happens only with a fault is reported', () => {
  expect(kinds([called('a'), called('b'), completed()], [paid, { tool: 'pay', what: 'paid twice' }])).toEqual(['doubled']);
});

test('the ledger of a thread has effects with the same key once, and those without a key as often as they happened', () => {
  const threadId = 'ledger';
  for (const key of ['k1', 'k1', 'k2']) noteEffect({ threadId, ...paid, key });
  noteEffect({ threadId, tool: 'mail', what: 'mailed' });
  noteEffect({ threadId, tool: 'mail', what: 'mailed' });
  noteEffect({ threadId: 'another', ...paid });
  expect(notedEffects(threadId).map(({ what, key }) => [what, key])).toEqual([
    ['paid', 'k1'],
    ['paid', 'k2'],
    ['mailed', undefined],
    ['mailed', undefined],
  ]);
});

test('each mark is one place, which waits at the last model call before it and says what happens there', () => {
  const { events } = run('clean', [['agent.run.created', {}], called('a'), completed()]);
  const keys = [
    'event 1',
    'model call begins',
    'model call ended',
    'call a begins',
    'call a ended',
    'event 2',
    'event 2',
    'model call begins #2',
  ];
  expect(placesOf([...keys, 'event 3', 'event 4'], events)).toEqual([
    { seq: 1, at: 'while event 1 (agent.run.created) is recorded', stop: { at: 'event 1' } },
    { seq: 1, at: 'as a model call begins', stop: { at: 'model call begins' } },
    {
      seq: 1,
      at: 'after a model has answered, before the answer is recorded',
      stop: { at: 'model call ended', gate: 'model call begins' },
    },
    { seq: 1, at: 'as pay begins', stop: { at: 'call a begins', gate: 'model call begins' } },
    { seq: 1, at: 'after pay has ended, before its outcome is recorded', stop: { at: 'call a ended', gate: 'model call begins' } },
    {
      seq: 2,
      at: 'while event 2 (agent.tool.execution.completed: pay) is recorded',
      stop: { at: 'event 2', gate: 'model call begins' },
    },
    { seq: 2, at: 'as a model call begins (number 2)', stop: { at: 'model call begins #2', gate: 'model call begins' } },
    { seq: 3, at: 'while event 3 (thread.run.completed) is recorded', stop: { at: 'event 3', gate: 'model call begins #2' } },
  ]);
});
