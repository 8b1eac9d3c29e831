import { compensated, compiledTesting, crash } from './each-effect';

test('[B189] an agent with one tool of each effect doubles nothing, loses nothing untold and compensates each saga once, wherever its worker is killed or frozen', async () => {
  const report = await crash('each-effect');
  console.log(report.summary);
  expect(() => compiledTesting().assertCrashSafe(report)).not.toThrow();
  expect(report.clean.end).toBe('thread.run.failed');

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
