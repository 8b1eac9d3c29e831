import { z } from 'zod';
import type { PermissionRule } from '../../src/core/tool';
import { defineTool } from '../../src/tools/define-tool';
import { createPermissions, type PermissionMode, type PermissionOptions } from '../../src/tools/permissions';
import { createToolbox } from '../../src/tools/toolbox';

const shell = (command: unknown, more: object = {}) => ({ tool: 'shell', args: { command, ...more } });
const decide = (options: PermissionOptions, call: { tool: string; args: unknown }) => createPermissions(options).decide(call);
const minimal = (command: string, options: PermissionOptions = {}) => decide({ mode: 'minimal', ...options }, shell(command));
const blocked = (rule: string) => ({ deny: `blocked by deny rule (${rule})` });

describe('permissions', () => {
  test('[B169] deny beats allow, allow beats ask, in every mode', () => {
    const both = { allow: [{ tool: 'pay' }], deny: [{ tool: 'pay' }] };
    for (const mode of [undefined, 'minimal', 'trusted', 'full-access'] as const) {
      expect(decide({ ...both, mode }, { tool: 'pay', args: {} })).toEqual(blocked('pay'));
    }
    expect(decide({ allow: [{ tool: 'pay' }], mode: 'minimal' }, { tool: 'pay', args: {} })).toBe('allow');
    expect(decide({ mode: 'minimal' }, { tool: 'pay', args: {} })).toBe('ask');
    expect(decide({ deny: [{ tool: 'read_file' }], mode: 'minimal' }, { tool: 'read_file', args: {} })).toEqual(blocked('read_file'));
  });

  test('[B169] full-access asks about nothing, and is still blocked by deny rules', () => {
    const options: PermissionOptions = { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['git', 'push'] }] };
    expect(decide(options, shell('rm -rf build'))).toBe('allow');
    expect(decide(options, shell('curl x | sh & $(true)'))).toBe('allow');
    expect(decide(options, { tool: 'anything', args: undefined })).toBe('allow');
    expect(decide(options, shell('git push origin main'))).toEqual(blocked('shell: git push'));
    expect(decide(options, shell('git pushy'))).toBe('allow');
    expect(decide(options, shell('git'))).toBe('allow');
  });

  test('[B170] a deny rule says which it was, and does not end the run', () => {
    expect(decide({ deny: [{ tool: 'shell', prefix: ['rm'] }] }, shell('ls; rm x'))).toEqual({
      deny: 'blocked by deny rule (shell: rm)',
    });
  });

  test('[B170][B171] what they refuse is told to the model, or ends the run, and is not run', async () => {
    const tool = (name: string) => defineTool({ name, description: 'd', input: z.object({}), execute: () => 'ran' });
    const permissions = createPermissions({ deny: [{ tool: 'a' }, { tool: 'b', stop: true }] });
    const toolbox = createToolbox([tool('a'), tool('b')], { permissions });
    const refused = (name: string) => ({
      kind: 'reject',
      error: { name: 'PermissionDeniedError', message: `Permission denied: blocked by deny rule (${name})` },
    });
    expect(await toolbox.judge({ id: '1', name: 'a', arguments: '{}' })).toEqual(refused('a'));
    expect(await toolbox.judge({ id: '2', name: 'b', arguments: '{}' })).toEqual({ ...refused('b'), stop: true });
  });

  test('[B171] a deny rule may say that the run ends with it', () => {
    const deny = [{ tool: 'shell', prefix: ['rm'], stop: true as const }, { tool: 'shell' }];
    expect(decide({ deny }, shell('rm x'))).toEqual({ deny: 'blocked by deny rule (shell: rm)', stop: true });
    expect(decide({ deny }, shell('ls'))).toEqual({ deny: 'blocked by deny rule (shell)' });
  });

  test('without a mode they have no opinion where no rule speaks', () => {
    expect(decide({}, shell('ls'))).toBeUndefined();
    expect(decide({}, shell('cd src'))).toBeUndefined();
    expect(decide({}, { tool: 'read_file', args: {} })).toBeUndefined();
    expect(decide({ allow: [{ tool: 'shell', prefix: ['ls'] }] }, shell('ls -la'))).toBe('allow');
    expect(decide({ allow: [{ tool: 'shell', prefix: ['ls'] }] }, shell('ls; rm x'))).toBeUndefined();
  });

  test('what people said to remember in the thread is allowed, by whole words', () => {
    const permissions = createPermissions({ mode: 'minimal' });
    const rules = [{ tool: 'shell', prefix: ['npm', 'run', 'build'] }, { tool: 'pay' }];
    const ask = (call: { tool: string; args: unknown }) => permissions.decide({ ...call, rules });
    expect(ask(shell('npm run build'))).toBe('allow');
    expect(ask(shell('npm run build --silent'))).toBe('allow');
    expect(ask(shell('ls && "npm" ru\'n\' build'))).toBe('allow');
    expect(ask({ tool: 'pay', args: {} })).toBe('allow');
    for (const command of [
      'npm run build:all',
      'npm run build -- --watch',
      'npm run',
      'npm',
      'xnpm run build',
      './npm run build',
      'npm "run build"',
      'npm build run',
    ]) {
      expect([command, ask(shell(command))]).toEqual([command, 'ask']);
    }
    expect(ask({ tool: 'payment', args: {} })).toBe('ask');
    expect(permissions.decide(shell('npm run build'))).toBe('ask');
  });

  test.each<[PermissionMode, string, 'allow' | 'ask']>([
    ['minimal', 'read_file', 'allow'],
    ['minimal', 'list_dir', 'allow'],
    ['minimal', 'ask_human', 'allow'],
    ['minimal', 'write_file', 'ask'],
    ['minimal', 'apply_patch', 'ask'],
    ['trusted', 'read_file', 'allow'],
    ['trusted', 'write_file', 'allow'],
    ['trusted', 'edit', 'allow'],
    ['trusted', 'apply_patch', 'allow'],
    ['trusted', 'shell', 'ask'],
    ['trusted', 'pay', 'ask'],
  ])('in mode %s the tool %s: %s', (mode, tool, decision) => {
    expect(decide({ mode }, { tool, args: { path: 'x' } })).toBe(decision);
  });

  test('a rule for a whole tool allows whatever it is given', () => {
    expect(minimal('x=$(curl y) & rm -rf "$x" > z', { allow: [{ tool: 'shell' }] })).toBe('allow');
  });

  test('a command that is no text is allowed by no prefix', () => {
    for (const command of [undefined, 7, null, ['ls'], { 0: 'ls' }]) expect(decide({ mode: 'minimal' }, shell(command))).toBe('ask');
    expect(decide({ mode: 'minimal' }, { tool: 'shell', args: 'ls' })).toBe('ask');
  });

  test('remembered rules that are none allow nothing', () => {
    const odd = [
      { tool: 'shell', prefix: [] },
      { tool: 'shell', prefix: null },
      { tool: 'shell', command: 'ls' },
      null,
      'shell',
      { tool: 'shell', prefix: 'npm' },
    ];
    const rules = odd as unknown as PermissionRule[];
    expect(createPermissions({ mode: 'minimal' }).decide({ ...shell('npm test'), rules })).toBe('ask');
  });

  test('the lists given can be changed by their owner without changing what was decided on', () => {
    const deny = [{ tool: 'shell', prefix: ['rm'] }];
    const permissions = createPermissions({ deny });
    deny[0]!.prefix[0] = 'ls';
    deny.length = 0;
    expect(permissions.decide(shell('rm x'))).toEqual(blocked('shell: rm'));
  });

  test('what is wrong with options is said for all at once', () => {
    const wrong = {
      deny: [{ tool: '' }, { tool: 'shell', prefix: [] }, { tool: 'shell', stop: 'yes' }],
      allow: [
        { tool: 'shell', prefix: ['git push'] },
        'shell',
        { tool: 'shell', command: 'ls' },
        { tool: 'shell', exact: true },
        { tool: 'shell', prefix: ['a'], exact: 1 },
      ],
      mode: 'yolo',
      root: 'work',
      store: { load: 1 },
    } as unknown as PermissionOptions;
    expect(() => createPermissions(wrong)).toThrow(
      [
        'createPermissions:',
        '- deny[0]: is no rule; give { tool } or { tool, prefix }',
        "- deny[1]: has the prefix []; give the words of a command one by one, such as ['git', 'push']",
        '- deny[2]: has stop: "yes"; use true, or leave it out',
        "- allow[0]: has the prefix [\"git push\"]; give the words of a command one by one, such as ['git', 'push']",
        '- allow[1]: is no rule; give { tool } or { tool, prefix }',
        "- allow[2]: has the key 'command', which no rule has; give { tool } or { tool, prefix }",
        '- allow[3]: has exact: true; use true beside a prefix that holds all words of a command, or leave it out',
        '- allow[4]: has exact: 1; use true beside a prefix that holds all words of a command, or leave it out',
        "- mode: is \"yolo\"; use 'minimal', 'trusted' or 'full-access'",
        '- root: give the absolute path of a folder',
        '- store: give one with load and add, such as filePermissionStore(path)',
      ].join('\n'),
    );
    expect(() => createPermissions({ deny: 'rm' } as unknown as PermissionOptions)).toThrow(/deny: give a list of rules/);
  });
});

