import { compiledTesting, crash } from './each-effect';

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
