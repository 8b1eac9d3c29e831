import { existsSync, readdirSync } from 'node:fs';
import { compensated, compiledTesting, crash } from './each-effect';

test('[B189] an agent with one tool of each effect doubles nothing, loses nothing untold and compensates each saga once, wherever its worker is killed or frozen', async () => {
  const report = await crash('each-effect');
  console.log(report.summary);
  expect(() => compiledTesting().assertCrashSafe(report)).not.toThrow();
  expect(report.clean.end).toBe('thread.run.failed');
  expect(report.summary).toMatch(/^crashEverywhere: \d+ points \(\d+ kills, \d+ freezes\) in [\d.]+ s; .*; no differences\.$/);

  // Every event, and two moments of each of the six model calls, seven calls of tools and two compensations. The last model call fails.
  const perWay = report.clean.events.length + 2 * (6 + 7 + 2) - 1;
  expect(report.points.filter(({ way }) => way === 'kill')).toHaveLength(perWay);
  expect(report.points.filter(({ way }) => way === 'freeze')).toHaveLength(perWay);
  for (const point of report.points) {
    const { way, at } = point;
    expect({ way, at, compensated: compensated(point).sort() }).toEqual({ way, at, compensated: ['cancelled flight', 'cancelled room'] });
  }
  // A call that must not run twice has an unknown outcome if its worker is lost from its beginning to the record of its outcome.
  for (const way of ['kill', 'freeze'] as const) {
    const unknown = report.points.filter((point) => point.way === way && point.run.unknown.length > 0);
    for (const tool of ['mail', 'book', 'book'])
      for (const at of [`as ${tool} begins`, `after ${tool} has ended, before its outcome is recorded`])
        expect(unknown.map((point) => point.at)).toContain(at);
  }
}, 600_000);

test('what a run must do when the outcome of its `once` call is unknown can be checked, and the checks see the point', async () => {
  const report = await crash('fails-unknown', {
    ways: ['kill'],
    check: ({ unknown, end, answer }, clean) =>
      unknown.length > 0 && (end !== 'thread.run.failed' || !answer.startsWith('outcome_unknown') || clean.answer !== 'Mailed.')
        ? `it went on with ${end}`
        : undefined,
  });
  expect(() => compiledTesting().assertCrashSafe(report)).not.toThrow();
  const told = report.points.filter(({ run }) => run.unknown.length > 0);
  expect(told.map(({ at }) => at)).toEqual(['as mail begins', 'after mail has ended, before its outcome is recorded']);
  expect(told.map(({ run }) => run.effects.length)).toEqual([0, 1]);
});

test('people of the conversation approve in every run, each run has its own folder, and the author reads the effects', async () => {
  const workspaces = new Set<string>();
  const report = await crash('asks', {
    every: 4,
    async talk(thread) {
      for await (const { type, data } of thread.events({ live: false }))
        if (type === 'agent.approval.requested') await thread.approve(data.toolCall.id, { by: 'dana' });
    },
    effects({ workspace }) {
      workspaces.add(workspace);
      return existsSync(workspace) ? readdirSync(workspace).map((what) => ({ tool: 'write', what })) : [];
    },
  });
  expect(() => compiledTesting().assertCrashSafe(report)).not.toThrow();
  expect(report.clean).toMatchObject({ answer: 'Written.', effects: [{ tool: 'write', what: 'report' }] });
  expect(workspaces.size).toBe(report.points.length + 2);
});
