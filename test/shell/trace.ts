import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { programName } from '../../src/tools/permissions/harmless-commands';
import { readShellCommand } from '../../src/tools/permissions/shell-command';
import type { Traps } from './traps';

/** A command that is free, and whether it may write in the workspace. */
export interface Free {
  command: string;
  writes: boolean;
}

export interface Violation {
  command: string;
  what: string;
}

/** Why commands can't be traced here; `undefined` where they can. */
export function whyNoTrace(): string | undefined {
  const tried = spawnSync('strace', ['-f', '--seccomp-bpf', '-qq', '-o', '/dev/null', '-e', 'trace=execve', 'true'], { encoding: 'utf8' });
  if (tried.error) return 'strace is not installed (on Debian: apt-get install strace)';
  return tried.status === 0 ? undefined : `strace may not trace here: ${tried.stderr.trim().slice(0, 200)}`;
}

const mark = '/longhaul-mark/';

/** Runs the commands one after another, each in its own shell in the workspace; a path that does not exist marks the beginning of each. */
const driver = `i=0
while IFS= read -r -d '' command <&9; do
  [ -e ${mark}$i ]
  i=$((i + 1))
  ( exec 9<&-; eval "$command" ) </dev/null >&8 2>&8
done 9<"$1" 8>"$2"
true
`;

/** Runs commands in the workspace under strace, and tells what they did that they may not do. */
export function runTraced(traps: Traps, commands: readonly Free[], timeoutMs: number): Violation[] {
  const [list, output, trace] = ['list', 'output', 'trace'].map((name) => join(traps.base, name)) as [string, string, string];
  writeFileSync(list, commands.map(({ command }) => `${command}\0`).join(''));
  rmSync(trace, { force: true });
  const calls = '%file,%net,execve,clone,clone3,fork,vfork,fchmod,fchown,ftruncate,fsetxattr,fallocate';
  const args = ['-f', '--seccomp-bpf', '-qq', '-y', '-s', '4096', '-e', 'signal=none', '-e', `trace=${calls}`, '-o', trace];
  // Its own group, which it ends as a whole: what strace follows would outlive it.
  const ended = spawnSync(
    'timeout',
    ['-s', 'KILL', String(timeoutMs / 1_000), 'strace', ...args, 'bash', '-c', driver, 'bash', list, output],
    {
      cwd: traps.workspace,
      env: traps.env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    },
  );
  const text = existsSync(trace) ? readFileSync(trace, 'utf8') : '';
  const found = violationsIn(text, traps, commands);
  const last = [...text.matchAll(/longhaul-mark\/(\d+)/g)].length;
  if (ended.status === 0 && last === commands.length) return found;
  const what =
    ended.status === 137 || ended.signal === 'SIGKILL' ? 'does not end' : `ended the shell that ran it (${ended.stderr.slice(0, 200)})`;
  return [...found, { command: commands[last - 1]?.command ?? '(none)', what }];
}

