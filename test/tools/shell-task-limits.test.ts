import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { createShellTools } from '../../src/tools/built-in/tasks/shell-tools';
import { TaskFolder } from '../../src/tools/built-in/tasks/task-folder';
import { Tasks } from '../../src/tools/built-in/tasks/tasks';
import type { ToolHost } from '../../src/tools/running/run-within';
import { createToolbox } from '../../src/tools/running/toolbox';
import { callOf, hostWith, newFolder, removeFolders } from './tool-host';

let folder: string;
let tasks: Tasks;
let release: () => Promise<void>;

beforeEach(async () => {
  folder = await newFolder();
  tasks = new Tasks(join(folder, 'tasks'));
  release = tasks.hold(async () => true);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await release();
  await removeFolders();
});

async function call(name: string, args: object, host: Partial<ToolHost> = {}, of = tasks) {
  const { outcome } = await createToolbox(createShellTools({}, of)).execute(callOf(name, args), hostWith({ workspace: folder, ...host }));
  return { status: outcome.status, text: String(outcome.content), stored: outcome.outputRef };
}

async function start(command: string, host: Partial<ToolHost> = {}): Promise<string> {
  const { text } = await call('shell', { command, background: true }, host);
  return JSON.parse(text.split('\n')[0] ?? '').id;
}

async function logOf(threadId: string, id: string): Promise<string> {
  const view = await tasks.find(threadId, id);
  if (!view) throw new Error(`no command ${id}`);
  return tasks.logOf(view.task);
}

const running = (text: string) => text.split('\n').filter((line) => line.includes('"state":"running"')).length;

test('of a long output only what is shown is read and stored, with the place where it goes on', async () => {
  const id = await start("printf 'first line\\n'; head -c 5000000 /dev/zero | tr '\\0' x; printf '\\nlast line\\n'");
  await call('shell_task', { id, wait: 60 });
  const kept: number[] = [];
  const keep: ToolHost['keep'] = async (bytes, mediaType) => {
    kept.push(bytes.length);
    return { id: `o${kept.length}`, bytes: bytes.length, lines: 1, mediaType };
  };
  const { text } = await call('shell_task', { id }, { keep });
  const next = Number(/tokens\) left out; from: (\d+) shows more/.exec(text)?.[1]);
  expect(text).toMatch(/first line\n.*\n.*last line$/s);
  expect(next).toBeGreaterThan(20_000);
  await call('shell_task', { id, from: next }, { keep });
  expect(kept).toHaveLength(2);
  expect(Math.max(...kept)).toBeLessThanOrEqual(50 * 1024);
  expect((await call('shell_task', { id, from: 5_000_012 }, { keep })).text).toMatch(/\nlast line$/);
  expect((await call('shell_task', { id, from: 9_000_000 }, { keep })).text).toMatch(/\n\(no output\)$/);
});

test('of thirty commands that are started at the same time, ten run', async () => {
  const started = await Promise.all(Array.from({ length: 30 }, () => call('shell', { command: 'sleep 100', background: true })));
  expect(started.filter(({ status }) => status === 'success')).toHaveLength(10);
  expect(running((await call('shell_task', {})).text)).toBe(10);
});

(process.platform === 'linux' ? test : test.skip)(
  'programs that only read share their memory among all commands that a thread may have in the background, and say so at the limit',
  async () => {
    const id = await start('cat /proc/self/limits');
    expect((await call('shell_task', { id, wait: 60 })).text).toMatch(/Max data size +106954752 /);
    const hungry = await start("echo x | sed -E 's/(x{1,32000}){1,32000}/y/'");
    expect((await call('shell_task', { id: hungry, wait: 60 })).text).toMatch(
      /"limit":"a program may have reached its limit of memory.* 102 MiB/,
    );
  },
);

test('a command whose record can not be written is not started', async () => {
  jest.spyOn(TaskFolder.prototype, 'add').mockRejectedValue(new Error('ENOSPC: no space left on device, write'));
  const { status, text } = await call('shell', { command: 'echo paid >> effects; sleep 100', background: true });
  expect([status, text]).toEqual(['failed', 'Error: ENOSPC: no space left on device, write']);
  // In the workspace: had it begun, it would have written within this time.
  const { text: effects } = await call('shell', { command: 'sleep 1; ls' });
  expect(effects).toBe('tasks');
});

