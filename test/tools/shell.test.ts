import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile as readText, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createShell } from '../../src/tools/built-in/shell';
import { createShellTools } from '../../src/tools/built-in/tasks/shell-tools';
import type { Tool } from '../../src/tools/defining/define-tool';
import { createToolbox } from '../../src/tools/running/toolbox';
import { until } from '../support/until';
import { callOf, newFolder, removeFolders, run, told } from './tool-host';

afterEach(removeFolders);

const shell = createShell();
const sh = async (command: string, more: object = {}) => {
  const workspace = await newFolder();
  return { workspace, ...(await run(shell, { command, ...more }, { workspace })) };
};

/** A zombie process does not count as alive. */
function alive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Processes with this in their environment. */
function withVariable(entry: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(entry);
    } catch {
      return false;
    }
  });
}

/** The process id a command wrote into a file of its workspace. */
async function pidIn(file: string): Promise<number> {
  await until(`${file} is written`, async () => existsSync(file) && (await readText(file, 'utf8')).endsWith('\n'));
  return Number(await readText(file, 'utf8'));
}

describe('shell', () => {
  test('[B133] output and errors appear in the order in which they were written', async () => {
    const { outcome } = await sh('for i in 1 2 3; do echo out $i; echo err $i >&2; done');
    expect(outcome).toMatchObject({ status: 'success', content: 'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3' });
  });

  test('[B133] [B12] an exit code other than 0 is reported after the output, and the outcome is failed', async () => {
    const execution = await sh('echo out; echo err >&2; exit 3');
    expect(execution).toMatchObject({
      outcome: { status: 'failed', content: 'out\nerr\n[exit code: 3]', error: { message: 'exit code 3' } },
      threw: false,
    });
    expect((await sh('false')).outcome.content).toBe('[exit code: 1]');
    expect((await sh('kill -9 $$')).outcome.content).toBe('[exit code: 137]');
    expect((await sh('no-such-program')).outcome.content).toMatch(/no-such-program: command not found\n\[exit code: 127\]$/);
    expect((await sh('echo "open')).outcome.content).toMatch(/\[exit code: [12]\]$/);
  });

  test('[B133] a command has a timeout of 60 s by default', async () => {
    expect(await shell.check({ command: 'true' })).toEqual({ ok: true, args: { command: 'true', timeout: 60 } });
    expect(shell.parameters).toMatchObject({ properties: { timeout: { default: 60 } } });
    expect((await sh('sleep 60', { timeout: 0.2 })).outcome.content).toMatch(/^Command timed out after 0\.2s$/);
  });

  test('a command without output says so', async () => {
    expect((await sh('true')).outcome.content).toBe('(no output)');
  });

  test('[B133] workdir is relative to the workspace, and confined to it', async () => {
    const workspace = await newFolder();
    await mkdir(join(workspace, 'sub'));
    await symlink('/', join(workspace, 'out'));
    expect(await told(shell, { command: 'pwd; echo $PWD' }, { workspace })).toBe(`${workspace}\n${workspace}`);
    expect(await told(shell, { command: 'pwd', workdir: 'sub' }, { workspace })).toBe(join(workspace, 'sub'));
    for (const workdir of ['..', '/', 'out'])
      expect(await told(shell, { command: 'pwd', workdir }, { workspace })).toMatch(/outside the workspace/);
    expect(await told(shell, { command: 'pwd', workdir: 'none' }, { workspace })).toBe("Error: 'none' is not a folder that exists.");
  });

  test('it is bash, with quotes and variables left to it', async () => {
    expect((await sh(`x=(a "b c"); echo "\${x[1]}" '$HOME' \${BASH_VERSION:+bash}`)).outcome.content).toBe('b c $HOME bash');
  });

  test('[B146] an identical command runs again', async () => {
    const workspace = await newFolder();
    const once = () => told(shell, { command: 'echo x >> log; wc -l < log' }, { workspace });
    expect([(await once()).trim(), (await once()).trim()]).toEqual(['1', '2']);
  });

  test('standard input is closed, so that nothing waits for it', async () => {
    expect((await sh('cat; read -r line || echo nobody')).outcome.content).toBe('nobody');
  });

  test('[B134] a timeout below a second is honoured, and the output so far is kept', async () => {
    const started = performance.now();
    const { outcome } = await sh('echo before; sleep 60; echo after', { timeout: 2.5 });
    expect(outcome).toMatchObject({
      status: 'timed-out',
      content: 'before\nCommand timed out after 2.5s',
      error: { name: 'ToolTimeoutError' },
    });
    const { outcome: sooner } = await sh('sleep 60', { timeout: 0.3 });
    expect(sooner).toMatchObject({ status: 'timed-out', content: expect.stringContaining('Command timed out after 0.3s') });
    expect(performance.now() - started).toBeLessThan(45_000);
  });

  test('[B134][B155] a timeout ends the whole process group, including processes that ignore signals', async () => {
    const workspace = await newFolder();
    const command = `(trap '' TERM; echo $BASHPID > stubborn.pid; while :; do sleep 0.05; done) & sleep 30 & echo $! > sleeper.pid; wait`;
    const running = run(shell, { command, timeout: 4 }, { workspace });
    const pids = [await pidIn(join(workspace, 'stubborn.pid')), await pidIn(join(workspace, 'sleeper.pid'))];
    expect((await running).outcome.status).toBe('timed-out');
    await until('all of the group are gone', () => !pids.some(alive));
  });

  test.each([0, -1, 300.1, '5'])('[B134] an invalid timeout is refused: %s', async (timeout) => {
    expect((await sh('true', { timeout })).outcome).toMatchObject({ status: 'rejected', content: expect.stringContaining('- timeout: ') });
  });

  test('cancel stops the process group, and the output so far is kept', async () => {
    const workspace = await newFolder();
    const controller = new AbortController();
    const running = run(shell, { command: 'echo started; sleep 30 & echo $! > pid; wait' }, { workspace, signal: controller.signal });
    const pid = await pidIn(join(workspace, 'pid'));
    controller.abort(new Error('enough'));
    const { outcome } = await running;
    expect(outcome).toMatchObject({
      status: 'cancelled',
      content: "Error: Tool 'shell' was cancelled.\nstarted\n[stopped before it ended]",
    });
    await until('the sleeper is gone', () => !alive(pid));
  });

  test('a background process that keeps the output open does not delay the call, and ends with it', async () => {
    const workspace = await newFolder();
    const started = performance.now();
    expect(await told(shell, { command: 'sleep 60 & echo $! > pid; echo done' }, { workspace })).toBe('done');
    expect(performance.now() - started).toBeLessThan(30_000);
    const pid = await pidIn(join(workspace, 'pid'));
    await until('the sleeper is gone', () => !alive(pid));
  });

  test('a background process that ignores SIGTERM is killed', async () => {
    const workspace = await newFolder();
    const command = `(trap '' TERM; echo $BASHPID > pid; while :; do sleep 0.05; done) & until [ -s pid ]; do sleep 0.01; done; echo done`;
    expect(await told(shell, { command }, { workspace })).toBe('done');
    const pid = await pidIn(join(workspace, 'pid'));
    await until('it is gone', () => !alive(pid));
  });

  test.each([
    ['keeps the output open', "setsid sh -c 'echo $$ > pid; exec sleep 60' &"],
    ['is a daemon', "(setsid sh -c 'echo $$ > pid; exec sleep 60' > /dev/null 2>&1 < /dev/null &) &"],
    ['cleared its environment', "(env -i setsid sh -c 'echo $$ > pid; exec sleep 60' > /dev/null 2>&1 < /dev/null &) &"],
    ['ignores being told to end', `setsid sh -c 'trap "" TERM HUP; echo $$ > pid; while :; do sleep 0.05; done' > /dev/null 2>&1 &`],
    ['begins others all the time', "setsid sh -c 'echo $$ > pid; while :; do setsid sleep 60 & sleep 0.001; done' > /dev/null 2>&1 &"],
  ])('a process that left the process group and %s ends with its command', async (_what, leave) => {
    const workspace = await newFolder();
    const started = performance.now();
    const mark = `LONGHAUL_TEST_MARK=${workspace}`;
    const marked = createShell({ environment: { LONGHAUL_TEST_MARK: workspace } });
    expect(await told(marked, { command: `${leave} until [ -s pid ]; do sleep 0.01; done; echo done` }, { workspace })).toBe('done');
    expect(performance.now() - started).toBeLessThan(30_000);
    expect(alive(await pidIn(join(workspace, 'pid')))).toBe(false);
    expect(withVariable(mark)).toEqual([]);
  });

  test('a process that left the process group and cleared its environment ends with its command, if it was seen before', async () => {
    const workspace = await newFolder();
    const command = `env -i setsid sh -c 'echo $$ > pid; exec sleep 60' > /dev/null 2>&1 & until [ -s pid ]; do sleep 0.01; done; sleep 1.5; echo done`;
    expect(await told(shell, { command }, { workspace })).toBe('done');
    expect(alive(await pidIn(join(workspace, 'pid')))).toBe(false);
  });

  test('endless output keeps its beginning and its end, in bounded memory', async () => {
    const before = process.memoryUsage().rss;
    const { outcome } = await sh('echo first; head -c 100000000 /dev/zero | tr "\\0" x; echo; echo last');
    const content = outcome.content as string;
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(50 * 1024);
    expect(content).toMatch(/^first\nx+\n\[\.\.\. \d{8} bytes \(about \d+ tokens\) left out, not kept \.\.\.\]\nx+\nlast$/);
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * 1024 * 1024);
  });

  test('when memory runs out, the kernel ends processes of a command first', async () => {
    expect((await sh('cat /proc/$$/oom_score_adj')).outcome).toMatchObject({ content: '1000' });
    expect(readFileSync('/proc/self/oom_score_adj', 'utf8').trim()).not.toBe('1000');
  });

  test('the exit code follows output that was cut', async () => {
    expect((await sh('seq 1 100000; exit 4')).outcome.content).toMatch(
      /^1\n2\n[\s\S]* left out, not kept [\s\S]*\n100000\n\[exit code: 4\]$/,
    );
  });

  test('the latest line is shown while it runs', async () => {
    const progress = jest.fn();
    await run(
      shell,
      { command: 'echo one; sleep 0.4; printf "two\\nthree\\n" | cat; sleep 0.1' },
      { workspace: await newFolder(), progress },
    );
    expect(progress.mock.calls).toEqual([['one'], ['three']]);
  });

  test('an empty command and one that is too long are refused', async () => {
    expect((await sh('  ')).outcome).toMatchObject({ status: 'rejected', content: expect.stringContaining('must not be empty') });
    expect((await sh(`: ${'x'.repeat(130_000)}`)).outcome).toMatchObject({
      status: 'rejected',
      content: expect.stringContaining('write it to a file'),
    });
    expect((await sh(`: ${'x'.repeat(119_000)}`)).outcome).toMatchObject({ status: 'success' });
  });

  test('a workspace that no longer exists is named in the error', async () => {
    expect(await told(shell, { command: 'true' }, { workspace: '/no/such/folder' })).toMatch(/workspace \/no\/such\/folder can't be used/);
  });

  test('no environment variable of the worker is passed on unless it is given, and given ones are passed unchanged', async () => {
    const workspace = await newFolder();
    const marked = ['TEMPORAL_GRPC_META_AUTHORIZATION', 'PGPASSWORD', 'JWT', 'NODE_OPTIONS', 'BASH_ENV', 'LONGHAUL_TEST_MARK'];
    const before = Object.fromEntries(marked.map((name) => [name, process.env[name]]));
    for (const name of marked) process.env[name] = '--title=leaked';
    try {
      expect(await told(shell, { command: 'env' }, { workspace })).not.toContain('leaked');
      const given = createShell({ environment: { EDITOR: 'ed', GITHUB_TOKEN: 'g-1', HOME: undefined, GIT_PAGER: 'less' } });
      const lines = (await told(given, { command: 'env' }, { workspace })).split('\n');
      expect(lines).toEqual(expect.arrayContaining(['EDITOR=ed', 'GITHUB_TOKEN=g-1', 'GIT_PAGER=less', `PWD=${workspace}`]));
      expect(lines.filter((line) => /^HOME=|leaked/.test(line))).toEqual([]);
      expect(lines.some((line) => line.startsWith('PATH='))).toBe(true);
    } finally {
      for (const name of marked) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });

  test('node and the usual programs are found without an environment', async () => {
    expect((await sh('node --version && ls / > /dev/null && git --version > /dev/null')).outcome.content).toMatch(/^v\d+/);
  });

  test('it never runs twice, and may need approval', async () => {
    expect(await createToolbox([shell]).judge(callOf('shell', { command: 'ls' }))).toEqual({
      kind: 'run',
      effect: 'once',
      timeoutMs: 310_000,
    });
    const careful = createShell({ approval: ({ command }) => (command.includes('rm') ? 'it deletes' : false) });
    expect(await createToolbox([careful]).judge(callOf('shell', { command: 'rm x' }))).toMatchObject({
      approval: { reason: 'it deletes' },
    });
    expect(await createToolbox([careful]).judge(callOf('shell', { command: 'ls' }))).not.toHaveProperty('approval');
  });
});

test('the environment can not change how bash handles cd and patterns', async () => {
  const workspace = await newFolder();
  const shell = createShell({ environment: { PATH: process.env.PATH, CDPATH: '/', BASHOPTS: 'globstar:dotglob' } });
  const output = await told(
    shell,
    { command: 'cd etc || echo "nowhere: $CDPATH"; shopt -q globstar || shopt -q dotglob || echo off' },
    { workspace },
  );
  expect(output).toMatch(/nowhere: \noff$/);
});

describe('with output: json', () => {
  const jsonShell = createShell({ output: 'json' });
  const json = async (args: object, tool: Tool = jsonShell) => {
    const { outcome, threw } = await run(tool, args, { workspace: await newFolder() });
    return { outcome, threw, result: JSON.parse(String(outcome.content)) };
  };
  const [key, duration_ms] = ['call-1', expect.any(Number)];

  test('[B150] the result is one line of JSON with a key, the state, the exit code and the duration', async () => {
    const { outcome, result } = await json({ command: 'echo out; sleep 0.2' });
    expect(outcome.status).toBe('success');
    expect(String(outcome.content)).not.toContain('\n');
    expect(result).toEqual({ key, state: 'succeeded', exit_code: 0, duration_ms, stdout: 'out' });
    expect(result.duration_ms).toBeGreaterThanOrEqual(200);
    expect((await json({ command: 'true' })).result).toEqual({ key, state: 'succeeded', exit_code: 0, duration_ms });
  });

  test('[B150] an exit code other than 0 is failed, with both streams', async () => {
    const { outcome, threw, result } = await json({ command: 'echo out; echo err >&2; exit 3' });
    expect(outcome).toMatchObject({ status: 'failed', error: { name: 'ShellExitError', message: 'exit code 3' } });
    expect(threw).toBe(false);
    expect(result).toEqual({ key, state: 'failed', exit_code: 3, duration_ms, stdout: 'out', stderr: 'err' });
  });

  test('[B151] a command that succeeds does not show its errors, unless asked to', async () => {
    const command = 'echo out; echo err >&2';
    expect((await json({ command })).result).toEqual({ key, state: 'succeeded', exit_code: 0, duration_ms, stdout: 'out' });
    const asked = await json({ command, include_stderr_on_success: true });
    expect(asked.result).toEqual({ key, state: 'succeeded', exit_code: 0, duration_ms, stdout: 'out', stderr: 'err' });
  });

  test('[B150] a timeout keeps both streams so far', async () => {
    const { outcome, result } = await json({ command: 'echo out; echo err >&2; sleep 30', timeout: 0.5 });
    expect(outcome).toMatchObject({ status: 'timed-out', error: { name: 'ToolTimeoutError' } });
    expect(result).toMatchObject({ key, state: 'timed_out', stdout: 'out', stderr: 'err' });
  });

  test('endless output of both streams keeps the beginning and the end of the line', async () => {
    const command = "yes out | head -c 3000000; yes err | head -c 3000000 >&2; echo 'end' >&2; exit 1";
    const content = await told(jsonShell, { command }, { workspace: await newFolder() });
    expect(content).toMatch(/^\{"key":"call-1","state":"failed","exit_code":1,"duration_ms":\d+,"stdout":"out\\nout[\s\S]*err\\nend"\}$/);
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(50 * 1024);
  });

  test('createShellTools has it too, and another value is refused', async () => {
    const [tool] = createShellTools({ output: 'json' });
    expect((await json({ command: 'echo err >&2; false' }, tool)).result).toEqual({
      key,
      state: 'failed',
      exit_code: 1,
      duration_ms,
      stderr: 'err',
    });
    expect(JSON.stringify(createShell().parameters)).not.toContain('include_stderr');
    expect(() => createShell({ output: 'xml' as 'json' })).toThrow("createShell: output must be 'text' or 'json'; it is xml.");
  });
});

test('an observer of a command that throws ends neither the command nor the process', async () => {
  let looks = 0;
  const progress = () => {
    looks++;
    throw new Error('not to be shown');
  };
  expect(await told(shell, { command: 'echo one; sleep 0.3; echo two' }, { workspace: await newFolder(), progress })).toBe('one\ntwo');
  expect(looks).toBeGreaterThan(0);
});
