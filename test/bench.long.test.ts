import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..');

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['--require', 'tsx/cjs', join(root, 'bench/main.ts'), ...args], { cwd: root, encoding: 'utf8' });
}

test('the bench measures on a server of its own, prints Markdown and saves everything as JSON', () => {
  const { status, stdout, stderr } = bench('--quick', '--only', 'cold-replay,cancel,actions');
  expect(stderr).not.toMatch(/Error/);
  expect(stderr).toMatch(/replayed [1-9]\d* histories/);
  for (const where of ["in the thread's own worker", 'in another process']) {
    expect(stdout).toMatch(new RegExp(`\\| cancel to closed HTTP connection of a step ${where}, ms, of 5( \\| [\\d.,]+){3} \\|`));
  }
  const file = /Everything measured: (.*\.json)/.exec(stdout)?.[1] ?? '';
  const { cancels, coldReplay, bundleBytes } = JSON.parse(readFileSync(file, 'utf8'));
  expect(cancels).toEqual({ same: expect.any(Array), elsewhere: expect.any(Array) });
  expect([...cancels.same, ...cancels.elsewhere]).toHaveLength(10);
  // One execution, and as long a one as the engine lets it become.
  const [{ turns, events, queryMs, cpuMsAnEvent, messageMs }] = coldReplay;
  expect(events).toBeGreaterThan(turns * 12);
  expect(turns).toBeGreaterThan(50);
  for (const ms of [queryMs, cpuMsAnEvent, messageMs]) expect(ms).toBeGreaterThan(0);
  expect(stdout).toMatch(new RegExp(`\\| ${turns} \\| ${events.toLocaleString('en-US')}( \\| [\\d.,]+){4} \\|`));
  expect(bundleBytes.longhaul).toBeGreaterThan(bundleBytes.empty);
  expect(stdout).toMatch(/\| longhaul, a turn \| 0 \| 2 \| 0 \| 0 \| 0 \| 0 \| 0 \| 0 \| 2 \|/);
  expect(status).toBe(0);
}, 240_000);

test('the bench lists its parts if an unknown one is requested', () => {
  const { status, stderr } = bench('--only', 'everything');
  expect(status).toBe(1);
  expect(stderr).toContain(
    '--only everything: there is no such part. The parts are pace, resume, cold-replay, cancel, takeover, actions, approvals, encoding, context, hostile-input.',
  );
});
