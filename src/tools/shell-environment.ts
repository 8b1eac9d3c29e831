import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { carefulGit } from './git-safety';

export type Environment = Record<string, string | undefined>;

const secretName = /(^|_)(KEYS?|APIKEYS?|TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(_|$)/i;

/**
 * An environment without the variables whose names say that they hold a secret: `*_API_KEY`, `*_TOKEN`, `*_SECRET`, `*_PASSWORD`,
 * `AWS_ACCESS_KEY_ID` and their like. It goes by names only: a password inside `DATABASE_URL` stays.
 */
export function withoutSecrets(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !secretName.test(name)));
}

/** What a command gets when the worker passes nothing of its own on: enough to find the usual programs, and this Node. */
export function plainEnvironment(): Environment {
  const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return { PATH: [...new Set(path)].join(delimiter), HOME: homedir(), TMPDIR: tmpdir(), LANG: 'C.UTF-8' };
}

/** Nobody sits at the other end: no pagers, no prompts, no colours that are noise to a model. `cd x` and `**` mean what they mean to bash by itself. */
export const unattended: Environment = {
  TERM: 'dumb',
  NO_COLOR: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  CDPATH: undefined,
  BASHOPTS: undefined,
  ...carefulGit,
};
