import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createShell } from '../../src/tools/built-in/shell';
import { readGitIndex } from '../../src/tools/permissions/git-index';
import { createPermissions, type PermissionMode } from '../../src/tools/permissions/permissions';
import { newFolder, removeFolders, run } from './tool-host';

afterEach(removeFolders);

/** A repository with one commit, and a program in it that notes that it ran. */
async function repository() {
  const root = await newFolder();
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: root, stdio: 'pipe' });
  git('init', '-q');
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const evil = join(root, 'evil.sh');
  writeFileSync(evil, `#!/bin/sh\ntouch '${root}/it-ran'\ncat 2>/dev/null\n`);
  chmodSync(evil, 0o755);
  git('add', 'a.txt');
  git('commit', '-q', '-m', 'one');
  return {
    root,
    evil,
    git,
    config: (text: string) => appendFileSync(join(root, '.git/config'), text),
    decide: (command: string, more: object = {}, mode: PermissionMode = 'minimal') =>
      createPermissions({ mode, root }).decide({ tool: 'shell', args: { command, ...more } }),
    /** Runs a command as an agent would, whatever permissions say; whether the program ran. */
    async ranEvil(command: string, workdir = '.') {
      rmSync(join(root, 'it-ran'), { force: true });
      writeFileSync(join(root, 'a.txt'), 'two\n');
      // Git looks into a file again whose time is new.
      utimesSync(join(root, 'a.txt'), 1, 1);
      await run(createShell(), { command, workdir }, { workspace: root });
      return existsSync(join(root, 'it-ran'));
    },
  };
}

const reading = ['git status', 'git diff', 'git log -p', 'git show', 'git ls-files -m', 'git grep one', 'git rev-parse HEAD'];

test.each(reading)('%s needs no approval in a repository with harmless settings', async (command) => {
  const { decide, config } = await repository();
  config(
    '[remote "origin"]\n\turl = https://example.test/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n',
  );
  expect(decide(command)).toBe('allow');
  expect(decide(`ls && ${command} | head -5`)).toBe('allow');
  expect(decide(command, { workdir: '.' })).toBe('allow');
});

test.each(reading)('%s needs approval if git may find another repository, or unknown settings', async (command) => {
  const { decide, root, git } = await repository();
  mkdirSync(join(root, 'docs'));
  expect(decide(`cd docs && ${command}`)).toBe('ask');
  expect(decide(command, { workdir: 'docs' })).toBe('ask');
  expect(createPermissions({ mode: 'minimal' }).decide({ tool: 'shell', args: { command } })).toBe('ask');
  expect(decide(command.replace('git', 'git -C docs'))).toBe('ask');
  git('config', 'filter.x.clean', './evil.sh');
  expect(decide(command)).toBe('ask');
});

test.each([
  '[diff]\n\texternal = ./evil.sh\n',
  '[diff "x"]\n\ttextconv = ./evil.sh\n',
  '[diff "x"]\n\tcommand = ./evil.sh\n',
  '[filter "x"]\n\tclean = ./evil.sh\n',
  '[core]\n\tfsmonitor = ./evil.sh\n',
  '[core]\n\tworktree = /\n',
  '[core]\n\tsshCommand = ./evil.sh\n',
  '[CORE]\n\tFSMonitor = ./evil.sh\n',
  '[include]\n\tpath = ../x\n',
  '[includeIf "gitdir:/"]\n\tpath = ../x\n',
  '[extensions]\n\tworktreeConfig = true\n',
  '[extensions]\n\tpartialClone = origin\n',
  '[remote "origin"]\n\tpromisor = true\n',
  '[gpg]\n\tprogram = ./evil.sh\n',
  '[alias]\n\tx = !./evil.sh\n',
  '[core] fsmonitor = ./evil.sh\n',
  '[user]\n\tname = a \\\n[filter "x"]\n\tclean = ./evil.sh\n',
  '[user]\n\tname = a \\\n',
  '[user "x\\"]\n\tname = a\n',
  'nonsense\n',
])('unknown settings: %j', async (text) => {
  const { decide, config } = await repository();
  expect(decide('git status')).toBe('allow');
  config(text);
  expect(decide('git status')).toBe('ask');
});

