import { existsSync, readdirSync } from 'node:fs';
import { compensated, compiledTesting, crash } from './each-effect';

test('an agent with one tool of each effect passes at every twelfth point, and the report says what was unknown', async () => {
  const report = await crash('each-effect', { every: 12 });
  console.log(report.summary);
  expect(() => compiledTesting().assertCrashSafe(report)).not.toThrow();
  expect(report.points.length).toBeGreaterThan(12);
  expect(report.summary).toMatch(/^crashEverywhere: \d+ points \(\d+ kills, \d+ freezes\) in [\d.]+ s; .*; no differences\.$/);
  for (const point of report.points) expect(compensated(point).sort()).toEqual(['cancelled flight', 'cancelled room']);
});

test('a tool that declares `keyed` and ignores its key is found, with the point and the effect', async () => {
  const report = await crash('ignores-keys', { ways: ['kill'] });
  const found = report.points.filter(({ differences }) => differences.length > 0);
  expect(found.map(({ way, at, differences }) => ({ way, at, differences }))).toEqual([
    {
      way: 'kill',
      at: 'after charge has ended, before its outcome is recorded',
      differences: [{ kind: 'doubled', message: 'charge: "charged order" happened 2 times, and without faults once' }],
    },
  ]);
  expect(() => compiledTesting().assertCrashSafe(report)).toThrow(
    /1 points with differences\.\n- killed after charge has ended, before its outcome is recorded \[.+\]\n {4}doubled: charge: "charged order"/,
  );
});

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
