import { execFileSync } from 'node:child_process';
import fs, { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { ToolCall } from '../../src/core/message';
import { createShell } from '../../src/tools/built-in/shell';
import { defineTool } from '../../src/tools/defining/define-tool';
import { filePermissionStore } from '../../src/tools/permissions/permission-store';
import { createPermissions, type Permissions } from '../../src/tools/permissions/permissions';
import { createToolbox } from '../../src/tools/running/toolbox';
import { callOf, hostWith, newFolder, removeFolders } from './tool-host';

afterEach(removeFolders);

/** The least CPU of three times, in milliseconds: other work on the machine only adds. */
function cpuOf(work: () => unknown): number {
  const once = () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  return Math.min(once(), once(), once());
}

test('a command with deeply nested folders is checked within its bounds', async () => {
  const root = await newFolder();
  const deep = 'a/'.repeat(900);
  mkdirSync(join(root, deep), { recursive: true });
  const names = Array.from({ length: 100 }, (_, n) => `x${n}`).join(' ');
  const { decide } = createPermissions({ mode: 'minimal', root });
  const judge = () => decide({ tool: 'shell', args: { command: `cd ${deep} && cat ${names}` } });
  expect(cpuOf(judge)).toBeLessThan(300);
});

test('the work for a command hardly grows with the number of deny rules', () => {
  const command = "bash -c 'x $y z';".repeat(580);
  const denying = (count: number) =>
    createPermissions({
      mode: 'minimal',
      deny: Array.from({ length: count }, (_, n) => ({ tool: 'shell', prefix: [`tool${n}`, 'push'] })),
    });
  const cpu = (count: number) => {
    const { decide } = denying(count);
    return cpuOf(() => decide({ tool: 'shell', args: { command } }));
  };
  expect(cpu(400)).toBeLessThan(5 * cpu(1) + 100);
});

/** Keeps the process busy. */
function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe('checks of many calls, which each take long, leave the event loop a turn after each', () => {
  const calls = Array.from({ length: 20 }, (_, n) => callOf('shell', { command: `command ${n}` }));
  const slow = (parts: Partial<Permissions>) => {
    const permissions = { decide: () => 'ask', suggest: () => [], forAgent: () => permissions, ...parts } as Permissions;
    return createToolbox([createShell()], { permissions });
  };

  /** In how many turns of the event loop the long work of the checks was done. */
  async function turnsOf(check: (work: () => never[]) => Promise<unknown>): Promise<number> {
    let turn = 0;
    let next = setImmediate(function count() {
      turn += 1;
      next = setImmediate(count);
    });
    const turns = new Set<number>();
    await check(() => {
      turns.add(turn);
      block(25);
      return [];
    });
    clearImmediate(next);
    return turns.size;
  }

  test('with the answer of the model', async () => {
    const turns = turnsOf((work) => Promise.all(calls.map((call) => slow({ decide: () => void work() as undefined }).judge(call))));
    expect(await turns).toBe(calls.length);
  });

  test('before they run', async () => {
    const turns = turnsOf((work) => Promise.all(calls.map((call) => slow({ decide: () => void work() as undefined }).isFree(call))));
    expect(await turns).toBe(calls.length);
  });

  test('while the rules that people may remember are searched, even if all decisions came at the same time', async () => {
    const turns = turnsOf((work) => {
      const decided = setTimeout(10, 'ask' as const);
      return Promise.all(calls.map((call) => slow({ decide: () => decided, suggest: work }).judge(call)));
    });
    expect(await turns).toBe(calls.length);
  });

  test('and a thread with one call does not wait for all those of another', async () => {
    const ended: string[] = [];
    const box = slow({ decide: () => void block(1) as undefined });
    const judge = (call: ToolCall, threadId: string) => box.judge(call, { threadId }).then(() => ended.push(threadId));
    await Promise.all([...calls.map((call) => judge(call, 'many')), judge(callOf('shell', { command: 'ls' }), 'one')]);
    expect(ended.indexOf('one')).toBeLessThan(4);
  });

  test('and one that fails does not hold up the others', async () => {
    const decide: Permissions['decide'] = ({ args }) => {
      if ((args as { command: string }).command === 'command 3') throw new Error('disk full');
      return 'allow';
    };
    const verdicts = await Promise.all(calls.map((call) => slow({ decide }).judge(call)));
    expect(verdicts.flatMap(({ kind }, n) => (kind === 'run' ? [] : [n]))).toEqual([3]);
  });
});

describe('a large repository', () => {
  async function repository() {
    const root = await newFolder();
    const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: root });
    git('init', '-q');
    for (let n = 0; n < 150; n += 1) {
      mkdirSync(join(root, `folder${n}`));
      writeFileSync(join(root, `folder${n}`, 'a.txt'), `${n}`);
    }
    git('add', '.');
    const opened = jest.spyOn(fs, 'openSync');
    const looks = () => opened.mock.calls.filter(([path]) => String(path) === join(root, '.git/index')).length;
    return { root, git, looks };
  }
  afterEach(() => jest.restoreAllMocks());

  test('is looked at once for all calls of an answer, and again before each call runs', async () => {
    const { root, git, looks } = await repository();
    const store = filePermissionStore(join(await newFolder(), 'rules.json'));
    const box = createToolbox([createShell()], { permissions: createPermissions({ mode: 'minimal', store }).forAgent('coder') });
    const calls = ['git status', 'git status && make', 'ls; git log', 'git commit -m x'].map((command) => callOf('shell', { command }));
    const options = { workspace: root, repositories: new Map() };
    const verdicts = await Promise.all(calls.map((call) => box.judge(call, options)));
    expect(verdicts.map((verdict) => 'approval' in verdict)).toEqual([false, true, false, true]);
    expect(looks()).toBe(1);
    expect(await Promise.all(calls.map((call) => box.isFree(call, { workspace: root })))).toEqual([true, false, true, false]);
    expect(looks()).toBe(5);
    git('config', 'diff.external', './evil.sh');
    // The same moment, so the same answer; before the call runs, and for the next answer, it is another one.
    expect(await box.judge(callOf('shell', { command: 'git diff' }), options)).not.toHaveProperty('approval');
    expect(await box.isFree(callOf('shell', { command: 'git diff' }), { workspace: root })).toBe(false);
    expect(await box.judge(callOf('shell', { command: 'git diff' }), { workspace: root })).toHaveProperty('approval');
  });

  test('is looked at in many steps, each of which may be followed by a turn', async () => {
    const { root, looks } = await repository();
    const { prepare, decide } = createPermissions({ mode: 'minimal' });
    const call = { tool: 'shell', args: { command: "g'i't status" }, workspace: root, repositories: new Map<string, boolean>() };
    const steps = [...(prepare?.(call) ?? [])];
    // At least one for each folder of objects, and for each tracked file and its folder.
    expect(steps.length).toBeGreaterThan(300);
    expect(decide(call)).toBe('allow');
    expect(looks()).toBe(1);
    expect([...(prepare?.({ ...call, args: { command: 'ls' } }) ?? [])]).toHaveLength(1);
  });

  test('with folders so deep that the system would need seconds to find them needs approval', async () => {
    const root = await newFolder();
    execFileSync('git', ['init', '-q', root]);
    const { decide } = createPermissions({ mode: 'minimal', root });
    const judge = () => decide({ tool: 'shell', args: { command: 'git status' } });
    expect(judge()).toBe('allow');
    const deep = join(root, '.git/refs', 'a/'.repeat(1_000));
    mkdirSync(deep, { recursive: true });
    for (let n = 0; n < 300; n += 1) mkdirSync(join(deep, String(n)));
    expect(judge()).toBe('ask');
  });
});

test('arguments with a number that JSON can’t represent are refused, because a person would see another', async () => {
  const given: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object', properties: { order: { type: 'object' } } },
    execute: (args) => void given.push(args),
  });
  const call = { ...callOf('pay', {}), arguments: '{"order":{"amount":1e999}}' };
  expect((await createToolbox([pay]).execute(call, hostWith())).outcome).toMatchObject({
    status: 'rejected',
    content: expect.stringMatching(/too large/),
  });
  expect(given).toEqual([]);
});
