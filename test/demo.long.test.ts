import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './support/until';

const started: ChildProcess[] = [];

interface Demo {
  child: ChildProcess;
  out(): string;
  code: Promise<number | null>;
  /** Every process that belongs to it, found by a mark in its environment, which children inherit. */
  processes(): number[];
}

function startDemo(...args: string[]): Demo {
  const mark = `LONGHAUL_DEMO_TEST=${process.pid}-${started.length}`;
  const [name = '', value] = mark.split('=');
  const plain = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^(OPENAI_|LONGHAUL_|TEMPORAL_(?!CLI_PATH)|FORCE_COLOR)/.test(key)),
  );
  const child = spawn(process.execPath, [join(__dirname, '../scripts/demo.js'), ...args], {
    env: { ...plain, NO_COLOR: '1', [name]: value },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let out = '';
  child.stdout?.on('data', (chunk) => (out += chunk));
  child.stderr?.on('data', (chunk) => (out += chunk));
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, out: () => out, code, processes: () => marked(mark) };
}

function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** A number from the summary. */
function counted(out: string, what: string): number {
  return Number(new RegExp(`^  ${what} +([\\d.]+)`, 'm').exec(out)?.[1]);
}

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

const onLinux = existsSync('/proc/self/environ');

test('the demo kills its worker in the middle, continues in another without repeating a tool, and leaves nothing behind', async () => {
  const demo = startDemo();
  expect(await demo.code.then((code) => ({ code, out: code === 0 ? '' : demo.out() }))).toEqual({ code: 0, out: '' });
  const out = demo.out();

  const killed = /kill -9 (\d+): the worker is gone/.exec(out)?.[1];
  expect(out).toContain(`worker 1 is process ${killed}`);
  const next = /worker 2 is process (\d+)/.exec(out)?.[1];
  expect(next).not.toBe(killed);
  expect(out).toContain('the model begins again (attempt 2)');
  // The bug and its fix were real, and a person, here the demo, was asked.
  expect(out.indexOf('1249 !== 1999')).toBeGreaterThan(0);
  expect(out.indexOf('✔ an item counts as often as it was bought')).toBeGreaterThan(out.indexOf('1249 !== 1999'));
  expect(out).toMatch(/there is no terminal to ask a person, so the demo approves "node publish\.js"/);
  expect(out).toContain('✔ completed · 7 turns · 7 tool calls');

  expect(counted(out, 'turns')).toBe(7);
  expect(counted(out, 'tool calls')).toBe(7);
  expect(counted(out, 'tools repeated')).toBe(0);
  expect(counted(out, 'published')).toBe(1);
  expect(counted(out, 'lost to the kill')).toBe(1);
  expect(counted(out, 'taken over after')).toBeLessThan(40);
  expect(out).toMatch(new RegExp(`workers +2 +${killed}@\\S+, ${next}@`));
  expect(counted(out, 'history')).toBeLessThan(100);
  expect(out).toMatch(/^ {2}replays +1 of 1 /m);
  if (onLinux) await until('every process of the demo is gone', () => demo.processes().length === 0, 20_000);
  expect(existsSync(/broken program is in (\S+)/.exec(out)?.[1] ?? '')).toBe(false);
});

test('Ctrl-C in the middle ends it with 130 and leaves nothing behind', async () => {
  const demo = startDemo('--keep');
  await until(`the run has begun; it said: ${demo.out()}`, () => demo.out().includes('turn 1'), 60_000);
  if (onLinux) expect(demo.processes().length).toBeGreaterThan(3);
  demo.child.kill('SIGINT');
  expect(await demo.code).toBe(130);
  if (onLinux) await until('every process of the demo is gone', () => demo.processes().length === 0, 20_000);
});
