import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createShellTools } from '../../src/tools/built-in/tasks/shell-tools';
import { Tasks } from '../../src/tools/built-in/tasks/tasks';
import type { ToolHost } from '../../src/tools/running/run-within';
import { until } from '../support/until';
import { newFolder, removeFolders, run, told } from './tool-host';

/** The tools of a worker, whose tasks are in the folder. */
function toolsOf(tasks: Tasks, environment: Record<string, string> = {}) {
  const tools = createShellTools({ environment }, tasks);
  return (name: string) => {
    const tool = tools.find((one) => one.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return tool;
  };
}

let folder: string;
let tasks: Tasks;
let tool: ReturnType<typeof toolsOf>;
let release: () => Promise<void>;
let worker: ChildProcess | undefined;

beforeEach(async () => {
  folder = await newFolder();
  tasks = new Tasks(join(folder, 'tasks'));
  tool = toolsOf(tasks);
  release = tasks.hold(async () => true);
});

afterEach(async () => {
  worker?.kill('SIGKILL');
  worker = undefined;
  await release();
  await removeFolders();
});

const start = async (command: string, more: object = {}, host: Partial<ToolHost> = {}) =>
  stateOf(await told(tool('shell'), { command, background: true, ...more }, { workspace: folder, ...host }));
const show = async (id: string, more: object = {}) => {
  const text = await told(tool('shell_task'), { id, ...more });
  return { ...stateOf(text), output: text.slice(text.indexOf('\n') + 1) };
};
const cancel = async (id: string) => stateOf(await told(tool('shell_cancel'), { id }));

function stateOf(text: string) {
  return JSON.parse(text.split('\n')[0] ?? '') as { id: string; state: string; exit_code?: number; seconds: number; output_bytes: number };
}

/** The process id that a command wrote into a file. */
async function pidIn(name: string): Promise<number> {
  const read = () => readFile(join(folder, name), 'utf8').catch(() => '');
  await until(`${name} is written`, async () => (await read()).endsWith('\n'));
  return Number(await read());
}

/** A zombie process does not count as alive. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z');
  return !/^State:\s+Z/m.test(status);
}

describe('a command in the background', () => {
  test('[B153] shows its state and its output while it runs, and its result when it has ended', async () => {
    const { id, state } = await start('echo one; read -r line; echo "two $line"; exit 3');
    expect(state).toBe('running');
    await until('it has printed', async () => (await show(id)).output === 'one');
    expect(await show(id, { wait: 0.2 })).toMatchObject({ state: 'running', output: 'one' });
    expect(await told(tool('shell_input'), { id, text: 'typed\n' })).toBe('Wrote 6 bytes.');
    expect(await show(id, { wait: 60 })).toMatchObject({ state: 'failed', exit_code: 3, output: 'one\ntwo typed' });
    expect(await show(id, { from: 4 })).toMatchObject({ output: 'two typed' });
    expect((await run(tool('shell_input'), { id, text: 'x' })).outcome).toMatchObject({
      status: 'failed',
      content: expect.stringContaining('has ended, so nothing was written'),
    });
    expect((await cancel(id)).state).toBe('failed');
  });

  test('[B153] is listed and found only by its own thread', async () => {
    const { id } = await start('sleep 100');
    expect(await told(tool('shell_task'), {})).toContain(id);
    const other = { threadId: 'thread-2' };
    expect(await told(tool('shell_task'), {}, other)).toMatch(/no commands in the background/);
    for (const [name, args] of Object.entries({ shell_task: {}, shell_input: { text: 'x' }, shell_cancel: {} }))
      expect(await told(tool(name), { id, ...args }, other)).toMatch(/^Error: this thread has no command/);
    expect(await told(tool('shell_task'), { id: '../../etc' })).toMatch(/^Error: no command with the id/);
  });

  test('input can be closed, and the command sees its end', async () => {
    const { id } = await start('cat');
    await told(tool('shell_input'), { id, text: 'all of it', end: true });
    expect(await show(id, { wait: 60 })).toMatchObject({ state: 'succeeded', exit_code: 0, output: 'all of it' });
  });

  test('[B153] a cancel sends SIGTERM first, and then kills all processes, also those that ignore it and left the group', async () => {
    const polite = await start("trap 'echo bye; exit 0' TERM; echo $$ > polite; while :; do sleep 0.05; done");
    await pidIn('polite');
    expect(await cancel(polite.id)).toMatchObject({ state: 'cancelled', exit_code: 0 });
    expect((await show(polite.id)).output).toContain('bye');
    const stubborn = await start(
      "trap '' TERM; (setsid sh -c 'echo $$ > apart; exec sleep 1000') & echo $$ > stubborn; while :; do sleep 1; done",
    );
    const pids = [await pidIn('stubborn'), await pidIn('apart')];
    expect((await cancel(stubborn.id)).state).toBe('cancelled');
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
  });

  test('runs no startup file of bash, although its input is a socket', async () => {
    await writeFile(join(folder, '.bashrc'), 'echo from .bashrc');
    tool = toolsOf(tasks, { HOME: folder });
    const { id } = await start('echo "$HOME"');
    expect(await show(id, { wait: 60 })).toMatchObject({ state: 'succeeded', output: folder });
  });

  test('has no timeout by default, and ends at the one that was given', async () => {
    const { id } = await start('echo begun; sleep 100', { timeout: 2.5 });
    expect(await show(id, { wait: 60 })).toMatchObject({ state: 'timed_out', output: expect.stringMatching(/^begun/) });
  });

  test.each([
    [{ timeout: 301 }, 'run a longer command with background: true'],
    [{ timeout: 2_147_484, background: true }, '- timeout: '],
    [{ timeout: 1e300, background: true }, '- timeout: '],
  ])(
    '[B152] a timeout of at most 300 s in the foreground, none by default in the background, and none that a timer can not hold: %j',
    async (more, words) => {
      const { outcome } = await run(tool('shell'), { command: 'true', ...more }, { workspace: folder });
      expect(outcome).toMatchObject({ status: 'rejected', content: expect.stringContaining(words) });
      expect(await tool('shell').check({ command: 'true', background: true, timeout: 2_147_483 })).toMatchObject({ ok: true });
      expect(await tool('shell').check({ command: 'true', background: true })).toEqual({
        ok: true,
        args: { command: 'true', background: true },
      });
    },
  );

  test('[B155] too much output ends the command and its processes, and the output so far is kept', async () => {
    const { id } = await start('echo $$ > pid; exec yes');
    const pid = await pidIn('pid');
    expect(await show(id, { wait: 60 })).toMatchObject({ state: 'too_much_output', output_bytes: 64_000_000 });
    expect(await isAlive(pid)).toBe(false);
    expect((await show(id)).output).toMatch(/^y\n[\s\S]*bytes .* left out/);
  });

  test('a thread can have ten of them', async () => {
    const started = [];
    for (let n = 0; n < 10; n++) started.push(await start('sleep 100'));
    expect(await told(tool('shell'), { command: 'true', background: true }, { workspace: folder })).toMatch(
      /10 background tasks .* Cancel one first/,
    );
    await cancel(started[0]?.id ?? '');
    expect((await start('true')).state).toBeDefined();
  });

  test('ends when its thread has ended, and with the last worker of the process', async () => {
    let isOpen = true;
    await release();
    release = tasks.hold(async (threadId) => isOpen || threadId !== 'thread-1');
    const [one, two] = [await start('sleep 100'), await start('echo $$ > two; exec sleep 100', {}, { threadId: 'thread-2' })];
    isOpen = false;
    expect((await show(one.id, { wait: 60 })).state).toBe('cancelled');
    const pid = await pidIn('two');
    expect(stateOf(await told(tool('shell_task'), { id: two.id }, { threadId: 'thread-2' })).state).toBe('running');
    await release();
    expect(await isAlive(pid)).toBe(false);
  });
});

describe('a command that another worker process runs', () => {
  /** A process that starts one command in the background, for thread-1, and stays. */
  async function startElsewhere(command: string): Promise<string> {
    const source = JSON.stringify(join(__dirname, '../../src/tools/built-in/tasks/tasks.ts'));
    const script = `
      const { Tasks } = require(${source});
      setInterval(() => {}, 1000);
      const tasks = new Tasks(${JSON.stringify(join(folder, 'tasks'))});
      tasks.start({ threadId: 'thread-1', command: ${JSON.stringify(command)}, cwd: ${JSON.stringify(folder)}, env: { PATH: process.env.PATH } })
        .then(({ id }) => console.log(id));`;
    worker = spawn(process.execPath, ['--require', 'tsx/cjs', '--eval', script], {
      cwd: join(__dirname, '../..'),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return new Promise((done) => worker?.stdout?.once('data', (chunk: Buffer) => done(chunk.toString().trim())));
  }

  test('[B153] is shown and cancelled here, and its input says where it is', async () => {
    const id = await startElsewhere('echo $$ > pid; echo hello; exec sleep 1000');
    const pid = await pidIn('pid');
    await until('it has printed', async () => (await show(id)).output === 'hello');
    expect(await told(tool('shell_input'), { id, text: 'x' })).toBe(
      `Error: The command runs in another worker process (${worker?.pid}), and only that one can write to its input.`,
    );
    expect((await cancel(id)).state).toBe('cancelled');
    expect(await isAlive(pid)).toBe(false);
    expect(await isAlive(worker?.pid ?? 0)).toBe(true);
  });

  test('is lost with that process, and its processes are ended', async () => {
    const id = await startElsewhere('(setsid sleep 1000 & echo $! > apart); echo $$ > pid; exec sleep 1000');
    const pids = [await pidIn('pid'), await pidIn('apart')];
    worker?.kill('SIGKILL');
    await until('it is lost', async () => (await show(id)).state === 'lost');
    for (const pid of pids) await until(`${pid} has ended`, async () => !(await isAlive(pid)));
  });

  test('[B192] orphans of a dead worker are ended when a worker starts, and a recycled process id is left alone', async () => {
    const id = await startElsewhere('echo $$ > pid; exec sleep 1000');
    const pid = await pidIn('pid');
    const file = join(folder, 'tasks', await onlyThread(), id, 'task.json');
    const record = JSON.parse(await readFile(file, 'utf8'));
    // A task of a dead worker, whose leader's id now belongs to another process.
    const { mark, limit } = { mark: '00000000-0000-4000-8000-000000000000', limit: '99999999999999' };
    await rm(file);
    await writeRecord(file, { ...record, mark, limit, worker: { pid: record.worker.pid, since: '1' }, leader: { pid, since: '1' } });
    await new Tasks(join(folder, 'tasks')).open();
    expect((await show(id)).state).toBe('lost');
    expect(await isAlive(pid)).toBe(true);
    // The same with its true marks: an orphan.
    await rm(join(file, '..', 'end.json'));
    await writeRecord(file, { ...record, worker: { pid: record.worker.pid, since: '1' } });
    await new Tasks(join(folder, 'tasks')).open();
    expect(await isAlive(pid)).toBe(false);
  });

  test('[B192][B155] with the last worker of a process, a command that ignores SIGTERM is killed after a grace, and is cancelled', async () => {
    const { id } = await start(`trap 'touch asked' TERM; echo $$ > pid; while :; do sleep 0.05; done`);
    const pid = await pidIn('pid');
    await release();
    expect(await isAlive(pid)).toBe(false);
    expect(await readdir(folder)).toContain('asked');
    expect((await show(id)).state).toBe('cancelled');
  });

  test('a damaged record is no task', async () => {
    const id = await startElsewhere('exec sleep 1000');
    const file = join(folder, 'tasks', await onlyThread(), id, 'task.json');
    const record = JSON.parse(await readFile(file, 'utf8'));
    for (const damage of [{ mark: '' }, { limit: '' }, { limit: 'unlimited' }, { leader: { pid: 'x' } }, { worker: undefined }]) {
      await writeRecord(file, { ...record, ...damage });
      expect(await told(tool('shell_task'), { id })).toMatch(/^Error: this thread has no command/);
    }
  });
});

async function onlyThread(): Promise<string> {
  const [name] = await readdir(join(folder, 'tasks'));
  return name ?? '';
}

async function writeRecord(file: string, record: object): Promise<void> {
  await writeFile(file, JSON.stringify(record));
}
