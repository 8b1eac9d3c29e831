import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { PermissionRule, ToolSpec } from '../../src/core/tool';
import { createShell } from '../../src/tools/built-in/shell';
import { defineTool } from '../../src/tools/defining/define-tool';
import { createPermissions, type Permissions } from '../../src/tools/permissions/permissions';
import { createToolbox } from '../../src/tools/running/toolbox';
import { callOf, hostWith, newFolder, removeFolders } from './tool-host';

const input = z.object({ to: z.string().optional() });
const mail = defineTool({ name: 'mail', description: 'Mail.', input, approval: { groups: ['office'] }, execute: () => 'ok' });
const look = defineTool({ name: 'look', description: 'Look.', input, effect: 'pure', execute: () => 'ok' });
const outside = defineTool({ name: 'outside', description: 'Outside.', input, ask: { users: ['dana'] } });

/** Permissions that answer this, whatever it is. */
function saying(answer: unknown, remember: PermissionRule[] = []): Permissions {
  const permissions = { decide: jest.fn(() => answer), suggest: () => remember, forAgent: () => permissions };
  return permissions as unknown as Permissions;
}

async function judged(permissions: Permissions, name: string, rules?: PermissionRule[]) {
  return createToolbox([mail, look, outside], { permissions }).judge(callOf(name, { to: 'lee' }), { ...(rules && { rules }) });
}

describe('permissions', () => {
  test('are called with the tool, its arguments and the remembered rules', async () => {
    const permissions = saying(undefined);
    const rules = [{ tool: 'mail' }];
    await judged(permissions, 'mail', rules);
    expect(permissions.decide).toHaveBeenCalledWith({ tool: 'mail', args: { to: 'lee' }, rules });
  });

  test('get the folder of the tool, which is their root unless they have one', async () => {
    const permissions = saying(undefined);
    await createToolbox([mail], { permissions }).judge(callOf('mail', {}), { workspace: '/srv/work' });
    expect(permissions.decide).toHaveBeenCalledWith({ tool: 'mail', args: {}, rules: [], workspace: '/srv/work' });
    const judge = async (root?: string) => {
      const box = createToolbox([createShell()], { permissions: createPermissions({ mode: 'minimal', ...(root && { root }) }) });
      return (await box.judge(callOf('shell', { command: 'cat /srv/work/a.txt' }), { workspace: '/srv/work' })) as { approval?: unknown };
    };
    expect(await judge()).not.toHaveProperty('approval');
    expect(await judge('/srv/other')).toHaveProperty('approval');
  });

  test('[B170] a call that they deny does not run, and may end the run', async () => {
    const error = { name: 'PermissionDeniedError', message: 'Permission denied: no mail' };
    expect(await judged(saying({ deny: 'no mail' }), 'mail')).toEqual({ kind: 'reject', error });
    expect(await judged(saying(Promise.resolve({ deny: 'no mail', stop: true })), 'outside')).toEqual({
      kind: 'reject',
      error,
      stop: true,
    });
  });

  test('what they allow needs no approval; the people of a question stay the same', async () => {
    expect(await judged(saying('allow'), 'mail')).toEqual({ kind: 'run', effect: 'once', timeoutMs: 30_000 });
    expect(await judged(saying('allow'), 'outside')).toEqual({ kind: 'external', ask: { users: ['dana'] } });
  });

  test('what they want approved is asked about, by the policy of the tool if it has one', async () => {
    expect(await judged(saying('ask'), 'look')).toMatchObject({ kind: 'run', approval: {} });
    expect(await judged(saying('ask'), 'mail')).toMatchObject({ kind: 'run', approval: { groups: ['office'] } });
  });

  test('without a decision of theirs the tool decides', async () => {
    expect(await judged(saying(undefined), 'look')).not.toHaveProperty('approval');
    expect(await judged(saying(undefined), 'mail')).toMatchObject({ approval: { groups: ['office'] } });
  });

  test('the question has the rule that a person may remember', async () => {
    const remember = [{ tool: 'look', prefix: ['at', 'it'] }];
    expect(await judged(saying('ask', remember), 'look')).toMatchObject({ approval: { remember } });
    // The whole tool is what is meant where nothing is said, and none is that nothing can be remembered.
    expect(await judged(saying('ask', [{ tool: 'look' }]), 'look')).not.toMatchObject({ approval: { remember: expect.anything() } });
    expect(await judged(saying('ask', []), 'look')).toMatchObject({ approval: { remember: [] } });
    // What is for certain people they are asked about each time.
    expect(await judged(saying('ask', remember), 'mail')).toMatchObject({ approval: { groups: ['office'], remember: [] } });
    expect(await judged(saying(undefined, remember), 'look')).not.toHaveProperty('approval');
  });

  test.each([
    ['a throw', () => Promise.reject(new Error('disk full')), 'Permission check failed: disk full'],
    ['nonsense', () => 'yes', 'Permission check failed: permissions returned an invalid decision'],
    ['true', () => true, 'Permission check failed: permissions returned an invalid decision'],
    ['null', () => null, 'Permission check failed: permissions returned an invalid decision'],
  ])('[B172] they fail closed: %s refuses the call', async (_what, answer, message) => {
    const permissions = { ...saying(undefined), decide: answer } as unknown as Permissions;
    expect(await judged(permissions, 'look')).toEqual({ kind: 'reject', error: { name: 'PermissionDeniedError', message } });
  });

  test('[B172] they fail closed: no answer within 10 s refuses the call', async () => {
    jest.useFakeTimers();
    try {
      const verdict = judged(saying(new Promise(() => {})), 'look');
      await jest.advanceTimersByTimeAsync(10_000);
      expect(await verdict).toMatchObject({ error: { message: 'Permission check failed: no answer within 10 s' } });
    } finally {
      jest.useRealTimers();
    }
  });

  test('an unknown tool and invalid arguments are checked first', async () => {
    const permissions = saying({ deny: 'all' });
    expect(await judged(permissions, 'nothing')).toMatchObject({ error: { name: 'ToolNotFoundError' } });
    const verdict = await createToolbox([mail], { permissions }).judge(callOf('mail', { to: 7 }));
    expect(verdict).toMatchObject({ error: { name: 'InvalidToolArgumentsError' } });
    expect(permissions.decide).not.toHaveBeenCalled();
  });

  test('done needs no approval', async () => {
    const box = createToolbox([], { permissions: saying({ deny: 'all' }), done: true });
    expect(await box.judge(callOf('done', {}))).toEqual({ kind: 'done' });
  });

  test('real ones, for a shell: denied, allowed, asked with what may be remembered, and remembered', async () => {
    const permissions = createPermissions({ mode: 'minimal', deny: [{ tool: 'shell', prefix: ['rm'] }] });
    const box = createToolbox([createShell()], { permissions });
    const judge = (command: string, rules: PermissionRule[] = []) => box.judge(callOf('shell', { command }), { rules });
    expect(await judge('rm -rf .')).toMatchObject({
      kind: 'reject',
      error: { message: expect.stringMatching(/^Permission denied: blocked by deny rule/) },
    });
    expect(await judge('ls')).not.toHaveProperty('approval');
    const verdict = await judge('npm test');
    const remember = verdict.kind === 'run' ? (verdict.approval?.remember ?? []) : [];
    expect(remember).toHaveLength(1);
    expect(await judge('npm test', remember)).not.toHaveProperty('approval');
    expect(await judge('npm test && rm -rf .', remember)).toMatchObject({ kind: 'reject' });
  });
});

