import { expectWhole, type KillableRun, killableRuns, type Position } from './killable-runs';

test('[B189] a worker killed in each kind of step loses no turn, repeats no "once" tool, and another takes over', async () => {
  const runs = await killableRuns();
  const first = await runs.startWorker();
  // Model, pure, keyed, once, waiting for a person, between deposit and use.
  const kinds: Position[] = ['model-0', 'model-2', 'pure', 'keyed', 'once', 'approval', 'retry-2'];
  const started: KillableRun[] = await Promise.all(kinds.map((position) => runs.start(position)));
  await Promise.all(started.map((run) => runs.arrive(run)));

  const second = await runs.startWorker();
  await first.kill();
  const killedAt = Date.now();
  for (const run of started) run.release();
  await Promise.all(started.map((run) => runs.finish(run, 70_000)));

  for (const run of started) {
    const traces = runs.traces(run.thread.id);
    await expectWhole(runs.rig, run, traces, { unknown: run.position === 'once' });
    if (!['model-0', 'model-2', 'pure', 'keyed'].includes(run.position)) continue;
    // Well before the minutes that a step may take: by its heartbeats. How soon is for the bench to say, on a machine that does nothing else.
    expect((runs.takenOverAt(run) ?? Number.POSITIVE_INFINITY) - killedAt).toBeLessThan(25_000);
  }
  second.signal('SIGTERM');
  expect(await second.exited).toBe(0);
});