test('a repository elsewhere, and a missing one, need approval', async () => {
  const { decide, root } = await repository();
  writeFileSync(join(root, '.git/commondir'), '../x\n');
  expect(decide('git status')).toBe('ask');
  rmSync(join(root, '.git/commondir'));
  expect(decide('git status')).toBe('allow');
  writeFileSync(join(root, '.git/HEAD'), '');
  expect(decide('git status')).toBe('ask');
  rmSync(join(root, '.git'), { recursive: true });
  expect(decide('git status')).toBe('ask');
  writeFileSync(join(root, '.git'), 'gitdir: docs\n');
  expect(decide('git status')).toBe('ask');
});

/** A repository within another, with a filter of its own, that the outer one holds as a submodule. */
async function withSubmodule() {
  const outer = await repository();
  const { root, git, evil } = outer;
  const inner = join(root, 'inner');
  git('init', '-q', 'inner');
  writeFileSync(join(inner, '.gitattributes'), '*.txt filter=x\n');
  writeFileSync(join(inner, 'b.txt'), 'one\n');
  git('-C', 'inner', 'add', '.');
  git('-C', 'inner', 'commit', '-q', '-m', 'one');
  writeFileSync(join(root, '.gitmodules'), '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n');
  git('add', '.gitmodules', 'inner');
  git('commit', '-q', '-m', 'two');
  appendFileSync(join(inner, '.git/config'), `[filter "x"]\n\tclean = ${evil}\n`);
  return { ...outer, touchInner: () => utimesSync(join(inner, 'b.txt'), 1, 1) };
}

test.each(['git status', 'git diff', 'git diff HEAD'])(
  '%s is asked about where there is a submodule, whatever says how to treat it',
  async (command) => {
    const { root, decide, ranEvil, touchInner, git } = await withSubmodule();
    expect(decide(command)).toBe('ask');
    rmSync(join(root, '.gitmodules'));
    expect(decide(command)).toBe('ask');
    touchInner();
    // Git takes what it says from the index then, or from the last commit.
    expect(await ranEvil(command)).toBe(true);
    git('rm', '-q', '--cached', '.gitmodules');
    expect(decide(command)).toBe('ask');
    git('rm', '-q', '--cached', 'inner');
    expect(decide(command)).toBe('allow');
    touchInner();
    expect(await ranEvil(command)).toBe(false);
  },
);

test('unknown settings of submodules need approval', async () => {
  const { decide, root } = await repository();
  writeFileSync(join(root, '.gitmodules'), '[submodule "a"]\n\tpath = a\n\turl = https://example.test/a.git\n');
  expect(decide('git status')).toBe('allow');
  appendFileSync(join(root, '.gitmodules'), '\tignore = none\n');
  expect(decide('git status')).toBe('ask');
});

test('git add and git commit are remembered by prefix in a workspace that is a repository of its own, and nowhere else', async () => {
  const { root, decide, config } = await repository();
  mkdirSync(join(root, 'packages/app'), { recursive: true });
  const offered = (folder: string | undefined, command: string) =>
    createPermissions({ ...(folder !== undefined && { root: folder }) }).suggest({ tool: 'shell', args: { command } });
  for (const [command, prefix] of [
    ['git add a.txt', ['git', 'add']],
    ['git commit -m x', ['git', 'commit']],
  ] as const) {
    expect(offered(root, command)).toEqual([{ tool: 'shell', prefix }]);
    const exactly = [{ tool: 'shell', prefix: command.split(' '), exact: true }];
    expect(offered(undefined, command)).toEqual(exactly);
    for (const folder of ['packages', 'packages/app']) expect(offered(join(root, folder), command)).toEqual(exactly);
  }
  // An empty `.git` is none: git goes on to the folders above.
  const app = join(root, 'packages/app');
  mkdirSync(join(app, '.git'));
  const rules = offered(root, 'git add a.txt');
  for (const command of ['git add :/', 'git add -A', 'git add a.txt', "git add ':(top)a.txt'"]) {
    const permissions = createPermissions({ mode: 'minimal', root: app });
    expect([command, permissions.decide({ tool: 'shell', args: { command }, rules })]).toEqual([command, 'ask']);
  }
  expect(decide('git status')).toBe('allow');
  config('[core]\n\tworktree = /\n');
  expect(offered(root, 'git add a.txt')).toEqual([{ tool: 'shell', prefix: ['git', 'add', 'a.txt'], exact: true }]);
});