describe('permissions for one folder, when the tools work in another,', () => {
  afterAll(removeFolders);
  const folders = async () => {
    const [root, workspace] = [await newFolder(), await newFolder()];
    for (const folder of [root, workspace]) execFileSync('git', ['init', '-q', folder]);
    execFileSync('git', ['-C', workspace, 'config', 'diff.external', './evil.sh']);
    symlinkSync('/etc/hostname', join(workspace, 'link'));
    return { root, workspace };
  };
  const reads = [
    callOf('shell', { command: 'git diff' }),
    callOf('shell', { command: 'cat link' }),
    callOf('shell', { command: 'ls' }),
    callOf('shell', { command: 'jest' }),
    callOf('read_file', { path: 'link' }),
  ];
  const tools = [
    createShell(),
    defineTool({ name: 'read_file', description: 'Reads.', input: z.object({ path: z.string() }), execute: () => 'ok' }),
  ];
  const rules = [{ tool: 'shell', prefix: ['jest'] }];

  test.each(reads)('let nothing run without approval, with the reason, and offer nothing to remember: $arguments', async (call) => {
    const { root, workspace } = await folders();
    for (const mode of ['minimal', 'trusted'] as const) {
      const box = createToolbox(tools, { permissions: createPermissions({ mode, root, allow: rules }) });
      const remember = call.name === 'shell' ? { remember: [] } : {};
      expect(await box.judge(call, { workspace, rules })).toMatchObject({
        kind: 'run',
        approval: { reason: expect.stringMatching(`^Permissions judge calls for ${root}, but tools work in ${workspace}`), ...remember },
      });
      expect(await box.isFree(call, { workspace, rules })).toBe(false);
    }
  });

  test('still deny, and still allow what does not depend on a folder', async () => {
    const { root, workspace } = await folders();
    const decide = (options: object, command: string) =>
      createPermissions({ root, ...options }).decide({ tool: 'shell', args: { command }, workspace });
    expect(decide({ mode: 'minimal', deny: rules }, 'jest')).toEqual({ deny: 'blocked by deny rule (shell: jest)' });
    expect(decide({ mode: 'minimal', allow: [{ tool: 'shell' }] }, 'git diff')).toBe('allow');
    expect(decide({ mode: 'full-access' }, 'git diff')).toBe('allow');
    expect(decide({ allow: rules }, 'jest')).toBeUndefined();
  });

  test('do not apply if both names are the same folder', async () => {
    const { root, workspace } = await folders();
    const link = join(workspace, 'same');
    symlinkSync(root, link);
    const permissions = createPermissions({ mode: 'minimal', root });
    for (const folder of [root, `${root}/`, link]) {
      expect(permissions.decide({ tool: 'shell', args: { command: 'git status' }, workspace: folder })).toBe('allow');
    }
  });
});

