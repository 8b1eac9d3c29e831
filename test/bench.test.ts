import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..');

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['--require', 'tsx/cjs', join(root, 'bench/main.ts'), ...args], { cwd: root, encoding: 'utf8' });
}

test('the bench measures on a server of its own, prints Markdown and saves everything as JSON', () => {
  const { status, stdout, stderr } = bench('--quick', '--only', 'cancel');
  expect(stderr).not.toMatch(/Error/);
  expect(stdout).toMatch(/\| cancel to closed HTTP connection, ms, of 5( \| [\d.]+){3} \|/);
  const file = /Everything measured: (.*\.json)/.exec(stdout)?.[1] ?? '';
  const { cancelMs, bundleBytes } = JSON.parse(readFileSync(file, 'utf8'));
  expect(cancelMs).toHaveLength(5);
  expect(bundleBytes.longhaul).toBeGreaterThan(bundleBytes.empty);
  expect(status).toBe(0);
}, 60_000);

test('the bench names the parts there are when it is asked for another', () => {
  const { status, stderr } = bench('--only', 'everything');
  expect(status).toBe(1);
  expect(stderr).toContain('--only everything: there is no such part. The parts are pace, resume, cancel, takeover, approvals.');
});
