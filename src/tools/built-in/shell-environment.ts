import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { carefulGit } from '../permissions/git-safety';

/** The folders of the system's programs. */
export const systemFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];

/** Variables by name; `undefined` means not set. */
export type Environment = Record<string, string | undefined>;

/**
 * The environment of a command: enough to find common programs and this Node, plus the variables given by name. Nothing else of the worker's
 * environment is passed on, because no list of names covers all variables that are secrets or make programs load code.
 */
export function commandEnvironment(given: Environment, folder: string, temporary: string = tmpdir()): Environment {
  const path = [dirname(process.execPath), ...systemFolders];
  const plain = { PATH: [...new Set(path)].join(delimiter), HOME: homedir(), TMPDIR: temporary, LANG: 'C.UTF-8' };
  // Otherwise PWD would name the worker's own folder.
  return { ...plain, ...unattended, ...given, ...careful, PWD: folder, OLDPWD: undefined };
}

/** For non-interactive use: no pagers, no prompts, and no colours, which are noise to a model. */
const unattended: Environment = { TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };

/**
 * Settings that permissions rely on, so they override the given ones: `cd x` and `**` have their default meaning, and git runs no program of the
 * workspace.
 */
const careful: Environment = { CDPATH: undefined, BASHOPTS: undefined, ...carefulGit };