test.each<[string, (repository: { root: string; outside: string; git(...args: string[]): unknown }) => void]>([
  ['its last message is a link', ({ root, outside }) => symlinkSync(join(outside, 'x'), join(root, '.git/COMMIT_EDITMSG'))],
  ['its log is a link', ({ root, outside }) => symlinkSync(join(outside, 'x'), join(root, '.git/logs/HEAD'))],
  ['a folder of its objects is a link', ({ root, outside }) => symlinkSync(outside, join(root, '.git/objects/zz'))],
  ['its settings name a filter', ({ git }) => git('config', 'filter.x.clean', './evil.sh')],
  ['its settings are those of another repository', ({ root }) => writeFileSync(join(root, '.git/commondir'), '../common\n')],
  ['its settings have a second file', ({ git }) => git('config', 'extensions.worktreeConfig', 'true')],
  [
    'its index has a path that leads out',
    ({ root }) => {
      const index = readFileSync(join(root, '.git/index'));
      index.write('../xx', index.indexOf('a.txt'), 'latin1');
      writeFileSync(join(root, '.git/index'), index);
    },
  ],
  [
    'a folder of its files has become a link',
    ({ root, outside, git }) => {
      mkdirSync(join(root, 'docs'));
      writeFileSync(join(root, 'docs/b.txt'), 'one\n');
      git('add', 'docs');
      rmSync(join(root, 'docs'), { recursive: true });
      symlinkSync(outside, join(root, 'docs'));
    },
  ],
])('git add and git commit by prefix are neither offered nor allowed if %s', async (_, change) => {
  const { root, git } = await repository();
  const outside = await newFolder();
  for (const name of ['COMMIT_EDITMSG', 'logs/HEAD']) rmSync(join(root, '.git', name), { force: true });
  const permissions = createPermissions({ mode: 'minimal', root });
  const commands = ['git add a.txt', 'git commit -m x'].map((command) => ({ tool: 'shell', args: { command } }));
  const rules = commands.flatMap((call) => permissions.suggest(call));
  expect(rules.map(({ prefix }) => prefix)).toEqual([
    ['git', 'add'],
    ['git', 'commit'],
  ]);
  for (const call of commands) expect(permissions.decide({ ...call, rules })).toBe('allow');
  change({ root, outside, git });
  for (const call of commands) {
    expect(permissions.decide({ ...call, rules })).toBe('ask');
    expect(permissions.suggest(call)).toEqual([expect.objectContaining({ exact: true })]);
  }
});

test('a rule that a person wrote for reading git commands applies if the repository names no program, or to the exact command', async () => {
  const { root, git, ranEvil } = await repository();
  mkdirSync(join(root, 'docs'));
  const decide = (prefix: string[], command: string, more: object = {}) =>
    createPermissions({ root, allow: [{ tool: 'shell', prefix, ...more }] }).decide({ tool: 'shell', args: { command } });
  expect(decide(['git', 'diff'], 'git diff')).toBe('allow');
  expect(decide(['git'], 'git push origin main')).toBe('allow');
  expect(decide(['git', 'diff'], 'cd docs && git diff')).toBeUndefined();
  git('config', 'diff.external', './evil.sh');
  expect(await ranEvil('git diff')).toBe(true);
  for (const prefix of [['git'], ['git', 'diff'], ['/usr/bin/git', 'diff', '--stat']]) {
    expect([prefix, decide(prefix, 'git diff --stat')]).toEqual([prefix, undefined]);
  }
  expect(decide(['git', 'diff'], 'git diff', { exact: true })).toBe('allow');
  expect(decide(['git'], 'git push origin main')).toBe('allow');
});

