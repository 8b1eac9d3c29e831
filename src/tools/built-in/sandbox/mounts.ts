import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { ownFolder } from '../../../core/own-folder';
import { isBelow } from '../../permissions/place';
import { openBelow } from './open-below';

/**
 * Something that a command can see at a path. `read`, `write`: what is there on the machine, or what a handle refers to. `empty`: a folder whose
 * content ends with the command. `hidden`: a folder or file without content.
 */
export type Mount =
  | { at: string; kind: 'read' | 'write'; from?: string; handle?: number }
  | { at: string; kind: 'empty'; permissions: '0700' | '1777' }
  | { at: string; kind: 'hidden-folder' | 'hidden-file' | 'processes' | 'devices' }
  | { at: string; kind: 'link'; to: string };

/** Paths in addition to the usual ones, absolute. */
export interface MorePaths {
  readOnly: readonly string[];
  writable: readonly string[];
  hidden: readonly string[];
}

/** The number that the first handle has in the process that makes the sandbox; before it are its input, its outputs, and the watcher's pipe. */
export const firstHandle = 4;

/** Programs, libraries and their settings. Other folders may contain anybody's data. */
const system = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt'];

/** What git reads of the user's settings. Not `.git-credentials`, nor `.config/git/credentials`. */
const ofHome = ['.gitconfig', '.config/git/config', '.config/git/ignore', '.config/git/attributes'];

/** What is the same for all commands. */
export function systemMounts(): Mount[] {
  const home = homedir();
  const hasOwnHome = home !== sep && !system.some((folder) => isBelow(home, folder));
  return [
    ...system.flatMap(systemMount),
    ...privatePathsIn('/etc').flatMap(hidden),
    ...['/tmp', '/var/tmp'].map((at): Mount => ({ at, kind: 'empty', permissions: '1777' })),
    ...(hasOwnHome ? [{ at: home, kind: 'empty', permissions: '0700' } satisfies Mount] : []),
    ...ofHome.flatMap((name) => existing(join(home, name))),
  ];
}

/** Node, if it is not among the system's programs, with npm if that is beside it. */
function nodeMounts(): Mount[] {
  const folder = dirname(process.execPath);
  const modules = existing(join(folder, '../lib/node_modules'));
  return modules.length > 0 ? [...existing(folder), ...modules] : existing(process.execPath);
}

/** Name servers may be listed in a file elsewhere. */
export function networkMounts(): Mount[] {
  return existing('/etc/resolv.conf').flatMap(({ from = '' }) => (isBelow(from, '/etc') ? [] : existing(from)));
}

/** The workspace and the paths of the settings. The caller closes the handles. */
export function workspaceMounts(workspace: string, { readOnly, writable, hidden: hiddenPaths }: MorePaths): Mount[] {
  const isOutside = (path: string) => !isBelow(path, workspace);
  const others = writable.filter(isOutside).flatMap((path) => existing(path, 'write'));
  const roots = [workspace, ...others.map(({ at }) => at)];
  const rootOf = (path: string) => roots.find((root) => isBelow(path, root) && path !== root);
  return [
    // A command may have replaced what is in a root by a link to something else.
    ...nodeMounts().filter(({ at }) => rootOf(at) === undefined),
    ...readOnly.filter((path) => rootOf(path) === undefined).flatMap((path) => existing(path)),
    ...others,
    { at: workspace, kind: 'write' },
    ...[...readOnly, ...hiddenPaths]
      .flatMap((path) => foldersBetween(rootOf(path), path))
      .filter((folder) => ![...readOnly, ...hiddenPaths].some((path) => isBelow(folder, path)))
      .flatMap((folder) => pinned(rootOf(folder), folder, 'write')),
    ...roots.flatMap(gitMounts),
    ...readOnly.flatMap((path) => pinned(rootOf(path), path, 'read')),
    ...[join(workspace, ownFolder), ...hiddenPaths].flatMap(hidden),
  ];
}

/**
 * The files of a repository that make git run programs stay as they are. The repository itself is a mount, so that it can't be renamed and replaced.
 * A linked worktree has a file instead of a folder, which names its repository.
 */
function gitMounts(root: string): Mount[] {
  const git = basename(root) === '.git' ? root : join(root, '.git');
  if (!statOf(git)?.isDirectory()) return pinned(root, git, 'read');
  const kept = ['config', 'config.worktree', 'hooks'].flatMap((name) => pinned(root, join(git, name), 'read'));
  return git === root ? kept : [...pinned(root, git, 'write'), ...kept];
}

/** The folders around a path that a command could rename, so that the next command would find the path elsewhere. */
function foldersBetween(root: string | undefined, path: string): string[] {
  const names = root === undefined ? [] : relative(root, path).split(sep);
  return names.slice(0, -1).map((_, at) => join(root ?? sep, ...names.slice(0, at + 1)));
}

