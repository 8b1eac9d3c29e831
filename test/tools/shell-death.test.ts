import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { until } from '../support/until';

test('a command and its children die with their worker, including those that left its process group, however suddenly it ends', async () => {
  const mark = `9${Date.now()}${Math.floor(Math.random() * 1000)}`;
  const script = `
    const { runShell } = require(${JSON.stringify(join(__dirname, '../../src/tools/built-in/shell-process.ts'))});
    runShell({ command: 'setsid sleep ${mark}1 & (setsid sleep ${mark}3 &) & (env -i setsid sleep ${mark}4 &) & sleep ${mark}2', cwd: '/', env: { PATH: process.env.PATH }, timeoutMs: 60000, maxOutputBytes: 1000, signal: new AbortController().signal });`;
  const worker = spawn(process.execPath, ['--require', 'tsx/cjs', '--eval', script], {
    cwd: join(__dirname, '../..'),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const gone = new Promise((resolve) => worker.once('exit', resolve));
  await until('all run', async () => (await running(mark)).length === 4);
  worker.kill('SIGKILL');
  await gone;
  await until('all are gone', async () => (await running(mark)).length === 0);
});

/** Processes whose whole command is a sleep with the mark. */
async function running(mark: string): Promise<string[]> {
  const ps = spawn('ps', ['-eo', 'args'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let out = '';
  for await (const chunk of ps.stdout) out += chunk;
  return out.split('\n').filter((line) => line.startsWith(`sleep ${mark}`));
}