test('of several commands that take in changes only the first is allowed by prefix, because it may create a submodule of another repository', async () => {
  const { root, evil, git } = await repository();
  const inner = join(root, 'inner');
  git('init', '-q', 'inner');
  writeFileSync(join(inner, '.gitattributes'), '*.txt filter=x\n');
  writeFileSync(join(inner, 'b.txt'), 'one\n');
  git('-C', 'inner', 'add', '.');
  git('-C', 'inner', 'commit', '-q', '-m', 'one');
  appendFileSync(join(inner, '.git/config'), `[filter "x"]\n\tclean = ${evil}\n`);
  const permissions = createPermissions({ mode: 'minimal', root });
  const rules = ['add', 'commit'].map((subcommand) => ({ tool: 'shell', prefix: ['git', subcommand] }));
  const decide = (command: string) => permissions.decide({ tool: 'shell', args: { command }, rules });
  for (const command of ['git add -A; git commit -m x', 'git add -A && git commit -m x && git status', 'git commit -am x']) {
    expect([command, decide(command)]).toEqual([command, 'allow']);
  }
  for (const command of [
    'git add -A; git add -A',
    '/usr/bin/git add -A; git add a.txt',
    'git add -A; git commit -qam x',
    'git add .; ls; git commit --all -m x',
  ]) {
    expect([command, decide(command)]).toEqual([command, 'ask']);
  }
  await run(createShell(), { command: 'git add -A; touch -d 2001-01-01 inner/b.txt; git add -A' }, { workspace: root });
  expect(existsSync(join(root, 'it-ran'))).toBe(true);
});

describe('an index', () => {
  test.each([2, 3, 4])('of version %d is parsed as git parses it', async (version) => {
    const { root, git, decide } = await repository();
    for (const folder of ['src/deep', 'src-b', 'x'.repeat(200)]) mkdirSync(join(root, folder), { recursive: true });
    for (const name of ['src/a.ts', 'src/deep/b.ts', 'src-b/ä.ts', `${'x'.repeat(200)}/y`]) writeFileSync(join(root, name), 'one\n');
    git('add', '.');
    writeFileSync(join(root, 'later.ts'), 'one\n');
    // Only with such an entry it becomes version 3.
    if (version === 3) git('add', '-N', 'later.ts');
    else git('update-index', `--index-version=${version}`);
    const bytes = readFileSync(join(root, '.git/index'));
    expect(bytes.readUInt32BE(4)).toBe(version);
    const names = git('ls-files', '-z').toString('latin1').split('\0').slice(0, -1);
    expect(readGitIndex(bytes)).toEqual({ hasMoreThanFiles: false, paths: names });
    expect(decide('git status')).toBe('allow');
    for (let length = 0; length < bytes.length; length += 7) expect(readGitIndex(bytes.subarray(0, length))).toBeUndefined();
  });

  /** An index of version 4 in which each path is written whole. */
  const indexOf = (paths: string[]) => {
    const header = Buffer.from('DIRC\0\0\0\x04\0\0\0\0', 'latin1');
    header.writeUInt32BE(paths.length, 8);
    let before = 0;
    const entries = paths.map((path) => {
      const entry = Buffer.alloc(62);
      entry.writeUInt32BE(0o100644, 24);
      entry.writeUInt16BE(Math.min(path.length, 0xfff), 60);
      const dropped = [before & 0x7f];
      for (let rest = before >> 7; rest > 0; rest = (rest - 1) >> 7) dropped.unshift(0x80 | ((rest - 1) & 0x7f));
      before = path.length;
      return Buffer.concat([entry, Buffer.from(dropped), Buffer.from(`${path}\0`, 'latin1')]);
    });
    return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
  };

  test('is accepted if its paths are below the workspace, and only then', () => {
    const fine = ['a', 'a/b.ts', '..a/b..', '.gitignore', '.github/x'];
    expect(readGitIndex(indexOf(fine))?.paths).toEqual(fine);
    for (const path of [
      '../out/secret',
      '/etc/hostname',
      'a/../../x',
      'a//b',
      './a',
      'a/.',
      '.git/config',
      'a/.GIT/x',
      '',
      'x'.repeat(5_000),
    ])
      expect([path.slice(0, 20), readGitIndex(indexOf(['a', path]))]).toEqual([path.slice(0, 20), undefined]);
  });

  test('that expands a small file to large data is not read to its end', () => {
    const long = 'x'.repeat(4_000);
    expect(readGitIndex(indexOf(Array.from({ length: 100 }, () => long)))?.paths).toHaveLength(100);
    expect(readGitIndex(indexOf(Array.from({ length: 5_100 }, () => long)))).toBeUndefined();
  });

  test('that is split, cut off, or invalid, needs approval', async () => {
    const { root, git, decide } = await repository();
    const whole = readFileSync(join(root, '.git/index'));
    for (const bytes of [whole.subarray(0, -30), Buffer.concat([whole, Buffer.from('x')]), Buffer.from('DIRC')]) {
      writeFileSync(join(root, '.git/index'), bytes);
      expect(decide('git status')).toBe('ask');
    }
    writeFileSync(join(root, '.git/index'), whole);
    expect(decide('git status')).toBe('allow');
    git('update-index', '--split-index');
    expect(decide('git status')).toBe('ask');
  });
});

