import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { carefulGit } from './git-safety';

/** Variables by name; one that is undefined is not set. */
export type Environment = Record<string, string | undefined>;

/**
 * What a command gets: enough to find the usual programs, and this Node, and what it was given by name. Nothing else of the worker's
 * environment, because no list of names tells which of its variables are secrets, or make programs load code.
 */
export function commandEnvironment(given: Environment, folder: string): Environment {
  const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];
  const plain = { PATH: [...new Set(path)].join(delimiter), HOME: homedir(), TMPDIR: tmpdir(), LANG: 'C.UTF-8' };
  // PWD would still name the worker's own folder.
  return { ...plain, ...unattended, ...given, ...careful, PWD: folder, OLDPWD: undefined };
}

/** Nobody sits at the other end: no pagers, no prompts, no colours that are noise to a model. */
const unattended: Environment = { TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };

/** What permissions count on, whatever was given: `cd x` and `**` mean what they mean to bash by itself, and git runs nothing of the workspace's. */
const careful: Environment = { CDPATH: undefined, BASHOPTS: undefined, ...carefulGit };
