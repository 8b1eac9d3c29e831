import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentEvent } from '../../src/core/event';
import { inPackage } from '../support/in-package';
import { until } from '../support/until';

const checkout = join(__dirname, '../../bin/longhaul.js');

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Waits for a text in either stream. */
  says(text: string | RegExp, deadlineMs?: number): Promise<void>;
  ended: Promise<Ended>;
}

export interface CommandOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** What its standard input holds. Default: nothing, and it is closed. */
  input?: string | Buffer;
  /** Run the sources, as in a checkout. Default: the compiled package, as it is once it is installed. */
  fromSources?: boolean;
}

const running = new Set<ChildProcess>();

/** In place of the user's own: what commands of this test file keep. */
const state = mkdtempSync(join(tmpdir(), 'longhaul-state-'));

/** The real program as a process of its own, without a terminal. Nothing of the caller's Temporal or provider settings reaches it. */
export function start(args: string[], { env = {}, cwd, input = '', fromSources = false }: CommandOptions = {}): Running {
  const plain = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(TEMPORAL_ADDRESS|TEMPORAL_NAMESPACE|LONGHAUL_|OPENAI_|FORCE_COLOR|npm_command)/.test(name),
    ),
  );
  const child = spawn(process.execPath, [fromSources ? checkout : inPackage('bin/longhaul.js'), ...args], {
    cwd,
    env: { ...plain, NO_COLOR: '1', XDG_STATE_HOME: state, ...env } as NodeJS.ProcessEnv,
    stdio: 'pipe',
  });
  running.add(child);
  child.stdin?.end(input);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += chunk));
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  const has = (text: string | RegExp, where: string) => (typeof text === 'string' ? where.includes(text) : text.test(where));
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    says: (text, deadlineMs = 60_000) =>
      until(`"longhaul ${args.join(' ')}" says ${text}`, () => has(text, stdout) || has(text, stderr), deadlineMs).catch((error) => {
        throw new Error(`${error.message}\nstdout: ${stdout}\nstderr: ${stderr}`);
      }),
  };
}

export function longhaul(args: string[], options?: CommandOptions): Promise<Ended> {
  return start(args, options).ended;
}

export function eventsOf(stdout: string): AgentEvent[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** What a person reads of a failure must be one line, and no stack. */
export function expectOneLine({ stderr }: Ended, words: RegExp): void {
  const lines = stderr.trimEnd().split('\n');
  expect(lines.at(-1)).toMatch(words);
  expect(lines.filter((line) => line.startsWith('error:'))).toHaveLength(1);
  expect(stderr).not.toMatch(/\n\s+at /);
}

afterAll(async () => {
  await Promise.all(
    [...running].map((child) => {
      child.kill('SIGKILL');
      return new Promise((resolve) => child.once('close', resolve));
    }),
  );
  rmSync(state, { recursive: true, force: true });
});
