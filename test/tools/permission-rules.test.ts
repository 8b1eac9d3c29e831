import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { PermissionRule } from '../../src/core/tool';
import { defineTool } from '../../src/tools/defining/define-tool';
import { suggestRules } from '../../src/tools/permissions/permission-suggestions';
import { createPermissions, type PermissionMode, type PermissionOptions } from '../../src/tools/permissions/permissions';
import { createToolbox } from '../../src/tools/running/toolbox';
import { newFolder, removeFolders } from './tool-host';

const shell = (command: unknown, more: object = {}) => ({ tool: 'shell', args: { command, ...more } });
const decide = (options: PermissionOptions, call: { tool: string; args: unknown; workspace?: string }) =>
  createPermissions(options).decide(call);
const minimal = (command: string, options: PermissionOptions = {}) => decide({ mode: 'minimal', ...options }, shell(command));
const blocked = (rule: string) => ({ deny: `blocked by deny rule (${rule})` });

describe('permissions', () => {
  test('[B169] deny overrides allow, and allow overrides ask, in every mode', () => {
    const both = { allow: [{ tool: 'pay' }], deny: [{ tool: 'pay' }] };
    for (const mode of [undefined, 'minimal', 'trusted', 'full-access'] as const) {
      expect(decide({ ...both, mode }, { tool: 'pay', args: {} })).toEqual(blocked('pay'));
    }
    expect(decide({ allow: [{ tool: 'pay' }], mode: 'minimal' }, { tool: 'pay', args: {} })).toBe('allow');
    expect(decide({ mode: 'minimal' }, { tool: 'pay', args: {} })).toBe('ask');
    expect(decide({ deny: [{ tool: 'read_file' }], mode: 'minimal' }, { tool: 'read_file', args: {} })).toEqual(blocked('read_file'));
  });

  test('a command in the background is judged as in the foreground, and text for its input asks each time', async () => {
    const deny = [{ tool: 'shell', prefix: ['git', 'push'] }];
    for (const background of [true, false]) {
      expect(decide({ mode: 'minimal' }, shell('ls', { background }))).toBe('allow');
      expect(decide({ mode: 'minimal' }, shell('npm start', { background }))).toBe('ask');
      expect(decide({ mode: 'full-access', deny }, shell('git push', { background }))).toEqual(blocked('shell: git push'));
    }
    expect(decide({ mode: 'trusted' }, shell('ls', { background: 'yes' }))).toBe('ask');
    const input = { tool: 'shell_input', args: { id: 'a', text: 'ls' } };
    for (const mode of ['minimal', 'trusted'] as const) expect(decide({ mode }, input)).toBe('ask');
    expect(decide({ mode: 'minimal', allow: [{ tool: 'shell_input' }] }, input)).toBe('allow');
    expect(suggestRules(input, undefined)).toEqual([]);
    for (const tool of ['shell_task', 'shell_cancel']) expect(decide({ mode: 'minimal' }, { tool, args: { id: 'a' } })).toBe('allow');
  });

  test.each<[PermissionOptions, string, string, string[]]>([
    [
      { mode: 'minimal' },
      'ls && git push',
      'ask',
      ['ls: allowed by the mode minimal', 'git push: no rule allows it, and in the mode minimal it is not known to be safe'],
    ],
    [{ allow: [{ tool: 'shell', prefix: ['npm', 'test'] }] }, 'npm test', 'allow', ['npm test: allowed by the rule (shell: npm test)']],
    [{ allow: [{ tool: 'shell' }] }, 'rm x > y', 'allow', ['shell: allowed by the rule (shell)']],
    [{ mode: 'minimal' }, 'echo $(x)', 'ask', ['echo $(x): it is not understood, because it has a $ that the check does not cover']],
    [{ mode: 'minimal' }, 'cd .. && ls', 'ask', ['cd .. && ls: it may leave the workspace']],
    [
      { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['git', 'push'] }] },
      'ls; git push',
      'deny',
      ['shell: blocked by deny rule (shell: git push)'],
    ],
    [{}, 'ls', 'undecided', ['ls: no rule allows it']],
  ])('with %j, %s is explained: %s', async (options, command, decision, why) => {
    expect(await createPermissions(options).explain(shell(command))).toEqual({ decision, why });
  });

  test('arguments besides the command, a mode and remembered rules are explained, too', async () => {
    const minimal = createPermissions({ mode: 'minimal', root: '/a' });
    expect((await minimal.explain(shell('ls', { host: 'other' }))).why).toEqual([expect.stringContaining('arguments besides those of')]);
    expect((await minimal.explain({ ...shell('ls'), workspace: '/b' })).why).toEqual([expect.stringContaining('but tools work in /b')]);
    expect(await minimal.explain({ tool: 'read_file', args: { path: 'a' } })).toEqual({
      decision: 'allow',
      why: ['read_file: allowed by the mode minimal'],
    });
    const rules: PermissionRule[] = [{ tool: 'shell', prefix: ['git', 'fetch'], exact: true }];
    expect(await minimal.explain({ ...shell('git fetch'), rules })).toEqual({
      decision: 'allow',
      why: ['git fetch: allowed by a remembered rule'],
    });
  });

  test('in mode sandboxed, commands in a sandbox need no approval, unless a deny rule refuses them; other calls are judged as in trusted', async () => {
    const options: PermissionOptions = { mode: 'sandboxed', deny: [{ tool: 'shell', prefix: ['git', 'push'] }] };
    const inSandbox = (command: string) => ({ ...shell(command), sandboxed: true as const });
    expect(decide(options, inSandbox('npm test && rm -rf $HOME'))).toBe('allow');
    expect(decide(options, inSandbox('git push'))).toEqual(blocked('shell: git push'));
    expect(decide(options, shell('npm test'))).toBe('ask');
    expect(decide(options, shell('sed -i.bak s/a/b/ a.txt'))).toBe('allow');
    expect(decide(options, { tool: 'write_file', args: { path: 'a.txt', content: '' } })).toBe('allow');
    expect(decide(options, { tool: 'write_file', args: { path: 'package.json', content: '' } })).toBe('ask');
    expect(decide(options, { tool: 'web_fetch', args: { url: 'https://example.com' } })).toBe('ask');
    expect(decide({ ...options, root: '/a' }, { ...inSandbox('npm test'), workspace: '/b' })).toEqual({
      ask: expect.stringContaining('/b'),
    });
    for (const mode of ['minimal', 'trusted'] as const) expect(decide({ mode }, inSandbox('npm test'))).toBe('ask');
    expect(await createPermissions(options).explain(inSandbox('npm test'))).toEqual({
      decision: 'allow',
      why: ['shell: allowed by the mode sandboxed'],
    });
    expect((await createPermissions(options).explain(shell('npm test'))).why[1]).toBe(
      'the mode sandboxed allows only commands that run in a sandbox without network',
    );
  });

  test('[B169] full-access needs no approvals, and deny rules still apply', () => {
    const options: PermissionOptions = { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['git', 'push'] }] };
    expect(decide(options, shell('rm -rf build'))).toBe('allow');
    expect(decide(options, shell('curl x | sh & $(true)'))).toBe('allow');
    expect(decide(options, { tool: 'anything', args: undefined })).toBe('allow');
    expect(decide(options, shell('git push origin main'))).toEqual(blocked('shell: git push'));
    expect(decide(options, shell('git pushy'))).toBe('allow');
    expect(decide(options, shell('git'))).toBe('allow');
  });

  test('[B170] a refusal names its deny rule, and does not end the run', () => {
    expect(decide({ deny: [{ tool: 'shell', prefix: ['rm'] }] }, shell('ls; rm x'))).toEqual({
      deny: 'blocked by deny rule (shell: rm)',
    });
  });

  test('[B170][B171] a refused call does not run; the refusal goes to the model, or ends the run', async () => {
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

  test('[B171] a deny rule may end the run', () => {
    const deny = [{ tool: 'shell', prefix: ['rm'], stop: true as const }, { tool: 'shell' }];
    expect(decide({ deny }, shell('rm x'))).toEqual({ deny: 'blocked by deny rule (shell: rm)', stop: true });
    expect(decide({ deny }, shell('ls'))).toEqual({ deny: 'blocked by deny rule (shell)' });
  });

  test('without a mode they have no decision if no rule applies', () => {
    expect(decide({}, shell('ls'))).toBeUndefined();
    expect(decide({}, shell('cd src'))).toBeUndefined();
    expect(decide({}, { tool: 'read_file', args: {} })).toBeUndefined();
    expect(decide({ allow: [{ tool: 'shell', prefix: ['ls'] }] }, shell('ls -la'))).toBe('allow');
    expect(decide({ allow: [{ tool: 'shell', prefix: ['ls'] }] }, shell('ls; rm x'))).toBeUndefined();
  });

  test('a rule that people remembered in the thread is allowed, by whole words', () => {
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
    ['minimal', 'glob', 'allow'],
    ['minimal', 'grep', 'allow'],
    ['minimal', 'view_image', 'allow'],
    ['minimal', 'update_plan', 'allow'],
    ['minimal', 'edit', 'ask'],
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

  const begin = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
  const x = { content: 'x' };

  test.each<[tool: string, args: object]>([
    ['write_file', { path: '.gitattributes', ...x }],
    ['write_file', { path: 'sub/.GitAttributes', ...x }],
    ['write_file', { path: '.git/config', ...x }],
    ['write_file', { path: '.git/hooks/pre-commit', ...x }],
    ['write_file', { path: './package.json', ...x }],
    ['write_file', { path: 'link', ...x }],
    ['write_file', { path: 'settings/tasks.json', ...x }],
    ['write_file', { path: '.husky/pre-commit', ...x }],
    ['write_file', { path: 'home/.bashrc', ...x }],
    ['edit', { path: 'packages/a/.npmrc', old_string: 'a', new_string: 'b' }],
    ['apply_patch', { patch: begin('*** Update File: a.ts', '-a', '+b', '*** Update File: package.json', '-a', '+b') }],
    ['apply_patch', { patch: begin('*** Update File: a.ts', '*** Move to:  sub/.envrc ') }],
    ['apply_patch', { patch: '--- a/package.json\t2026\n+++ b/package.json\n@@ -1 +1 @@\n-a\n+b\n' }],
    ['apply_patch', { patch: 'diff --git a/x b/.gitattributes\nsimilarity index 100%\nrename from x\nrename to .gitattributes\n' }],
    ['apply_patch', { patch: '--- /dev/null\n+++ .gitmodules\n@@ -0,0 +1 @@\n+b\n' }],
  ])('mode trusted asks before %s of a file that makes harmless commands run code: %j', async (tool, args) => {
    const root = await newFolder();
    await mkdir(join(root, '.vscode'));
    await writeFile(join(root, 'package.json'), '{}');
    await symlink('package.json', join(root, 'link'));
    await symlink('.vscode', join(root, 'settings'));
    expect(decide({ mode: 'trusted', root }, { tool, args })).toBe('ask');
    expect(decide({ mode: 'full-access', root }, { tool, args })).toBe('allow');
  });

  test('mode trusted lets other files be edited, whatever the folders above the workspace are named', async () => {
    const root = join(await newFolder(), '.vscode', 'work');
    await mkdir(root, { recursive: true });
    for (const path of ['a.ts', 'package.json.md', 'src/bashrc', join(root, 'b.ts')]) {
      expect(decide({ mode: 'trusted', root }, { tool: 'write_file', args: { path, content: 'see package.json\n' } })).toBe('allow');
    }
    expect(decide({ mode: 'trusted', root }, { tool: 'write_file', args: { path: join(root, 'package.json'), content: '' } })).toBe('ask');
  });

  test('a rule for a program with a relative path does not apply in another folder', () => {
    const allow = [{ tool: 'shell', prefix: ['./build.sh'] }];
    expect(minimal('./build.sh', { allow })).toBe('allow');
    expect(minimal('cd bin && ./build.sh', { allow })).toBe('ask');
  });

  test('a rule for a whole tool allows any arguments', () => {
    expect(minimal('x=$(curl y) & rm -rf "$x" > z', { allow: [{ tool: 'shell' }] })).toBe('allow');
  });

  test('a command that is not text is allowed by no prefix', () => {
    for (const command of [undefined, 7, null, ['ls'], { 0: 'ls' }]) expect(decide({ mode: 'minimal' }, shell(command))).toBe('ask');
    expect(decide({ mode: 'minimal' }, { tool: 'shell', args: 'ls' })).toBe('ask');
  });

  test.each([{ host: 'production' }, { env: { LD_PRELOAD: './x.so' } }, { cwd: '/elsewhere' }, { timeout: { seconds: 1 } }, { args: [] }])(
    'a command with arguments that say more of what runs is none that a rule or a mode knows: %j',
    (more) => {
      const run = (args: object, tool = 'run_on') => ({ tool, args: { command: 'make deploy', ...args } });
      const rules = [{ tool: 'run_on', prefix: ['make', 'deploy'], exact: true as const }];
      const permissions = createPermissions({ mode: 'trusted', allow: [{ tool: 'run_on', prefix: ['make'] }] });
      expect(permissions.decide({ ...run({ workdir: 'src', timeout: 5 }), rules })).toBe('allow');
      expect(permissions.decide({ ...run({ host: undefined }), rules })).toBe('allow');
      expect(permissions.decide({ ...run(more), rules })).toBe('ask');
      expect(permissions.decide(shell('ls', more))).toBe('ask');
      expect(permissions.suggest(run(more))).toEqual([]);
      expect(permissions.decide({ ...run(more), rules: permissions.suggest(run({})) })).toBe('ask');
      // What means every call of the tool still does.
      expect(permissions.decide({ ...run(more), rules: [{ tool: 'run_on' }] })).toBe('allow');
      expect(decide({ deny: [{ tool: 'run_on', prefix: ['make'] }] }, run(more))).toEqual(blocked('run_on: make'));
    },
  );

  test('invalid remembered rules allow nothing', () => {
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

  test('changes to the given lists have no effect on decisions', () => {
    const deny = [{ tool: 'shell', prefix: ['rm'] }];
    const permissions = createPermissions({ deny });
    deny[0]!.prefix[0] = 'ls';
    deny.length = 0;
    expect(permissions.decide(shell('rm x'))).toEqual(blocked('shell: rm'));
  });

  test('all problems of the options are reported together', () => {
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
        '- deny[0]: is not a rule; give { tool } or { tool, prefix }',
        "- deny[1]: has the prefix []; give the words of a command one by one, such as ['git', 'push']",
        '- deny[2]: has stop: "yes"; use true, or leave it out',
        "- allow[0]: has the prefix [\"git push\"]; give the words of a command one by one, such as ['git', 'push']",
        '- allow[1]: is not a rule; give { tool } or { tool, prefix }',
        "- allow[2]: has the unknown key 'command'; give { tool }, { tool, prefix } or { tool, host }",
        '- allow[3]: has exact: true; use true with a prefix that has all words of a command, or leave it out',
        '- allow[4]: has exact: 1; use true with a prefix that has all words of a command, or leave it out',
        "- mode: is \"yolo\"; use 'minimal', 'trusted', 'sandboxed' or 'full-access'",
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

  test('finds it behind any number of shells', () => {
    const quoted = (text: string) => `eval '${text.replaceAll("'", `'\\''`)}'`;
    let command = 'rm -rf x';
    for (let depth = 0; depth < 8; depth += 1) {
      expect(decide(rm, shell(command))).toMatchObject({ deny: expect.stringMatching(/^blocked by deny rule \(shell: rm -rf\)/) });
      command = quoted(command);
    }
  });

  const unclear = { deny: expect.stringMatching(/^blocked by deny rule \(shell: rm -rf\), which it may break: it is too long/) };
  const long = 'x'.repeat(10_000);

  test.each<[string, string]>([
    ['the words', `cat ${long}; rm -rf x`],
    ['the words in quotes', `cat ${long}; r'm' "-rf" x`],
    ['braces', `cat ${long}; {r,}m x`],
    ['a pattern for the program', `cat ${long}; /bin/r? -rf`],
    ['escapes', `cat ${long}; $'\\x72m' -rf x`],
    ['braces that stand for too much', 'rm {a..z}{a..z}{a..z}{a..z} {-rf,x}'],
    ['numbers that stand for too much', 'rm {1..999999999} {-rf,x}'],
    ['commands that are too many', `bash -c ${'"$(bash -c '.repeat(100)} rmx -rf ${')"'.repeat(100)}`],
  ])('refuses a command that is too long to check and may contain %s, and does not end the run', (_, command) => {
    const stop: PermissionOptions = { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['rm', '-rf'], stop: true }] };
    expect(decide(stop, shell(command))).toEqual(unclear);
    expect(decide({ mode: 'full-access' }, shell(command))).toBe('allow');
  });

  test.each(['$', '`', '(', '<', '>'])('refuses a command that may contain its words behind more %s than are parsed', (sign) => {
    const push: PermissionOptions = { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['git', 'push'] }] };
    const many = sign.repeat(302);
    const answer = { deny: expect.stringMatching(/^blocked by deny rule \(shell: git push\)/) };
    for (const command of [
      `git -c 'a.b=x y' push origin; : ${many}`,
      `git -c 'a.b=;' push origin; : ${many}`,
      `> /dev/null git push origin; : ${many}`,
      `: ${many}; 2>/dev/null git push`,
      `{git,push,origin}; : ${many}`,
      `git -C '.' push; : ${many}`,
      `eval "git -c 'a.b=x y' push origin; : ${many}"`,
      `git -c 'a.b=x y' pu$@sh origin; : ${many}`,
      `git -c 'a.b=x y' pu\`\`sh origin; : ${many}`,
      `git -c 'a.b=x y' -c help.autocorrect=1 puhs; : ${many}`,
      `git -c 'a.b=x y' -c alias.x=$y x; : ${many}`,
    ]) {
      expect([command, decide(push, shell(command))]).toEqual([command, answer]);
    }
    expect(decide(push, shell(`git -c 'a.b=x y' pull; : ${many}`))).toBe('allow');
    const npm: PermissionOptions = { mode: 'full-access', deny: [{ tool: 'shell', prefix: ['npm', 'install'] }] };
    expect(decide(npm, shell(`> /dev/null npm i x; : ${many}`))).toMatchObject({ deny: expect.stringMatching(/^blocked/) });
  });

  test.each([`cat ${long}`, `cat ${long}; git push`, `cat > a.md <<EOF\n* ${long}\n* remove it\nEOF`])(
    'leaves alone what is too long and does not hold its words: %#',
    (command) => {
      expect(decide(rm, shell(command))).toBe('allow');
    },
  );
});

test('a command that is too long to check is allowed by no prefix and no mode', () => {
  const of = (chars: number) => `cat ${'a'.repeat(chars - 4)}`;
  const allow = [{ tool: 'shell', prefix: ['cat'] }];
  expect(minimal(of(10_000), { allow })).toBe('allow');
  expect(minimal(of(10_001), { allow })).toBe('ask');
  expect(minimal(of(10_001), { allow: [{ tool: 'shell' }] })).toBe('allow');
});

describe('a check takes very little time', () => {
  const repeated = (text: string, length = 10_000) => text.repeat(Math.floor(length / text.length));
  const distinct = Array.from({ length: 2_000 }, (_, at) => `q${at}`).join(' ');
  let root: string;
  beforeAll(async () => {
    root = await newFolder();
    execFileSync('git', ['init', '-q', root]);
    await mkdir(join(root, 'many'));
    await Promise.all(Array.from({ length: 2_000 }, (_, at) => writeFile(join(root, 'many', `f${at}`), '')));
  });
  afterAll(removeFolders);

  test.each<[string, string]>([
    ['a path, again and again', `cat ${repeated('a ', 118_000)}`],
    ['the same within the limit', `cat ${repeated('a ', 9_900)}`],
    ['many paths', `cat ${distinct.slice(0, 9_900)}`],
    ['many paths in one of many folders', `cd a; cd b; cd c; cd d; cat ${distinct.slice(0, 9_900)}`],
    ['a deep path', `cat ${repeated('a/', 9_900)}`],
    ['globs over many files', `ls ${repeated('many/f* ', 9_900)}`],
    ['here-documents', repeated('<<a ', 108_000)],
    ['here-documents within the limit', repeated('<<a ')],
    ['wrapped programs with options', `xargs ${repeated('rm -x ', 114_000)}`],
    ['wrapped programs within the limit', `xargs ${repeated('rm -x ', 9_900)}`],
    ['braces', repeated('{a..z}{a..z}{a..z} ', 1_900)],
    ['braces in braces', repeated('{a,')],
    ['braces that make ever more words', repeated(`${'{a,b}'.repeat(24)} `, 2_420)],
    ['git, again and again', repeated('git status;')],
    ['backticks', repeated('`a')],
    ['parentheses', repeated('$(bash -c "a b" ', 4_500)],
    ['brackets', `ls x${repeated('[a', 9_900)}`],
  ])('of %s', (_, command) => {
    const deny = [
      { tool: 'shell', prefix: ['rm', '-rf'] },
      { tool: 'shell', prefix: ['git', 'push'] },
    ];
    const permissions = createPermissions({ mode: 'trusted', root, deny });
    const judge = () => {
      const began = process.cpuUsage();
      void permissions.decide(shell(command));
      permissions.suggest(shell(command));
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1_000;
    };
    // The first one is not compiled yet, and a collection of garbage may fall into any. It is below 50 ms; before, it was seconds.
    expect(Math.min(judge(), judge(), judge())).toBeLessThan(150);
  });
});