test('a command that has begun is listed and can be cancelled, also if nothing more can be written about it', async () => {
  const add = TaskFolder.prototype.add;
  const full = async () => {
    throw new Error('ENOSPC: no space left on device, write');
  };
  jest
    .spyOn(TaskFolder.prototype, 'add')
    .mockImplementationOnce(function (this: TaskFolder, task) {
      return add.call(this, task);
    })
    .mockImplementation(full);
  jest.spyOn(TaskFolder.prototype, 'end').mockImplementation(full);
  const id = await start('sleep 100');
  expect(running((await call('shell_task', {})).text)).toBe(1);
  expect((await call('shell_cancel', { id })).text).toContain('"state":"cancelled"');
  expect((await call('shell_task', {})).text).toContain('"state":"cancelled"');
});

test('of a command that can not be started, as its sandbox fails, nothing is left', async () => {
  const confined = () => {
    throw new Error('no sandbox');
  };
  await expect(tasks.start({ threadId: 'thread-1', command: 'true', cwd: folder, env: {}, confined })).rejects.toThrow('no sandbox');
  expect(await tasks.list('thread-1')).toEqual([]);
});

test('the oldest commands of all threads are forgotten when their logs take too much together', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) {
    const threadId = `thread-${n}`;
    const id = await start('echo done', { threadId });
    await call('shell_task', { id, wait: 60 }, { threadId });
    await truncate(await logOf(threadId, id), 64_000_000);
    ids.push(id);
  }
  await call('shell', { command: 'true', background: true }, {}, new Tasks(join(folder, 'tasks')));
  const found = await Promise.all(ids.map((id, n) => tasks.find(`thread-${n}`, id)));
  expect(found.map((view) => view !== undefined)).toEqual([false, false, ...Array(6).fill(true)]);
});

describe('text for a command needs the approval', () => {
  async function judged(approval: Parameters<typeof createShellTools>[0], command: string, text: string) {
    const id = await start(command);
    const verdict = await createToolbox(createShellTools(approval, tasks)).judge(callOf('shell_input', { id, text }), {
      workspace: folder,
      threadId: 'thread-1',
    });
    return verdict.kind === 'run' ? verdict.approval : verdict;
  }
  const about = expect.stringMatching(/^Input for the command "cat -n; true", started at 20\d\d-/);
  const leads = ({ command }: { command: string }) => (command.startsWith('cat') ? { users: ['dana'] } : false);

  test.each([
    ['of the people of a policy', { users: ['dana', 'lee'], approvers: 2 }, { users: ['dana', 'lee'], approvers: 2 }],
    ['with its deadline', { deadlineMs: 60_000 }, { deadlineMs: 60_000, onDeadline: ['deny'] }],
    ['of the people that a function names for the command', leads, { users: ['dana'] }],
    [
      'of the people that a function names for the text',
      ({ command }: { command: string }) => (command === 'rm -rf ~' ? { groups: ['leads'] } : false),
      { groups: ['leads'] },
    ],
    ['of anybody, if a function asks nobody', () => false, {}],
  ])('%s', async (_what, approval, people) => {
    expect(await judged({ approval }, 'cat -n; true', 'rm -rf ~\n')).toEqual({ ...people, reason: about, remember: [] });
  });

  test('of nobody, if others must agree to the text than to the command', async () => {
    const approval = ({ command }: { command: string }) => ({ users: [command.startsWith('cat') ? 'dana' : 'lee'] });
    expect(await judged({ approval }, 'cat', 'rm -rf ~\n')).toMatchObject({
      kind: 'reject',
      error: { message: expect.stringContaining('other people must agree') },
    });
  });

  test('of nobody, if the command is not known here', async () => {
    const toolbox = createToolbox(createShellTools({ approval: leads }, tasks));
    expect(await toolbox.judge(callOf('shell_input', { id: 'x', text: 'y' }), { threadId: 'thread-1' })).toMatchObject({
      kind: 'reject',
      error: { message: expect.stringContaining('no command with the id') },
    });
  });
});