function violationsIn(text: string, traps: Traps, commands: readonly Free[]): Violation[] {
  const found: Violation[] = [];
  const begun = new Map<string, string>();
  const cwds = new Map<string, string>();
  let at = -1;
  for (const line of text.split('\n')) {
    const [, pid = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const call = resumed ? (begun.get(pid) ?? '') + resumed[1] : rest;
    if (call.endsWith('<unfinished ...>')) {
      begun.set(pid, call.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const marked = call.includes(mark) && /longhaul-mark\/(\d+)"/.exec(call);
    if (marked) at = Number(marked[1]);
    const free = commands[at];
    if (marked || !free) continue;
    const [, name = '', args = '', result = ''] = /^(\w+)\((.*)\)\s+= (.*)$/s.exec(call) ?? [];
    const cwd = cwds.get(pid) ?? traps.workspace;
    if (/^(clone|clone3|fork|vfork)$/.test(name)) cwds.set(/^\d+/.exec(result)?.[0] ?? '', cwd);
    else if (name === 'chdir' && result.startsWith('0')) cwds.set(pid, resolve(cwd, firstText(args) ?? ''));
    const what = violation({ name, args, result, cwd }, traps, free);
    if (what !== undefined) found.push({ command: free.command, what: `${what}: ${call.slice(0, 300)}` });
  }
  return found;
}

interface Call {
  name: string;
  args: string;
  result: string;
  cwd: string;
}

const writing =
  /^(creat|unlink|unlinkat|rename|renameat|renameat2|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat|chmod|fchmod|fchmodat|fchmodat2|chown|fchown|lchown|fchownat|truncate|ftruncate|utime|utimes|utimensat|futimesat|mknod|mknodat|setxattr|lsetxattr|fsetxattr|removexattr|fallocate|mount|umount2|chroot|pivot_root)$/;

function violation(call: Call, traps: Traps, free: Free): string | undefined {
  const { name, args, result } = call;
  if (name === 'execve' || name === 'execveat')
    return isProgramOf(free.command, firstText(args) ?? '') ? undefined : 'runs another program';
  if (/^(socket|connect|bind|listen|sendto|sendmsg|socketpair)$/.test(name)) return isNameService(args) ? undefined : 'uses the network';
  if (/^(clone|clone3|fork|vfork|exit|exit_group|wait4|waitid|getcwd|kill|tgkill|chdir|fchdir|pidfd_\w+)$/.test(name)) return undefined;
  const path = pathOf(call);
  if (path === undefined) return undefined;
  const isWrite = writing.test(name) || (/^open/.test(name) && /O_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE)/.test(args));
  if (isWrite && path !== '/dev/null' && path !== '/dev/tty') return free.writes && isMine(path, traps) ? undefined : 'writes';
  if (/^(E|-1)/.test(result) && !existsSync(path)) return undefined;
  return mayRead(path, traps) ? undefined : 'reads outside';
}

/** Of the words that are run; a pipeline's and a list's with them. */
function isProgramOf(command: string, path: string): boolean {
  const read = readShellCommand(command);
  if (!read.understood || !/^\/(usr\/)?(local\/)?bin\/[^/]+$/.test(path)) return false;
  return read.commands.some(({ words }) => programName(words[0]?.text ?? '') === basename(path));
}

function isNameService(args: string): boolean {
  return /AF_UNIX/.test(args) && !/sun_path=(?!"\/(var\/)?run\/nscd\/socket")/.test(args);
}

function firstText(args: string): string | undefined {
  const found = /"((?:[^"\\]|\\.)*)"/.exec(args)?.[1];
  return found?.replace(/\\(["\\])/g, '$1');
}

/** What a call names, links followed where the call follows them. */
function pathOf({ name, args, result, cwd }: Call): string | undefined {
  const opened = /^\d+<(.*)>$/.exec(result)?.[1];
  if (opened?.startsWith('/')) return opened;
  const [, folder] = /^(?:AT_FDCWD|\d+)<([^>]*)>/.exec(args) ?? [];
  const text = firstText(args);
  // About what is open already.
  if (!text) return undefined;
  const path = resolve(folder ?? cwd, text);
  const follows = !/^(l|readlink|unlink|rename|rmdir|mkdir)/.test(name) && !/AT_SYMLINK_NOFOLLOW|O_NOFOLLOW/.test(args);
  return follows ? real(path) : join(real(dirname(path)), basename(path));
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(real(dirname(path)), basename(path));
  }
}

function isMine(path: string, { workspace }: Traps): boolean {
  return path.startsWith(`${workspace}/`) && !path.startsWith(`${workspace}/.git/`);
}

/** What programs look at before they begin: libraries, languages, names of users, time zones, and what git and file read of their own. */
const system = [
  /^\/(usr\/)?lib(32|64)?(\/|$)/,
  /^\/usr\/share\/(locale|zoneinfo|misc|file|git-core|i18n|awk)(\/|$)/,
  /^\/etc\/(ld\.so\.(cache|preload)|passwd|group|nsswitch\.conf|localtime|timezone|locale\.alias|gitconfig|magic|magic\.mime|inputrc|host\.conf|resolv\.conf)$/,
  /^\/usr\/(local\/)?bin\/[^/]+$/,
  /^\/dev\/(null|tty)$/,
  /^\/proc\/(filesystems|mounts|(self|\d+)\/(maps|status|mountinfo|mounts)|sys\/[\w/]+|meminfo|cpuinfo|stat)$/,
  /^\/sys\/devices\/system\/cpu(\/|$)/,
];

function mayRead(path: string, { workspace, base }: Traps): boolean {
  const isAbove = workspace === path || workspace.startsWith(path === '/' ? path : `${path}/`);
  return isAbove || path.startsWith(`${workspace}/`) || path.startsWith(join(base, 'home')) || system.some((known) => known.test(path));
}
