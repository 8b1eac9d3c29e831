import { bounds } from '../core/bounds';
import { bytesOf } from '../core/context/carry';
import type { PermissionRule } from '../core/tool';
import { reachesFurther } from './harmless-commands';
import { commandOf, isAssignment, isWrapper, type PermissionCall, withoutDoubles } from './permission-rules';
import { splitShellCommand } from './shell-command';

/**
 * What a person may choose to remember of a call. For a shell command: a prefix for each of its segments, narrow enough that it does not
 * allow what nobody looked at. Nothing for a segment of which that can't be said (behind `sudo`, an assignment, `rm`, `bash -c`), nor for a
 * command that no prefix would ever let through.
 */
export function suggestRules(call: PermissionCall): PermissionRule[] {
  const command = commandOf(call);
  if (command === undefined) return [{ tool: call.tool }];
  const split = splitShellCommand(command);
  if (!split.understood) return [];
  const prefixes = split.segments.map(narrowPrefix).filter((prefix) => prefix !== undefined);
  // A rule stays in the thread's state for good: one that is as long as its command is not offered.
  const rules = prefixes.map((prefix) => ({ tool: call.tool, prefix })).filter((rule) => bytesOf(rule) <= bounds.ruleBytes);
  return withoutDoubles(rules);
}

/** Commands whose first words say what they do. */
const withSubcommands = new Set(
  [
    'git',
    'jj',
    'gh',
    'npm',
    'npx',
    'pnpm',
    'yarn',
    'bun',
    'bunx',
    'deno',
    'cargo',
    'go',
    'make',
    'just',
    'docker',
    'podman',
    'kubectl',
  ].concat([
    'helm',
    'terraform',
    'pip',
    'pip3',
    'uv',
    'poetry',
    'bundle',
    'composer',
    'dotnet',
    'mvn',
    'gradle',
    'brew',
    'apt',
    'systemctl',
  ]),
);
/** Subcommands that say little without the next word. */
const withThirdWord = new Set([
  'run',
  'exec',
  'x',
  'dlx',
  'compose',
  'task',
  'tool',
  'remote',
  'stash',
  'submodule',
  'worktree',
  'config',
  'pr',
  'issue',
  'repo',
  'api',
]);
/** Programs that do whatever their argument says: worth remembering with a script's name only. */
const interpreters = new Set([
  'node',
  'tsx',
  'ts-node',
  'python',
  'python3',
  'ruby',
  'perl',
  'php',
  'lua',
  'bash',
  'sh',
  'zsh',
  'dash',
  'ksh',
]);
/** What these do to one thing says nothing of what they may do to another. */
const neverRemembered = new Set(
  [
    'cd',
    'rm',
    'rmdir',
    'mv',
    'cp',
    'dd',
    'ln',
    'tee',
    'truncate',
    'shred',
    'install',
    'tar',
    'chmod',
    'chown',
    'kill',
    'pkill',
    'killall',
  ].concat([
    'curl',
    'wget',
    'nc',
    'ssh',
    'scp',
    'rsync',
    'su',
    'eval',
    'source',
    '.',
    'trap',
    'export',
    'alias',
    'set',
    'unset',
    'pushd',
    'popd',
  ]),
);

function narrowPrefix(words: string[]): string[] | undefined {
  const [name = '', second, third] = words;
  if (isAssignment(name) || isWrapper(name) || neverRemembered.has(name) || !/^[\w.+@/-]+$/.test(name)) return undefined;
  if (reachesFurther(words)) return undefined;
  if (interpreters.has(name)) {
    if (second === '-m' && /^python/.test(name)) return plainWords(name, second, third);
    return plainWords(name, second);
  }
  if (!withSubcommands.has(name)) return [name];
  return second !== undefined && withThirdWord.has(second) ? plainWords(name, second, third) : plainWords(name, second);
}

/** The words, where all are there and each behind the first is a plain one, or `-m`. */
function plainWords(...words: (string | undefined)[]): string[] | undefined {
  const isPlain = (word: string | undefined, at: number): word is string =>
    word !== undefined && (at === 0 || word === '-m' || /^[A-Za-z0-9@./_][\w@:./-]*$/.test(word));
  return words.every(isPlain) ? words : undefined;
}