test.each(['.git/config', '.git/HEAD', '.git/index', '.gitmodules', '.git/packed-refs'])(
  'where %s is no regular file, or an endless one, a person is asked at once',
  async (name) => {
    const { root, decide } = await repository();
    const file = join(root, name);
    rmSync(file, { force: true });
    execFileSync('mkfifo', [file]);
    expect(decide('git status')).toBe('ask');
    rmSync(file);
    symlinkSync('/dev/zero', file);
    expect(decide('git status')).toBe('ask');
  },
  5_000,
);

test('settings that are too long to be read need approval', async () => {
  const { decide, config } = await repository();
  config(`# ${'x'.repeat(900_000)}\n`);
  expect(decide('git status')).toBe('allow');
  config(`# ${'x'.repeat(200_000)}\n`);
  expect(decide('git status')).toBe('ask');
});

describe('a git command that would read outside the workspace needs approval', () => {
  test('if a repository takes objects from another', async () => {
    const { root, decide } = await repository();
    writeFileSync(join(root, '.git/objects/info/alternates'), '/elsewhere/.git/objects\n');
    expect(decide('git log -p')).toBe('ask');
  });

  test.each(['HEAD', 'refs/heads', 'index', 'objects/info', 'info/exclude'])('if .git/%s is a link', async (name) => {
    const { root, decide } = await repository();
    expect(decide('git log -p')).toBe('allow');
    renameSync(join(root, '.git', name), join(root, 'moved'));
    symlinkSync(join(root, 'moved'), join(root, '.git', name));
    expect(decide('git log -p')).toBe('ask');
  });

  test('if a link is among the files of a rebase', async () => {
    const { root, decide } = await repository();
    mkdirSync(join(root, '.git/rebase-merge'));
    writeFileSync(join(root, '.git/rebase-merge/interactive'), '');
    expect(decide('git status')).toBe('allow');
    symlinkSync('/etc/passwd', join(root, '.git/rebase-merge/done'));
    expect(decide('git status')).toBe('ask');
  });

  test('if .git contains more than can be checked', async () => {
    const { root, decide } = await repository();
    mkdirSync(join(root, '.git/refs/heads/many'));
    for (let at = 0; at < 20_000; at += 1) writeFileSync(join(root, '.git/refs/heads/many', String(at)), '');
    expect(decide('git log')).toBe('ask');
  });

  test('if it searches behind a folder that became a link', async () => {
    const { root, git, decide } = await repository();
    const outside = await newFolder();
    mkdirSync(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'a/b/c.txt'), 'one\n');
    git('add', 'a');
    writeFileSync(join(outside, 'c.txt'), 'top secret\n');
    expect(decide('git grep secret')).toBe('allow');
    rmSync(join(root, 'a/b'), { recursive: true });
    expect(decide('git grep secret')).toBe('allow');
    symlinkSync(outside, join(root, 'a/b'));
    expect(git('grep', 'secret').toString()).toContain('top secret');
    expect(decide('git grep secret')).toBe('ask');
    for (const command of ['git ls-files --eol', 'git diff', 'git diff HEAD', 'git log -p', 'git show', 'git status']) {
      expect([command, decide(command)]).toEqual([command, 'ask']);
    }
  });
});

