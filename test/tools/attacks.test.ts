import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLimitedReaders } from '../../src/tools/permissions/limited-readers';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { readShellCommand } from '../../src/tools/permissions/shell-command';
import { asks, beyond, denied, free, freeWhenTrusted, hungry, notDenied, otherScripts, remembered } from './attacks';
import { newFolder, removeFolders } from './tool-host';

let root: string;

beforeAll(async () => {
  root = await newFolder();
  const outside = await newFolder();
  execFileSync('git', ['init', '-q', root]);
  mkdirSync(join(root, 'src/deep'), { recursive: true });
  mkdirSync(join(root, 'docs'));
  for (const name of ['a.txt', 'b.txt', 'src/a.ts', 'src/deep/c.ts']) writeFileSync(join(root, name), 'one\n');
  writeFileSync(join(outside, 'secret'), 'secret\n');
  symlinkSync(outside, join(root, 'link'));
  symlinkSync(join(outside, 'secret'), join(root, 'src/link'));
  symlinkSync('src', join(root, 'inner'));
  symlinkSync('.git', join(root, 'dotgit'));
  mkdirSync(join(root, '.longhaul'));
  writeFileSync(join(root, '.longhaul/temporal.db'), 'threads\n');
  symlinkSync('.longhaul', join(root, 'kept'));
});
afterAll(removeFolders);

const call = (command: string) => ({ tool: 'shell', args: { command } });

describe.each(Object.entries(asks))('[B177][B178] %s: approval is needed', (_, commands) => {
  test.each(commands)('%j', (command) => {
    for (const mode of ['minimal', 'trusted'] as const) expect(createPermissions({ mode, root }).decide(call(command))).toBe('ask');
    // Where the workspace is not known links can't be followed; nothing else is free.
    if (!/link|dotgit|kept|k\*|src\/\*|\bl\*|\?ink|inner|in\*/.test(command)) {
      expect(createPermissions({ mode: 'trusted' }).decide(call(command))).toBe('ask');
    }
  });
});

test.each(free)('%s needs no approval', (command) => {
  for (const mode of ['minimal', 'trusted'] as const) expect(createPermissions({ mode, root }).decide(call(command))).toBe('allow');
});

test.each(freeWhenTrusted)('%s needs no approval in mode trusted', (command) => {
  expect(createPermissions({ mode: 'trusted', root }).decide(call(command))).toBe('allow');
  expect(createPermissions({ mode: 'minimal', root }).decide(call(command))).toBe('ask');
});

test.each([...free, ...freeWhenTrusted, ...hungry])('each program of %s runs with limits', (command) => {
  expect(createPermissions({ mode: 'trusted', root }).decide(call(command))).toBe('allow');
  const limited = readShellCommand(withLimitedReaders(command).replace(/^longhaul_limited\(\) \(.*?\); /, ''));
  const programs = limited.understood ? limited.commands.map(({ words: [program] }) => program?.text) : [];
  expect(programs.length).toBeGreaterThan(0);
  for (const name of programs) expect(['longhaul_limited', 'cd', 'pwd']).toContain(name);
});

