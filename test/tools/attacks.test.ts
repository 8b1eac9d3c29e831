import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPermissions } from '../../src/tools/permissions';
import { asks, beyond, denied, free, freeWhenTrusted, notDenied, otherScripts, remembered } from './attacks';
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
});
afterAll(removeFolders);

const call = (command: string) => ({ tool: 'shell', args: { command } });

describe.each(Object.entries(asks))('[B177][B178] %s: a person is asked', (_, commands) => {
  test.each(commands)('%j', (command) => {
    for (const mode of ['minimal', 'trusted'] as const) expect(createPermissions({ mode, root }).decide(call(command))).toBe('ask');
    // Where the workspace is not known links can't be followed; nothing else is free.
    if (!/link|dotgit|src\/\*|\bl\*|\?ink|inner|in\*/.test(command)) {
      expect(createPermissions({ mode: 'trusted' }).decide(call(command))).toBe('ask');
    }
  });
});

test.each(free)('nobody is asked about %s', (command) => {
  for (const mode of ['minimal', 'trusted'] as const) expect(createPermissions({ mode, root }).decide(call(command))).toBe('allow');
});

test.each(freeWhenTrusted)('nobody is asked about %s in mode trusted', (command) => {
  expect(createPermissions({ mode: 'trusted', root }).decide(call(command))).toBe('allow');
  expect(createPermissions({ mode: 'minimal', root }).decide(call(command))).toBe('ask');
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

test('a rule of first words that would not be offered now allows nothing', () => {
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
  [['jest'], 'cd src && jest --coverage'],
])('a rule that someone wrote for %j means what it says: %j', (prefix, command) => {
  expect(createPermissions({ mode: 'minimal', root, allow: [{ tool: 'shell', prefix }] }).decide(call(command))).toBe('allow');
});

test('there are enough of them', () => {
  expect(Object.values(asks).flat().length).toBeGreaterThan(250);
  expect(new Set(Object.values(asks).flat()).size).toBe(Object.values(asks).flat().length);
});
