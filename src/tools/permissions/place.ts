import { type Dir, type Dirent, lstatSync, opendirSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { bounds } from '../../core/bounds';
import { ownFolder } from '../../core/own-folder';
import { codeOf } from '../built-in/workspace';
import { mayStandFor } from './patterns';
import type { ShellWord } from './shell-command';

/** Where a command may run, as far as that is known before it runs. */
export interface Place {
  /** Absolute path of the workspace. Without it, no absolute path is inside, and symbolic links can't be followed. */
  root: string | undefined;
  /** The folders, relative to the workspace, in which the command may start: after `cd x ||` it may be in either. */
  folders: readonly string[];
  /** The command follows a `git add`, which turns repositories among the files into submodules; adding changes then runs their filters. */
  mayHaveSubmodules?: true;
  lookups: Lookups;
}

/** Lookups made to judge one command. They block the process, so their number is limited. */
export interface Lookups {
  /** Paths and their real paths. */
  paths: Map<string, string | undefined>;
  /** How many folder entries may still be read for patterns. */
  entries: number;
  /** Folders and their real paths. */
  folders: Map<string, string | undefined>;
  /** How many names in the paths of folders may still be resolved. */
  names: number;
  repositories: Repositories;
}

/**
 * Whether git may read in the repositories of these folders. All calls of one answer may share it: they are judged at one moment. A later check must
 * look again.
 */
export type Repositories = Map<string, boolean>;

export function noLookups(repositories: Repositories = new Map()): Lookups {
  return { paths: new Map(), entries: bounds.commandEntries, folders: new Map(), names: bounds.commandNames, repositories };
}

/** Whether a command starts in the workspace folder itself. */
export function isAtHome({ folders }: Place): boolean {
  return folders.every((folder) => folder === '');
}

/** More than a normal command needs. */
const mostFolders = 8;

/** The folders that a path names, relative to the workspace; `undefined` if one of them may be outside. */
export function foldersAt(path: ShellWord, place: Place): string[] | undefined {
  if (path.glob || path.text.startsWith('-') || !isInside(path, place)) return undefined;
  const from = isAbsolute(path.text) ? (place.root ?? sep) : sep;
  return place.folders.map((folder) => relative(from, resolve(sep, folder, path.text)));
}

/** The place after `cd <path>`, which may have failed; `undefined` if that may be outside. */
export function behindCd(path: ShellWord, place: Place): Place | undefined {
  const folders = foldersAt(path, place);
  const all = folders && [...new Set([...place.folders, ...folders])];
  return all && all.length <= mostFolders ? { ...place, folders: all } : undefined;
}

/**
 * Whether a path leads into the workspace from every folder in which the command may be; for a pattern, whether every possible match does.
 * A path with `..` doesn't count as inside, because where it leads depends on the links before it. Neither does a path into longhaul's folder.
 */
export function isInside({ text, glob }: ShellWord, { root, folders, lookups }: Place): boolean {
  if (text === '' || text.split('/').some((name) => name === '..' || (glob && mayBe('..', name)))) return false;
  const way = root !== undefined && isAbsolute(text) ? relative(root, text) : text;
  if (way.split('/').some((name) => name.toLowerCase() === ownFolder || (glob && mayBe(ownFolder, name.toLowerCase())))) return false;
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

/** Only a pattern that begins with a dot matches such names. Before bash 5.2 it also matches `..`. */
function mayBe(name: string, pattern: string): boolean {
  return pattern.startsWith('.') && mayStandFor(pattern, name);
}

export function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function leadsInside(path: string, root: string, lookups: Lookups): boolean {
  const target = lookedUp(path, lookups);
  if (target === undefined || !isBelow(target, root)) return false;
  const own = lookedUp(join(root, ownFolder), lookups);
  return own !== undefined && !isBelow(target, own);
}

/** `whereItLeads`, once for each path of a command, up to a limit. */
function lookedUp(path: string, lookups: Lookups): string | undefined {
  if (!lookups.paths.has(path)) {
    if (lookups.paths.size >= bounds.commandPaths) return undefined;
    lookups.paths.set(path, fromItsFolder(path, lookups));
  }
  return lookups.paths.get(path);
}

/** Resolves the folder once for all paths in it. */
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

/**
 * The real path of an absolute path. If it does not exist yet, its deepest existing folder decides. `undefined` if it can't be determined.
 */
export function whereItLeads(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? whereItWouldLead(path) : undefined;
  }
}

/** Starts at the top, because a search from below is slow for a path with a thousand missing folders. */
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

/** Whether no possible match of a pattern leads out of the workspace. Every entry counts, whether it matches or not. */
function allInside(path: string, root: string, lookups: Lookups): boolean {
  const parts = path.split(sep);
  const first = parts.findIndex((part) => /[*?[]/.test(part));
  const look = (folder: string, levels: number): boolean => {
    if (!leadsInside(folder, root, lookups)) return false;
    if (levels === 0) return true;
    // Inside such a folder, only links can lead out.
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
    // Not a folder, or not readable: no name in it can match.
    return undefined;
  }
}