describe('where programs can not be limited', () => {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor;
  beforeAll(() => void Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' }));
  afterAll(() => void Object.defineProperty(process, 'platform', platform));

  test.each(hungry)('%s needs approval', (command) => {
    expect(createPermissions({ mode: 'trusted', root }).decide(call(command))).toBe('ask');
  });

  test.each(freeWhenTrusted)('%s still needs none', (command) => {
    expect(createPermissions({ mode: 'trusted', root }).decide(call(command))).toBe('allow');
  });
});

test('an explanation has the decision, whatever the command, and a sentence for each part', async () => {
  const commands = [...Object.values(asks).flat(), ...free, ...freeWhenTrusted, ...notDenied.flatMap(([, some]) => some)];
  for (const mode of [undefined, 'minimal', 'trusted', 'full-access'] as const) {
    const permissions = createPermissions({ mode, root, allow: [{ tool: 'shell', prefix: ['git', 'status'] }] });
    for (const command of commands) {
      const { decision, why } = await permissions.explain(call(command));
      expect([command, decision]).toEqual([command, permissions.decide(call(command)) ?? 'undecided']);
      expect(why.length > 0 || /^cd\b/.test(command)).toBe(true);
    }
  }
});

describe.each(denied)('a deny rule for %j finds', (prefix, commands) => {
  test.each(commands)('%j', (command) => {
    const rule = { tool: 'shell', prefix };
    const permissions = createPermissions({ mode: 'full-access', deny: [rule], allow: [{ tool: 'shell' }] });
    expect(permissions.decide(call(command))).toEqual({ deny: `blocked by deny rule (shell: ${prefix.join(' ')})` });
  });
});

test.each(notDenied.flatMap(([prefix, commands]) => commands.map((command) => [prefix, command] as const)))(
  'a deny rule for %j does not find %j',
  (prefix, command) => {
    expect(createPermissions({ mode: 'full-access', deny: [{ tool: 'shell', prefix }] }).decide(call(command))).toBe('allow');
  },
);

test.each(remembered)('[B175] of %j may be remembered: %j', (command, rules) => {
  expect(createPermissions({ mode: 'minimal', root }).suggest(call(command))).toEqual(rules.map((rule) => ({ tool: 'shell', ...rule })));
});

test.each(beyond.flatMap(([looked, commands]) => commands.map((command) => [looked, command] as const)))(
  'what is remembered of %j does not allow %j',
  (looked, command) => {
    for (const mode of [undefined, 'minimal'] as const) {
      const permissions = createPermissions({ ...(mode && { mode }), root });
      expect(permissions.decide({ ...call(command), rules: permissions.suggest(call(looked)) })).toBe(mode && 'ask');
    }
  },
);

test('a prefix rule that would not be offered now allows nothing', () => {
  const permissions = createPermissions({ mode: 'minimal', root });
  for (const command of ['git push', 'jest', 'kubectl get', 'cat /etc/hostname', 'npm install', 'git']) {
    const rules = [{ tool: 'shell', prefix: command.split(' ') }];
    expect([command, permissions.decide({ ...call(command), rules })]).toEqual([command, 'ask']);
  }
});

test.each(otherScripts.flatMap(([prefix, commands]) => commands.map((command) => [prefix, command] as const)))(
  'a rule that someone wrote for %j does not allow %j',
  (prefix, command) => {
    expect(createPermissions({ mode: 'minimal', root, allow: [{ tool: 'shell', prefix }] }).decide(call(command))).toBe('ask');
  },
);

test.each([
  [['npm', 'test'], 'npm test --silent -- --coverage'],
  [['npm', 'test'], 'npm test a.test.ts'],
  [['npx', 'jest'], 'npx jest --coverage src'],
  [['npm', 'test', '--workspace=x'], 'npm test --workspace=x'],
  [['git', 'push'], 'git push origin main'],
  [['cat'], 'cat /etc/hostname'],
  [['git', 'diff'], "git diff ':(top)a.txt'"],
  [['jest'], 'cd src && jest --coverage'],
])('a rule that a person wrote for %j has its literal meaning: %j', (prefix, command) => {
  expect(createPermissions({ mode: 'minimal', root, allow: [{ tool: 'shell', prefix }] }).decide(call(command))).toBe('allow');
});

test.each([
  'printf -v PATH .',
  "printf '%n' PATH",
  'declare -i PATH',
  'shopt -s globstar',
  'hash -p ./ls ls',
  'read PATH',
  'getopts x PATH',
  "test -v 'a[0]'",
  'wait -p PATH',
  'builtin export PATH=.',
  'command export PATH=.',
])(
  '%s changes the effect of other commands, and is allowed by a rule that a person wrote for it alone, and by no remembered one',
  (command) => {
    const words = command.replaceAll("'", '').split(' ');
    const rule = { tool: 'shell', prefix: words.slice(0, 1) };
    const exact = { tool: 'shell', prefix: words, exact: true as const };
    for (const each of [rule, exact]) {
      const permissions = createPermissions({ mode: 'minimal', root, allow: [each] });
      expect(permissions.decide(call(command))).toBe('allow');
      for (const more of [
        `${command}; ls`,
        `${command} && cat a.txt`,
        `ls; ${command}`,
        `cd src; ${command}; ls`,
        `${command}; ${command}`,
      ]) {
        expect([more, permissions.decide(call(more))]).toEqual([more, 'ask']);
      }
    }
    for (const rules of [[rule], [exact]]) {
      expect(createPermissions({ mode: 'minimal', root }).decide({ ...call(command), rules })).toBe('ask');
    }
  },
);

test('a rule that a person wrote for a builtin allows no command in an array index', () => {
  const decide = (name: string, command: string) =>
    createPermissions({ mode: 'minimal', root, allow: [{ tool: 'shell', prefix: [name] }] }).decide(call(command));
  expect(decide('test', "test -v 'a[$(./x)]'")).toBe('ask');
  expect(decide('read', "read 'a[`./x`]'")).toBe('ask');
  expect(decide('test', 'test -f a.txt && ls')).toBe('allow');
  expect(decide('printf', "printf '%s [$x]' y && ls")).toBe('allow');
});

test('there is a minimum number of them', () => {
  expect(Object.values(asks).flat().length).toBeGreaterThan(250);
  expect(new Set(Object.values(asks).flat()).size).toBe(Object.values(asks).flat().length);
});