describe('the environment of every command', () => {
  test.each(['git status', 'git diff', 'git ls-files -m', 'git add -N .'])('runs no file system monitor: %s', async (command) => {
    const { config, ranEvil, evil } = await repository();
    config(`[core]\n\tfsmonitor = ${evil}\n`);
    expect(await ranEvil(command)).toBe(false);
    // That it would have, without.
    expect(await ranEvil(`git -c core.fsmonitor=${evil} ${command.slice(4)}`)).toBe(true);
  });

  test('runs no program that checks signatures and no hook of read-only commands, and writes no index', async () => {
    const { config, ranEvil, evil, root } = await repository();
    config(`[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ${evil}\n[core]\n\tpager = ${evil}\n[diff]\n\tautoRefreshIndex = true\n`);
    mkdirSync(join(root, '.git/hooks'), { recursive: true });
    for (const hook of ['post-index-change', 'reference-transaction']) symlinkSync(evil, join(root, '.git/hooks', hook));
    for (const command of ['git log', 'git show', 'git status', 'git diff --no-ext-diff --no-textconv']) {
      expect([command, await ranEvil(command)]).toEqual([command, false]);
    }
    // Hooks of what a person agreed to do run as ever.
    expect(await ranEvil('git add a.txt')).toBe(true);
  });

  test('finds no repository among the files of another', async () => {
    const { ranEvil, evil, root } = await repository();
    execFileSync('git', ['init', '-q', '--bare', join(root, 'docs')]);
    appendFileSync(join(root, 'docs/config'), `[core]\n\tbare = false\n\tworktree = ${root}\n\tfsmonitor = ${evil}\n`);
    expect(await ranEvil('git status', 'docs')).toBe(false);
    expect(await ranEvil('env -u GIT_CONFIG_COUNT git status', 'docs')).toBe(true);
  });

  test('does not read submodules, which have their own settings', async () => {
    const { ranEvil, evil, root, git } = await repository();
    const inner = join(root, 'inner');
    execFileSync('git', ['init', '-q', inner]);
    writeFileSync(join(inner, 'b.txt'), 'one\n');
    execFileSync('git', ['-C', inner, 'add', '.']);
    execFileSync('git', ['-C', inner, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'one']);
    git('add', 'inner');
    appendFileSync(join(inner, '.git/config'), `[core]\n\tfsmonitor = ${evil}\n`);
    for (const command of ['git status', 'git diff']) expect([command, await ranEvil(command)]).toEqual([command, false]);
    expect(await ranEvil('env -u GIT_CONFIG_COUNT git status')).toBe(true);
  });
});

