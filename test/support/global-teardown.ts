import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { replayAll } from './histories';

export default async function globalTeardown(): Promise<void> {
  const run = globalThis.longhaulTestRun;
  if (!run) return;
  try {
    await replayGate(run);
  } catch (error) {
    // Jest would report only that a teardown failed, and lose the results of the tests.
    fail(1, `replay gate: the histories of this run could not be replayed: ${(error as Error).stack}`);
  } finally {
    await run.server.stop();
    rmSync(run.folder, { recursive: true, force: true });
  }
}

/** The last test of every run: all its histories replay with the same decisions, so that no thread is stuck after a restart. */
async function replayGate({ server, saved, began }: NonNullable<typeof globalThis.longhaulTestRun>): Promise<void> {
  const codePath = process.env.LONGHAUL_TEST_BUNDLE;
  if (!codePath) return;
  const keep = join(tmpdir(), `longhaul-diverged-${Date.now()}`);
  const start = performance.now();
  const { replayed, skipped, diverged } = await replayAll({ server, since: began, saved, keep, workflowBundle: { codePath } });
  if (replayed + skipped.length + diverged.length === 0) return;
  console.error(`replay gate: replayed ${replayed + diverged.length} histories in ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  const reasons = new Map<string, number>();
  for (const { why } of skipped) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  for (const [why, count] of reasons) console.error(`replay gate: left out ${count}: ${why}`);
  const told = diverged.map(
    ({ threadId, runId, error, historyFile }) => `thread ${threadId}, execution ${runId}: ${error}\n  ${historyFile}`,
  );
  if (told.length > 0)
    fail(told.length, `replay gate: ${told.length} histories do not replay; they are kept in ${keep}\n${told.join('\n')}`);
}

/** `scripts/test.js` adds the count to the failed tests; jest alone exits with this code. */
function fail(count: number, why: string): void {
  console.error(why);
  process.exitCode = 1;
  const report = process.env.LONGHAUL_TEST_GATE;
  if (report) writeFileSync(report, JSON.stringify({ failed: count }));
}
