import { type Dir, type Dirent, lstatSync, opendirSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { bounds } from '../core/bounds';
import { mayStandFor } from './patterns';
import type { ShellWord } from './shell-command';
import { codeOf } from './workspace';

/** Where a command may be, for as far as that is known before it runs. */
export interface Place {
  /** The workspace, absolute. Without it no absolute path is inside, and symbolic links can't be followed. */
  root: string | undefined;
  /** The folders, relative to the workspace, in which the command may begin: behind `cd x ||` it may be in either. */
  folders: readonly string[];
  lookups: Lookups;
}

/** What was looked up to judge one command. Everything else in the process waits meanwhile, so there is an end to it. */
export interface Lookups {
  /** Paths and where they lead. */
  paths: Map<string, string | undefined>;
  /** How many entries of folders may still be looked at for patterns. */
  entries: number;
  /** Folders and where they lead. */
  folders: Map<string, string | undefined>;
  /** How many names in the paths of folders may still be followed. */
  names: number;
  /** What was found out of the workspace's repository, by the question. */
  repository: Map<string, boolean>;
}

export function noLookups(): Lookups {
  return { paths: new Map(), entries: bounds.commandEntries, folders: new Map(), names: bounds.commandNames, repository: new Map() };
}

/** Whether a command begins in the workspace itself. */
export function isAtHome({ folders }: Place): boolean {
  return folders.every((folder) => folder === '');
}

/** More than a command can honestly need. */
const mostFolders = 8;

/** The folders that a path names, relative to the workspace; `undefined` where one of them may be outside. */
export function foldersAt(path: ShellWord, place: Place): string[] | undefined {
  if (path.glob || path.text.startsWith('-') || !isInside(path, place)) return undefined;
  const from = isAbsolute(path.text) ? (place.root ?? sep) : sep;
  return place.folders.map((folder) => relative(from, resolve(sep, folder, path.text)));
}

/** The place behind `cd <path>`, which may have failed. `undefined` where that may be outside. */
export function behindCd(path: ShellWord, place: Place): Place | undefined {
  const folders = foldersAt(path, place);
  const all = folders && [...new Set([...place.folders, ...folders])];
  return all && all.length <= mostFolders ? { ...place, folders: all } : undefined;
}

/**
 * Whether a path leads into the workspace wherever the command is by then; a pattern, whether everything does that it may stand for.
 * A path with `..` in it does not count as one: where it leads depends on the links before it.
 */
export function isInside({ text, glob }: ShellWord, { root, folders, lookups }: Place): boolean {
  if (text === '' || text.split('/').some((name) => name === '..' || (glob && mayBeParent(name)))) return false;
  if (isAbsolute(text) && (root === undefined || !isBelow(resolve(text), resolve(root)))) return false;
  if (root === undefined) return true;
  const real = lookedUp(root, lookups);
  return (
    real !== undefined &&
    folders.every((folder) => {
      const path = resolve(root, folder, text);
      return glob ? allInside(path, real, lookups) : leadsInside(path, real, lookups);
    })
  );
}

/** A pattern that begins with a dot stands for `..` too, but in bash from 5.2 on. */
function mayBeParent(name: string): boolean {
  return name.startsWith('.') && mayStandFor(name, '..');
}

export function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function leadsInside(path: string, root: string, lookups: Lookups): boolean {
  const target = lookedUp(path, lookups);
  return target !== undefined && isBelow(target, root);
}

/** As `whereItLeads`, once for each path of a command, and for so many. */
function lookedUp(path: string, lookups: Lookups): string | undefined {
  if (!lookups.paths.has(path)) {
    if (lookups.paths.size >= bounds.commandPaths) return undefined;
    lookups.paths.set(path, fromItsFolder(path, lookups));
  }
  return lookups.paths.get(path);
}

/** The folder is followed once for all that is in it. */
function fromItsFolder(path: string, lookups: Lookups): string | undefined {
  const folder = dirname(path);
  if (!lookups.folders.has(folder)) {
    lookups.names -= folder.split(sep).length;
    lookups.folders.set(folder, lookups.names < 0 ? undefined : whereItLeads(folder));
  }
  const real = lookups.folders.get(folder);
  if (real === undefined) return undefined;
  const target = join(real, basename(path));
  try {
    if (!lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink()) return target;
    lookups.names -= readlinkSync(target).split(sep).length;
    return lookups.names < 0 ? undefined : whereItLeads(target);
  } catch {
    return undefined;
  }
}

/** The real path of an absolute one, also of what does not exist yet: the deepest folder that does decides. `undefined` where it can't be told. */
export function whereItLeads(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? whereItWouldLead(path) : undefined;
  }
}

/** From above, as looking for the deepest folder from below takes long where a path has a thousand of them. */
function whereItWouldLead(path: string): string | undefined {
  const names = path.split(sep).filter(Boolean);
  let real: string = sep;
  try {
    for (const [at, name] of names.entries()) {
      const next = join(real, name);
      const stat = lstatSync(next, { throwIfNoEntry: false });
      if (!stat) return join(real, ...names.slice(at));
      real = stat.isSymbolicLink() ? realpathSync(next) : next;
    }
    return real;
  } catch {
    return undefined;
  }
}

/** Whether nothing that a pattern could stand for leads out. Every entry counts, whether it matches or not. */
function allInside(path: string, root: string, lookups: Lookups): boolean {
  const parts = path.split(sep);
  const first = parts.findIndex((part) => /[*?[]/.test(part));
  const look = (folder: string, levels: number): boolean => {
    if (!leadsInside(folder, root, lookups)) return false;
    if (levels === 0) return true;
    // Of what is in a folder inside, only links can lead out.
    return everyEntry(folder, lookups, (entry) => {
      const name = join(folder, entry.name);
      const mayLeadOut = !entry.isFile() && !entry.isDirectory();
      if (mayLeadOut && !leadsInside(name, root, lookups)) return false;
      return levels === 1 || entry.isFile() || look(name, levels - 1);
    });
  };
  return look(parts.slice(0, first).join(sep) || sep, parts.length - first);
}

function everyEntry(folder: string, lookups: Lookups, isFine: (entry: Dirent) => boolean): boolean {
  const dir = opened(folder);
  try {
    for (let entry = dir?.readSync(); entry; entry = dir?.readSync()) {
      lookups.entries -= 1;
      if (lookups.entries < 0 || !isFine(entry)) return false;
    }
    return true;
  } finally {
    dir?.closeSync();
  }
}

function opened(folder: string): Dir | undefined {
  try {
    return opendirSync(folder, { bufferSize: 512 });
  } catch {
    // No folder, or none that may be read: nothing in it can be named.
    return undefined;
  }
}
