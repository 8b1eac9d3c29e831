import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { mayStandFor } from './patterns';
import type { ShellWord } from './shell-command';
import { codeOf } from './workspace';

/** Where a command may be, for as far as that is known before it runs. */
export interface Place {
  /** The workspace, absolute. Without it no absolute path is inside, and symbolic links can't be followed. */
  root: string | undefined;
  /** The folders, relative to the workspace, in which the command may begin: behind `cd x ||` it may be in either. */
  folders: readonly string[];
}

/** Whether a command begins in the workspace itself. */
export function isAtHome({ folders }: Place): boolean {
  return folders.every((folder) => folder === '');
}

/** More than a command can honestly need. */
const mostFolders = 16;

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
export function isInside({ text, glob }: ShellWord, { root, folders }: Place): boolean {
  if (text === '' || text.split('/').some((name) => name === '..' || (glob && mayBeParent(name)))) return false;
  if (isAbsolute(text) && (root === undefined || !isBelow(resolve(text), resolve(root)))) return false;
  if (root === undefined) return true;
  const real = whereItLeads(root);
  return (
    real !== undefined &&
    folders.every((folder) => {
      const path = resolve(root, folder, text);
      return glob ? allInside(path, real) : leadsInside(path, real);
    })
  );
}

/** A pattern that begins with a dot stands for `..` too, but in bash from 5.2 on. */
function mayBeParent(name: string): boolean {
  return name.startsWith('.') && mayStandFor(name, '..');
}

/** The real path below a workspace's real path that a path leads to; `undefined` where it leads elsewhere or can't be followed. */
export function realPathInside(path: string, root: string): string | undefined {
  const real = whereItLeads(root);
  const target = whereItLeads(resolve(root, path));
  return real !== undefined && target !== undefined && isBelow(target, real) ? target : undefined;
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function leadsInside(path: string, root: string): boolean {
  const target = whereItLeads(path);
  return target !== undefined && isBelow(target, root);
}

/** The real path, also of what does not exist yet: the deepest folder that does decides. `undefined` where it can't be told. */
function whereItLeads(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || isLink(path) || dirname(path) === path) return undefined;
    const parent = whereItLeads(dirname(path));
    return parent === undefined ? undefined : join(parent, basename(path));
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Where a pattern could stand for more than this, it is not looked into. */
const mostEntries = 5_000;

/** Whether nothing that a pattern could stand for leads out. Every entry counts, whether it matches or not. */
function allInside(path: string, root: string): boolean {
  const parts = path.split(sep);
  const first = parts.findIndex((part) => /[*?[]/.test(part));
  const left = { entries: mostEntries };
  const look = (folder: string, levels: number): boolean => {
    if (!leadsInside(folder, root)) return false;
    if (levels === 0) return true;
    return namesIn(folder).every((name) => {
      left.entries -= 1;
      const entry = join(folder, name);
      return left.entries > 0 && leadsInside(entry, root) && (levels === 1 || look(entry, levels - 1));
    });
  };
  return look(parts.slice(0, first).join(sep) || sep, parts.length - first);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No folder, or none that may be read: nothing in it can be named.
    return [];
  }
}
