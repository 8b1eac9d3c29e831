import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandEnvironment } from '../../src/tools/built-in/shell-environment';

/** Settings of a repository that would run something, and that the environment of every command takes back. */
const hostileSettings = (evil: string) => `
[core]
	fsmonitor = ${evil}
	pager = ${evil}
	hooksPath = ${evil.replace(/[^/]*$/, '')}hooks
	sshCommand = ${evil}
	editor = ${evil}
[log]
	showSignature = true
[gpg]
	program = ${evil}
[status]
	submoduleSummary = true
[diff]
	autoRefreshIndex = true
[pager]
	log = ${evil}
[alias]
	x = !${evil}
`;

/** A workspace in which any file that is followed, run or written by mistake leaves a trace; next to it are files that no command may read. */
export interface Traps {
  base: string;
  workspace: string;
  env: Record<string, string | undefined>;
  /** As it was made, with harmless settings of git. */
  reset(): void;
  /** Adds settings that git's environment has to take back. */
  makeHostile(): void;
  remove(): void;
}

export function setTraps(): Traps {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'longhaul-traps-')));
  const [workspace, pristine] = [join(base, 'workspace'), join(base, 'pristine')];
  mkdirSync(join(base, 'outside/deep'), { recursive: true });
  mkdirSync(join(base, 'home'));
  writeFileSync(join(base, 'outside/secret.txt'), 'secret\n');
  writeFileSync(join(base, 'outside/deep/secret.txt'), 'secret\n');
  const env = commandEnvironment({ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(base, 'home') }, workspace);
  build(pristine, env);
  const traps: Traps = {
    base,
    workspace,
    env,
    reset() {
      rmSync(workspace, { recursive: true, force: true });
      // With new times, so that git has to look into the files.
      cpSync(pristine, workspace, { recursive: true, verbatimSymlinks: true });
    },
    makeHostile() {
      writeFileSync(join(workspace, '.git/config'), hostileSettings(join(workspace, 'evil.sh')), { flag: 'a' });
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
  traps.reset();
  return traps;
}

function build(folder: string, env: Traps['env']): void {
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, env });
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  mkdirSync(join(folder, 'src/deep'), { recursive: true });
  git('init', '-q');
  for (const name of ['a.txt', 'b.txt', 'src/a.ts', 'src/b.ts', 'src/deep/c.ts', 'x y', 'a=b']) write(name, `one ${name}\ntwo\nthree 3\n`);
  // Names that are options or programs where a pattern puts them among the words.
  for (const name of ['-rf', '-exec', '--output=written', '-o', '1{system("touch written")}', 'e', 'w written']) write(name, 'x\n');
  write('.gitattributes', '*.txt diff=evil filter=evil\n*.ts diff=evil\n');
  git('add', '.');
  git('commit', '-q', '-m', 'one');
  write('a.txt', 'changed\n');
  git('commit', '-q', '-a', '-m', 'two');
  write('src/a.ts', 'changed too\n');
  write('evil.sh', '#!/bin/sh\ntouch written-by-evil\ncat\n');
  chmodSync(join(folder, 'evil.sh'), 0o755);
  mkdirSync(join(folder, 'hooks'));
  for (const hook of ['post-index-change', 'reference-transaction', 'pre-commit', 'post-checkout']) {
    for (const place of ['hooks', '.git/hooks']) cpSync(join(folder, 'evil.sh'), join(folder, place, hook));
  }
  for (const program of ['ls', 'cat', 'git', 'grep']) cpSync(join(folder, 'evil.sh'), join(folder, program));
  git('init', '-q', '--bare', 'docs');
  writeFileSync(join(folder, 'docs/config'), '[core]\n\tworktree = ..\n\tfsmonitor = ../evil.sh\n', { flag: 'a' });
  const link = (target: string, path: string) => symlinkSync(target, join(folder, path));
  link('../outside/secret.txt', 'out.txt');
  link('../outside', 'out');
  link('../../outside/secret.txt', 'src/out.ts');
  link('../outside/none', 'dangling');
  link('/dev/zero', 'zero');
  link('/etc/hostname', 'host');
  link('deep', 'src/inner');
  link('.git', 'dotgit');
}