describe('a deny rule for a command', () => {
  const rm: PermissionOptions = { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['rm', '-rf'] }] };

  test.each([
    'rm -rf x',
    'ls && rm -rf x',
    'ls | rm -rf',
    "r\\m '-rf' x",
    '"r"m -rf',
    '/bin/rm -rf x',
    'A=1 B=2 rm -rf x',
    'sudo rm -rf x',
    'sudo -u bob /bin/rm -rf x',
    'timeout 5 nice rm -rf x',
    'find . | xargs -n 1 rm -rf',
    'find . -exec rm -rf x +',
    'find . -exec rm -rf {} \\;',
    'ls $(rm -rf x)',
    'ls "`rm -rf x`"',
    'ls\nrm -rf x',
    'ls\rrm -rf x',
    'r\\\nm -rf x',
    'ls & rm -rf x',
    'ls > y; rm -rf x',
    '(rm -rf x)',
    '{ rm -rf x; }',
    'if true; then rm -rf x; fi',
    'while ! rm -rf x; do :; done',
    'cat <(rm -rf x)',
    "bash -c 'rm -rf x'",
    "sudo sh -lc 'ls; rm -rf x'",
    'bash -c "bash -c \'rm -rf x\'"',
    "bash -c 'rm -rf x' > y",
    "eval 'rm -rf x'",
    'eval rm -rf x',
    "env -S 'rm -rf x'",
    'f() { rm -rf x; }; f',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's.
    'echo ${x:-$(rm -rf x)}',
  ])('finds it in %j', (command) => {
    expect(decide(rm, shell(command))).toEqual(blocked('shell: rm -rf'));
  });

  test.each(["git commit -m 'rm -rf x'", 'echo rm -rf x', 'grep -r "rm -rf" .', 'rm -r -f x', 'rmdir -rf', 'echo time rm -rf', ''])(
    'does not find it in %j',
    (command) => {
      expect(decide(rm, shell(command))).toBe('allow');
    },
  );

  test('looks at long commands in time that grows with their length only', () => {
    const began = process.cpuUsage();
    const word = 'a '.repeat(60_000);
    for (const command of [`xargs ${word}`, `sudo ${word}$(x)`, `sed 's/${' '.repeat(100_000)}x'`, `${'<'.repeat(50_000)}`, `'${word}`]) {
      expect(decide(rm, shell(command))).toBe('allow');
      expect(decide({ mode: 'trusted' }, shell(command))).toBe('ask');
    }
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});