describe('mode trusted', () => {
  test.each<[string, object, 'allow' | 'ask']>([
    ['write_file', { path: 'src/a.ts', content: 'the folder .git/ holds\n.git/config' }, 'allow'],
    ['write_file', { path: '.gitignore', content: 'x' }, 'allow'],
    ['write_file', { path: '.git/config', content: 'x' }, 'ask'],
    ['write_file', { path: 'docs/.GIT/config', content: 'x' }, 'ask'],
    ['write_file', { path: './sub/.git', content: 'gitdir: x' }, 'ask'],
    ['write_file', { path: 'link/config', content: 'x' }, 'ask'],
    ['write_file', { path: 'x\n/../.git/config', content: 'x' }, 'ask'],
    ['write_file', { path: 'x\n/../link/config', content: 'x' }, 'ask'],
    ['edit', { edits: [{ file: 'x\n/../link/config', old: 'a', new: 'b' }] }, 'ask'],
    ['apply_patch', { patch: '*** Begin Patch\n*** Update File: link/config\n@@\n' }, 'ask'],
    ['apply_patch', { patch: '--- a/link/config\t2026-01-01\n+++ b/link/config\n' }, 'ask'],
    ['apply_patch', { patch: 'diff --git a/link/config b/link/config\nnew mode 100755\n' }, 'ask'],
    ['apply_patch', { patch: '--- "a/\\056git/config"\n+++ "b/\\056git/config"\n' }, 'ask'],
    ['apply_patch', { patch: '--- a/src/a b.ts\n+++ b/src/a b.ts\n@@\n--- an old comment of SQL\n' }, 'allow'],
    ['edit', { file: '.git/hooks/pre-commit', old: 'a', new: 'b' }, 'ask'],
    ['apply_patch', { patch: '+++ a\n'.repeat(20_000) }, 'allow'],
    ['apply_patch', { patch: Array.from({ length: 12 }, (_, n) => `+++ ${'l/'.repeat(1_900)}x${n}\n`).join('') }, 'ask'],
    ['apply_patch', { patch: '*** Begin Patch\n*** Update File: .git/config\n@@\n' }, 'ask'],
    ['apply_patch', { patch: '--- a/.git/config\n+++ b/.git/config\n' }, 'ask'],
    ['apply_patch', { patch: '*** Begin Patch\n*** Update File: a.txt\n+see .git/config\n' }, 'allow'],
    ['write_file', { path: '.longhaul/dev.pid', content: '1' }, 'ask'],
    ['write_file', { path: './.LongHaul/dev.pid', content: '1' }, 'ask'],
    ['write_file', { path: 'kept/dev.pid', content: '1' }, 'ask'],
    ['edit', { file: '.longhaul/temporal.db', old: 'a', new: 'b' }, 'ask'],
    ['apply_patch', { patch: '*** Begin Patch\n*** Delete File: .longhaul/temporal.db\n' }, 'ask'],
    ['apply_patch', { patch: '--- a/kept/dev.pid\n+++ b/kept/dev.pid\n' }, 'ask'],
    ['write_file', { path: 'longhaul/a.ts', content: 'see .longhaul/dev.pid' }, 'allow'],
    ['read_file', { path: '.longhaul/temporal.db' }, 'ask'],
    ['read_file', { path: 'kept/temporal.db' }, 'ask'],
    ['list_dir', { path: '.longhaul' }, 'ask'],
    ['list_dir', { path: '.' }, 'allow'],
    ['read_file', { path: '.git/config' }, 'allow'],
    ['ask_human', { question: 'May I look into .longhaul/temporal.db' }, 'allow'],
  ])('edits no file of git or longhaul itself, and reads none of longhaul: %s %j: %s', async (tool, args, decision) => {
    const { root } = await repository();
    symlinkSync('.git', join(root, 'link'));
    mkdirSync(join(root, '.longhaul'));
    symlinkSync('.longhaul', join(root, 'kept'));
    expect(createPermissions({ mode: 'trusted', root }).decide({ tool, args })).toBe(decision);
  });

  test('works in a workspace that is itself in a folder of longhaul', async () => {
    const { root } = await repository();
    const inner = join(root, '.longhaul/work');
    mkdirSync(inner, { recursive: true });
    const { decide } = createPermissions({ mode: 'trusted', root: inner });
    for (const path of ['a.txt', join(inner, 'a.txt')]) {
      expect(decide({ tool: 'write_file', args: { path, content: 'x' } })).toBe('allow');
      expect(decide({ tool: 'read_file', args: { path } })).toBe('allow');
      expect(decide({ tool: 'shell', args: { command: `cat ${path}` } })).toBe('allow');
    }
  });

  test('nor by a long path, and decides quickly', async () => {
    const { root } = await repository();
    symlinkSync('.git', join(root, 'link'));
    const decide = (tool: string, args: object) => createPermissions({ mode: 'trusted', root }).decide({ tool, args });
    const deep = '/a'.repeat(1_900);
    const patch = Array.from({ length: 200 }, (_, at) => `+++ b/${at}${deep}\n`).join('');
    expect(decide('write_file', { path: `link/${'./'.repeat(2_100)}config`, content: 'x' })).toBe('ask');
    expect(decide('write_file', { path: `${'./'.repeat(2_100)}a.ts`, content: 'see x/.git/config\nand more' })).toBe('allow');
    expect(decide('write_file', { path: `a${deep}`, content: 'x'.repeat(500_000) })).toBe('ask');
    expect(decide('apply_patch', { patch })).toBe('ask');
    expect(decide('apply_patch', { patch: `--- "${'\\'.repeat(1_000_000)}\n` })).toBe('ask');
  }, 10_000);

  test('nor those of a repository that .git leads to', async () => {
    const { root } = await repository();
    renameSync(join(root, '.git'), join(root, 'moved'));
    symlinkSync('moved', join(root, '.git'));
    const decide = (path: string) =>
      createPermissions({ mode: 'trusted', root }).decide({ tool: 'write_file', args: { path, content: 'x' } });
    expect(decide('moved/config')).toBe('ask');
    expect(decide('other/config')).toBe('allow');
  });

  test.each([
    "sed -i -e 's/a/b/' .git/config",
    "sed -i -e 's/a/b/' link/config",
    "cd .git && sed -i -e 's/a/b/' config",
    "cd link; sed -i -e 's/a/b/' config",
  ])('nor does %s', async (command) => {
    const { root, decide } = await repository();
    symlinkSync('.git', join(root, 'link'));
    expect(decide(command, {}, 'trusted')).toBe('ask');
    expect(decide("sed -i -e 's/a/b/' a.txt", {}, 'trusted')).toBe('allow');
  });
});
