import { accessSync, closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../built-in/workspace';
import { readGitIndex } from './git-index';
import { isAtHome, ofRepository, type Place } from './place';

/**
 * Settings of every command, so that git, when it only reads, runs no program that a repository names, and writes nothing there. They override
 * the repository's settings. Hooks need no setting: git runs them only when it writes.
 */
const settings: Record<string, string> = {
  'core.fsmonitor': 'false',
  // A bare repository among the files of another repository, which a clone may bring.
  'safe.bareRepository': 'explicit',
  'log.showSignature': 'false',
  'status.submoduleSummary': 'false',
  'diff.submodule': 'short',
  // This overrides neither a submodule's own settings nor its entry in `.gitmodules`.
  'diff.ignoreSubmodules': 'dirty',
  'diff.autoRefreshIndex': 'false',
  // With more threads, git reads entries from the positions that an extension of the index gives.
  'index.threads': '1',
};

/** The environment with these settings. Git reads them from 2.31 on, `safe.bareRepository` from 2.38 on. */
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

/** Repository settings with which reading runs no program: `*` is any name between two dots. */
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

/** Limits, each above what a repository normally needs and within the time available. */
const most = { settingsBytes: 1_000_000, indexBytes: 8_000_000, entries: 20_000, folders: 20_000 };

/**
 * Whether the workspace is a repository that is entirely in its `.git`, has only settings that are known to run nothing, and has no
 * submodules, whose settings could name programs. In case of doubt, it is not.
 */
function isPlainRepository(root: string): boolean {
  const folder = join(root, '.git');
  if (!hasRepository(folder)) return false;
  if (['commondir', 'objects/info/alternates'].some((name) => exists(join(folder, name)))) return false;
  if (![join(folder, 'config'), join(root, '.gitmodules')].every((file) => isAllKnown(textOf(file)))) return false;
  return indexOf(root)?.hasMoreThanFiles === false && holdsOnlyFiles(folder, { entries: most.entries });
}

/** If git finds no repository here, it searches the parent folders. */
function hasRepository(folder: string): boolean {
  const isComplete = ['', 'objects', 'refs'].every((name) => isUsableFolder(join(folder, name)));
  return isComplete && /^(ref: refs\/|[0-9a-f]{40})/.test(textOf(join(folder, 'HEAD')) ?? '');
}

/** Whether git finds the workspace's own repository in that place, and so reads nothing elsewhere and runs nothing. */
export function hasPlainRepository(place: Place): boolean {
  return isAtHome(place) && ofRepository(place, 'plain', isPlainRepository) && !ofRepository(place, 'linked', hasLinkedFolder);
}

/**
 * Whether a folder of tracked files has been replaced by a link: `git grep` and `git ls-files --eol` read the files behind it, other commands its
 * `.gitattributes`.
 */
function hasLinkedFolder(root: string): boolean {
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

/** Whether a folder contains only files and folders: git follows links, and blocks on pipes. */
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

/** Empty if the file doesn't exist; `undefined` if it is too long, not a regular file, or can't be read. */
function bytesOf(file: string, mostBytes: number): Buffer | undefined {
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer forever.
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

/** Reads line by line, with a stricter grammar than git's: a line that is not understood counts as an unknown setting. */
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
