import { accessSync, closeSync, constants, type Dirent, fstatSync, lstatSync, opendirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../built-in/workspace';
import { readGitIndex } from './git-index';
import { isAtHome, type Place, type Repositories } from './place';

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

/**
 * Limits, each above what a repository normally needs and within the time available. `names`: how many names the paths of all folders in `.git`, and
 * of all folders of tracked files, may have together, because a system resolves a path name by name.
 */
const most = { settingsBytes: 1_000_000, indexBytes: 8_000_000, entries: 20_000, folders: 20_000, names: 300_000 };

/**
 * Whether the workspace is a repository that is entirely in its `.git`, has only settings that are known to run nothing, and has no
 * submodules, whose settings could name programs; and none of its folders has become a link. In case of doubt, it is not. Pauses after each step, as a
 * large repository takes longer than the event loop may be blocked.
 */
function* isPlainRepository(root: string): Generator<void, boolean> {
  const folder = join(root, '.git');
  if (!hasRepository(folder)) return false;
  if (['commondir', 'objects/info/alternates'].some((name) => exists(join(folder, name)))) return false;
  for (const file of [join(folder, 'config'), join(root, '.gitmodules')]) {
    if (!isAllKnown(textOf(file))) return false;
    yield;
  }
  const left = { entries: most.entries, names: most.names };
  if (!(yield* holdsOnlyFiles(folder, left))) return false;
  const index = indexOf(root);
  yield;
  return index?.hasMoreThanFiles === false && !(yield* hasLinkedFolder(root, index.paths, left));
}

/** If git finds no repository here, it searches the parent folders. */
function hasRepository(folder: string): boolean {
  const isComplete = ['', 'objects', 'refs'].every((name) => isUsableFolder(join(folder, name)));
  return isComplete && /^(ref: refs\/|[0-9a-f]{40})/.test(textOf(join(folder, 'HEAD')) ?? '');
}

/** Whether git finds the workspace's own repository in that place, and so reads nothing elsewhere and runs nothing. */
export function hasPlainRepository(place: Place): boolean {
  const { root, lookups } = place;
  if (root === undefined || !isAtHome(place)) return false;
  for (const _ of lookAtRepository(root, lookups.repositories));
  return lookups.repositories.get(root) === true;
}

/** Looks at a repository, unless it was looked at before. Pauses often. */
export function* lookAtRepository(root: string, repositories: Repositories): Generator<void, void> {
  if (!repositories.has(root)) repositories.set(root, yield* isPlainRepository(root));
}

/**
 * Whether a folder of tracked files has been replaced by a link: `git grep` and `git ls-files --eol` read the files behind it, other commands its
 * `.gitattributes`.
 */
function* hasLinkedFolder(root: string, paths: readonly string[], left: { names: number }): Generator<void, boolean> {
  const start = Buffer.from(`${root}/`);
  /** Whether each folder exists. What is in a missing one is missing, too. */
  const folders = new Map([['', true]]);
  for (const path of paths) {
    for (const folder of newFolders(path, folders)) {
      left.names -= folder.split('/').length;
      if (folders.size > most.folders || left.names < 0) return true;
      const kind = folders.get(parentOf(folder)) ? kindOf(Buffer.concat([start, Buffer.from(folder, 'latin1')])) : 'missing';
      if (kind === 'link') return true;
      folders.set(folder, kind === 'folder');
      yield;
    }
    yield;
  }
  return false;
}

/** The folders above a path that are not known yet, from the top. */
function newFolders(path: string, known: ReadonlyMap<string, boolean>): string[] {
  const found: string[] = [];
  for (let folder = parentOf(path); !known.has(folder); folder = parentOf(folder)) found.unshift(folder);
  return found;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function kindOf(path: Buffer): 'folder' | 'link' | 'missing' {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isSymbolicLink() ? 'link' : stat?.isDirectory() ? 'folder' : 'missing';
  } catch (error) {
    return codeOf(error) === 'ENOTDIR' ? 'missing' : 'link';
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
function* holdsOnlyFiles(folder: string, left: { entries: number; names: number }): Generator<void, boolean> {
  // Folders that are found during the loop are read in turn.
  const found = [{ path: folder, depth: 1 }];
  for (const { path, depth } of found) {
    left.names -= depth;
    const entries = left.names < 0 ? undefined : entriesOf(path, left.entries);
    if (!entries?.every((entry) => entry.isFile() || entry.isDirectory())) return false;
    left.entries -= entries.length;
    for (const entry of entries) if (entry.isDirectory()) found.push({ path: join(path, entry.name), depth: depth + 1 });
    yield;
  }
  return true;
}

/** `undefined` if the folder has more entries, or can't be read. */
function entriesOf(folder: string, mostEntries: number): Dirent[] | undefined {
  try {
    const entries: Dirent[] = [];
    const dir = opendirSync(folder, { bufferSize: 512 });
    try {
      for (let entry = dir.readSync(); entry; entry = dir.readSync()) {
        if (entries.push(entry) > mostEntries) return undefined;
      }
    } finally {
      dir.closeSync();
    }
    return entries;
  } catch {
    return undefined;
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