describe('tools that a thread brings', () => {
  const specOf = (name: string, parameters: object = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }) =>
    ({ name, description: `${name}.`, parameters }) as ToolSpec;
  const box = createToolbox([look]);

  test('are answered from outside, and their arguments are checked', async () => {
    const extraTools = [specOf('locate')];
    expect(await box.judge(callOf('locate', { city: 'Bonn' }), { extraTools })).toEqual({ kind: 'external' });
    expect(await box.judge(callOf('locate', { city: 7 }), { extraTools })).toMatchObject({
      kind: 'reject',
      error: { name: 'InvalidToolArgumentsError', message: expect.stringContaining('- city: must be string') },
    });
  });

  test('are unknown to other threads, and known to their own', async () => {
    expect(await box.judge(callOf('locate', {}))).toMatchObject({ error: { message: "Unknown tool 'locate'. Available tools: look." } });
    expect(await box.judge(callOf('x', {}), { extraTools: [specOf('locate')] })).toMatchObject({
      error: { message: "Unknown tool 'x'. Available tools: look, locate." },
    });
  });

  test('have lower precedence than the tools of the agent', async () => {
    const extraTools = [specOf('look'), specOf('locate')];
    expect(await box.judge(callOf('look', {}), { extraTools })).toMatchObject({ kind: 'run' });
    expect(box.specs(extraTools).map(({ name, description }) => [name, description])).toEqual([
      ['look', 'Look.'],
      ['locate', 'locate.'],
    ]);
  });

  test('are subject to permissions', async () => {
    const guarded = createToolbox([], { permissions: saying({ deny: 'nothing from outside' }) });
    expect(await guarded.judge(callOf('locate', { city: 'Bonn' }), { extraTools: [specOf('locate')] })).toMatchObject({ kind: 'reject' });
  });

  test('with an invalid schema are never called unchecked', async () => {
    const extraTools = [specOf('locate', { type: 'object', properties: { city: { $ref: '#/nowhere' } } })];
    expect(await box.judge(callOf('locate', { city: 'Bonn' }), { extraTools })).toMatchObject({
      kind: 'reject',
      error: { message: expect.stringMatching(/its schema, which came with the thread, can't be used: .*nowhere/) },
    });
  });

  test('can not be executed here', async () => {
    expect((await box.execute(callOf('locate', {}), hostWith())).outcome.status).toBe('rejected');
  });
});

describe('the options of a tool', () => {
  test('[A61] [A62] [A49] its timeout, or else that of its agent, or else 30 s, so that there always is one', async () => {
    const quick = defineTool({ name: 'quick', description: 'Quick.', input, timeoutMs: 100, execute: () => 'ok' });
    const timeouts = async (timeoutMs?: number) => {
      const box = createToolbox([quick, look], timeoutMs === undefined ? {} : { timeoutMs });
      return [await box.judge(callOf('quick', {})), await box.judge(callOf('look', {}))].map(
        (verdict) => 'timeoutMs' in verdict && verdict.timeoutMs,
      );
    };
    expect(await timeouts()).toEqual([100, 30_000]);
    expect(await timeouts(5_000)).toEqual([100, 5_000]);
  });

  test('[A62] [A65] the timeout of its agent ends it with an abort signal', async () => {
    let reason: unknown;
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      input,
      execute: (_args, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(new Error('stopped half way'));
          });
        }),
    });
    const { outcome } = await createToolbox([slow], { timeoutMs: 30 }).execute(callOf('slow', {}), hostWith());
    expect(outcome).toMatchObject({
      status: 'timed-out',
      error: { name: 'ToolTimeoutError', message: "Tool 'slow' timed out after 30 ms." },
    });
    expect(reason).toMatchObject({ name: 'ToolTimeoutError' });
  });

  test('that the run does not wait for it', async () => {
    const report = defineTool({ name: 'report', description: 'Report.', input, background: true, execute: () => 'ok' });
    expect(await createToolbox([report]).judge(callOf('report', {}))).toEqual({
      kind: 'run',
      effect: 'once',
      timeoutMs: 30_000,
      background: true,
    });
  });

  test.each([
    ['undefined', undefined, 'null'],
    ['null', null, 'null'],
    ['an object with others inside', { a: { b: [1, null, { c: 'd' }] } }, '{"a":{"b":[1,null,{"c":"d"}]}}'],
  ])('[A66] a result of %s reaches the model', async (_what, value, content) => {
    const tool = defineTool({ name: 'give', description: 'Give.', input, execute: () => value });
    expect((await createToolbox([tool]).execute(callOf('give', {}), hostWith())).outcome).toMatchObject({ status: 'success', content });
  });
});
