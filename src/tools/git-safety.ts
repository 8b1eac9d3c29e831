import { accessSync, closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { readGitIndex } from './git-index';
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
  // A submodule's own settings are not overridden by these, nor is what `.gitmodules` says of one by this.
  'diff.ignoreSubmodules': 'dirty',
  'diff.autoRefreshIndex': 'false',
  // With more, git takes entries from where an extension of the index says that they are.
  'index.threads': '1',
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
    'lfs: repositoryformatversion',
    'lfs.*: access',
  ].flatMap((line) => {
    const [section = '', keys = ''] = line.split(': ');
    return keys.split(' ').map((key) => `${section}.${key}`);
  }),
);

/** Of each, more than a repository honestly needs, or than there is time to look at. */
const most = { settingsBytes: 1_000_000, indexBytes: 8_000_000, entries: 20_000, folders: 20_000 };

/**
 * Whether the workspace is a repository that is all in its `.git`, whose own settings are all known to run nothing, and that has no submodules,
 * in which git would run what their settings name. Where it can't be told, it is not.
 */
export function isPlainRepository(root: string): boolean {
  const folder = join(root, '.git');
  // Where git finds none here it looks for one in the folders above.
  const isComplete = ['', 'objects', 'refs'].every((name) => isUsableFolder(join(folder, name)));
  if (!isComplete || !/^(ref: refs\/|[0-9a-f]{40})/.test(textOf(join(folder, 'HEAD')) ?? '')) return false;
  if (['commondir', 'objects/info/alternates'].some((name) => exists(join(folder, name)))) return false;
  if (![join(folder, 'config'), join(root, '.gitmodules')].every((file) => isAllKnown(textOf(file)))) return false;
  return indexOf(root)?.hasMoreThanFiles === false && holdsOnlyFiles(folder, { entries: most.entries });
}

/** Whether a folder that holds files of the index is none any more, but a link: `git grep` reads what is behind it. */
export function hasLinkedFolder(root: string): boolean {
  const folders = new Set<string>();
  for (const path of indexOf(root)?.paths ?? []) {
    for (let end = path.lastIndexOf('/'); end > 0 && !folders.has(path.slice(0, end)); end = path.lastIndexOf('/', end - 1)) {
      folders.add(path.slice(0, end));
      if (folders.size > most.folders) return true;
    }
  }
  return [...folders].some((folder) => isLink(Buffer.concat([Buffer.from(`${root}/`), Buffer.from(folder, 'latin1')])));
}

function isLink(path: Buffer): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes(codeOf(error));
  }
}

function isUsableFolder(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Whether everything below a folder is a file or a folder: git reads what links lead to, and waits for what is sent through a pipe. */
function holdsOnlyFiles(folder: string, left: { entries: number }): boolean {
  try {
    const entries = opendirSync(folder);
    try {
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        left.entries -= 1;
        const isPlain = entry.isFile() || (entry.isDirectory() && holdsOnlyFiles(join(folder, entry.name), left));
        if (!isPlain || left.entries < 0) return false;
      }
    } finally {
      entries.closeSync();
    }
    return true;
  } catch {
    return false;
  }
}

function indexOf(root: string): ReturnType<typeof readGitIndex> {
  const bytes = bytesOf(join(root, '.git/index'), most.indexBytes);
  return bytes?.length === 0 ? { hasMoreThanFiles: false, paths: [] } : bytes && readGitIndex(bytes);
}

function textOf(file: string): string | undefined {
  return bytesOf(file, most.settingsBytes)?.toString('utf8');
}

/** Empty where there is no such file; `undefined` where it is too long, no regular file, or can't be read. */
function bytesOf(file: string, mostBytes: number): Buffer | undefined {
  try {
    // Without O_NONBLOCK the opening of a named pipe waits for a writer for ever.
    const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(handle);
      if (!stat.isFile() || stat.size > mostBytes) return undefined;
      const bytes = Buffer.alloc(stat.size);
      return readSync(handle, bytes) === stat.size ? bytes : undefined;
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? Buffer.alloc(0) : undefined;
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