/** A path in a folder that commands can change: it is opened without following links, so that nothing else can take its place. */
function pinned(root: string | undefined, path: string, kind: 'read' | 'write'): Mount[] {
  const handle = root === undefined ? undefined : openBelow(root, relative(root, path).split(sep));
  return handle === undefined ? [] : [{ at: path, kind, handle }];
}

/** Root may write to the kernel's settings, in any namespace. */
const kernelSettings = ['/proc/sys', '/proc/sysrq-trigger', '/proc/fs'];

/** The options for mounts, and for the folder to start in. A more specific path takes precedence; of two mounts at one path, the last. */
export function argumentsOf(mounts: readonly Mount[], cwd: string): string[] {
  const inOrder = inPlace(mounts);
  const sealed = inOrder.filter(({ kind }) => kind === 'hidden-folder').flatMap(({ at }) => ['--remount-ro', at]);
  let handles = firstHandle;
  return [
    ...inOrder.flatMap((mount) => optionsOf(mount, () => String(handles++))),
    ...[...sealed, '--remount-ro', '/', '--chdir', cwd, '--'],
  ];
}

/** The handles of mounts, in the order in which `argumentsOf` numbers them. */
export function handlesOf(mounts: readonly Mount[]): number[] {
  return inPlace(mounts).flatMap((mount) => ('handle' in mount && mount.handle !== undefined ? [mount.handle] : []));
}

/** Why a workspace can't be shown to commands, if so. */
export function problemOfWorkspace(workspace: string): string | undefined {
  const inside = [homedir(), tmpdir()].find((folder) =>
    [folder, ...existing(folder).map(({ from }) => from)].some((path) => isBelow(path, workspace)),
  );
  return inside && `the workspace ${workspace} contains ${inside}, which commands must not see; use a folder of its own as the workspace`;
}

function inPlace(mounts: readonly Mount[]): Mount[] {
  // Those of the machine would show the worker's processes.
  const kernel: Mount[] = [
    { at: '/proc', kind: 'processes' },
    { at: '/dev', kind: 'devices' },
  ];
  const byPath = new Map([...mounts, ...kernel].map((mount) => [mount.at, mount]));
  // In the machine's own root, links are there already, and a folder that is missing can't be made.
  const isMissing = ({ at, kind }: Mount) => byPath.has(sep) && (kind === 'link' || (kind === 'empty' && !statOf(at)));
  // A folder's path is the beginning of those in it, and so sorts before them.
  return [...byPath.values()].filter((mount) => !isMissing(mount)).sort((a, b) => (a.at < b.at ? -1 : 1));
}

function optionsOf(mount: Mount, nextHandle: () => string): string[] {
  const { at } = mount;
  switch (mount.kind) {
    case 'read':
    case 'write': {
      const option = mount.kind === 'read' ? '--ro-bind' : '--bind';
      return mount.handle === undefined ? [option, mount.from ?? at, at] : [`${option}-fd`, nextHandle(), at];
    }
    case 'empty':
      return ['--perms', mount.permissions, '--tmpfs', at];
    case 'hidden-folder':
      return ['--tmpfs', at];
    case 'hidden-file':
      return ['--ro-bind', '/dev/null', at];
    case 'processes':
      return ['--proc', at, ...kernelSettings.flatMap((path) => ['--ro-bind-try', path, path])];
    case 'devices':
      return ['--dev', at];
    case 'link':
      return ['--symlink', mount.to, at];
  }
}

function systemMount(at: string): Mount[] {
  const stat = statOf(at);
  if (!stat) return [];
  return [stat.isSymbolicLink() ? { at, kind: 'link', to: readlinkSync(at) } : { at, kind: 'read' }];
}

/** At its own path what a path leads to; nothing if it does not exist. */
function existing(at: string, kind: 'read' | 'write' = 'read'): { at: string; kind: 'read' | 'write'; from: string }[] {
  try {
    return [{ at, kind, from: realpathSync(at) }];
  } catch {
    return [];
  }
}

/** Nothing for a link: what it leads to is hidden at its own path, if at all. */
function hidden(at: string): Mount[] {
  const stat = statOf(at);
  if (!stat || stat.isSymbolicLink()) return [];
  return [{ at, kind: stat.isDirectory() ? 'hidden-folder' : 'hidden-file' }];
}

/** `undefined` if there is nothing that this user could read. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Passwords and private keys, which a worker that runs as root, or in a group of theirs, could read: what not everybody may read. */
function privatePathsIn(folder: string): string[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const stat = statOf(path);
    if (!stat || stat.isSymbolicLink()) return [];
    const forAll = stat.isDirectory() ? 0o005 : 0o004;
    if ((stat.mode & forAll) !== forAll) return [path];
    return stat.isDirectory() ? privatePathsIn(path) : [];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
