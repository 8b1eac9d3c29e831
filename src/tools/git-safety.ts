import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './workspace';

/**
 * Settings that every command gets, so that git runs no program that a repository names where it only reads, and writes nothing there: they
 * come before those of the repository. Hooks need none: git runs them only where it writes.
 */
const settings: Record<string, string> = {
  'core.fsmonitor': 'false',
  // A repository within the files of another, which a clone brings along.
  'safe.bareRepository': 'explicit',
  'log.showSignature': 'false',
  'status.submoduleSummary': 'false',
  'diff.submodule': 'short',
  // A submodule's own settings are not overridden by these.
  'diff.ignoreSubmodules': 'dirty',
  'diff.autoRefreshIndex': 'false',
};

/** The environment in which git reads carefully. The settings are read by git from 2.31 on, `safe.bareRepository` from 2.38 on. */
export const carefulGit: Record<string, string> = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  ...Object.fromEntries(
    Object.entries(settings).flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
};

/** Settings of a repository that name no program which reading runs: `*` is any name between two dots. */
const known = new Set(
  [
    'core: repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev compression sharedrepository longpaths protecthfs protectntfs untrackedcache whitespace commentchar editor hookspath',
    'user: name email signingkey useconfigonly',
    'author: name email',
    'committer: name email',
    'remote.*: url pushurl fetch push tagopt prune mirror gh-resolved skipdefaultupdate',
    'submodule: active fetchjobs',
    'submodule.*: url active branch update path shallow fetchrecursesubmodules',
    'http: postbuffer',
    'http.*: extraheader',
    'commit: gpgsign template verbose cleanup status',
    'tag: gpgsign sort forcesignannotated',
    'init: defaultbranch',
    'push: default autosetupremote followtags',
    'pull: rebase ff',
    'fetch: prune prunetags recursesubmodules parallel',
    'branch: autosetupmerge autosetuprebase sort',
    'branch.*: remote merge rebase pushremote description mergeoptions vscode-merge-base github-pr-owner-number gh-merge-base',
    'merge: conflictstyle ff renames',
    'rebase: autosquash autostash updaterefs',
    'rerere: enabled autoupdate',
    'color: ui',
    'column: ui',
    'diff: renames algorithm colormoved context noprefix mnemonicprefix indentheuristic',
    'status: showuntrackedfiles short branch relativepaths showstash',
    'log: date decorate follow abbrevcommit',
    'gc: auto autodetach',
    'maintenance: auto strategy',
    'pack: threads windowmemory',
    'index: version threads',
    'feature: manyfiles',
    'extensions: objectformat',
    'lfs: repositoryformatversion',
    'lfs.*: access',
  ].flatMap((line) => {
    const [section = '', keys = ''] = line.split(': ');
    return keys.split(' ').map((key) => `${section}.${key}`);
  }),
);

/**
 * Whether the workspace is a repository whose own settings are all known to run nothing. Not one elsewhere (a `.git` that is a file or a
 * link), nor one that takes its settings from elsewhere.
 */
export function isPlainRepository(root: string): boolean {
  const folder = join(root, '.git');
  const kind = (name: string) => lstatSync(join(folder, name), { throwIfNoEntry: false });
  const isComplete = ['', 'objects', 'refs'].every((name) => kind(name)?.isDirectory());
  // Where git finds none here it looks for one in the folders above.
  if (!isComplete || kind('commondir') || !/^(ref: refs\/|[0-9a-f]{40})/.test(textOf(join(folder, 'HEAD')) ?? '')) return false;
  return [join(folder, 'config'), join(root, '.gitmodules')].every((file) => isAllKnown(textOf(file)));
}

/** Empty where there is no such file, `undefined` where it can't be read. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? '' : undefined;
  }
}

/** Line by line, and less than git reads: a line that is not understood is none that is known. */
function isAllKnown(text: string | undefined): boolean {
  let section = '';
  return (
    text?.split('\n').every((whole) => {
      const line = whole.replace(/\r$/, '').trim();
      if (line === '' || /^[#;]/.test(line)) return true;
      const [, name, inner] = /^\[([\w-]+)(?: "([^"\\\r]*)")?\]$/.exec(line) ?? [];
      if (name !== undefined) {
        section = inner === undefined ? name.toLowerCase() : `${name.toLowerCase()}.*`;
        return true;
      }
      const [, key = ''] = /^([A-Za-z][\w-]*)(?:\s*=[^\r]*[^\\\r]|\s*=)?$/.exec(line) ?? [];
      return known.has(`${section}.${key.toLowerCase()}`);
    }) === true
  );
}
