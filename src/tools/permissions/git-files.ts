import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { bounds } from '../../core/bounds';
import { ownFolder } from '../../core/own-folder';
import { pathsOfPatch } from '../built-in/patch/parse-patch';
import { isBelow, whereItLeads } from './place';
import { makesCommandsRunCode } from './startup-files';

/** Arguments that contain a file's text, not its path. */
const texts = new Set('content contents text old new old_string new_string old_text new_text patch diff input'.split(' '));

/** The longest path that a system accepts. */
const longestPath = 4_096;
/** Longer arguments with file text are not treated as paths. */
const mostCharacters = 200_000;

/**
 * Whether a call of an editing tool names a file of git or another one that makes commands run code, or a file of longhaul. Decides by where paths
 * lead; a patch names files in its headers.
 */
export function touchesKept(args: unknown, root: string | undefined): boolean {
  return touches(args, root, ['.git', ownFolder], makesCommandsRunCode);
}

/** Like `touchesKept`, only for the files of longhaul, which contain every thread. */
export function touchesOwn(args: unknown, root: string | undefined): boolean {
  return touches(args, root, [ownFolder]);
}

/** A protected folder, and its real path, looked up once. */
interface Kept {
  name: string;
  real: string | undefined;
}

function touches(args: unknown, root: string | undefined, folders: readonly string[], isKeptName = (_path: string) => false): boolean {
  const paths = pathsIn(args);
  if (paths === undefined) return true;
  const kept = folders.map((name) => ({ name, real: root === undefined ? undefined : whereItLeads(join(root, name)) }));
  let names = 0;
  return [...paths].some((path) => {
    names += resolve(root ?? sep, path).split(sep).length;
    return names > bounds.commandNames || isKeptName(inWorkspace(path.trim(), root)) || leadsIntoOne(path, root, kept, isKeptName);
  });
}

/** Every path that an argument may name; `undefined` if it certainly names a protected one. */
function pathsIn(args: unknown, name = ''): Set<string> | undefined {
  const found = new Set<string>();
  if (typeof args === 'object' && args !== null) {
    for (const [key, value] of Object.entries(args)) {
      const paths = pathsIn(value, key);
      if (!paths) return undefined;
      for (const path of paths) found.add(path);
    }
  }
  if (typeof args !== 'string') return found;
  if (/^(\*\*\*|\+\+\+|---|diff|rename|copy) (.*[\\/\s"])?\.(git|longhaul)([\\/\s"]|$)/im.test(args)) return undefined;
  for (const [, header = ''] of args.matchAll(/^(?:\*\*\* [\w ]+:|\+\+\+|---|diff --git|(?:rename|copy) (?:from|to)) (.+)$/gm)) {
    // In quotes, git escapes characters as numbers.
    if (header.includes('"') && header.includes('\\')) return undefined;
    for (const path of pathsOfHeader(header)) found.add(path);
  }
  // The tool's own parser decides which files it writes; other tools may read headers differently.
  if (name === 'patch') for (const path of pathsOfPatch(args)) found.add(path);
  const isText = texts.has(name) && (args.includes('\n') || args.length > mostCharacters);
  return isText ? found : found.add(args);
}

/** Decides by name and by real path: `.git` may itself be a link, or the target of one. */
function leadsIntoOne(path: string, root: string | undefined, kept: readonly Kept[], isKeptName: (path: string) => boolean): boolean {
  const full = resolve(root ?? sep, path);
  if (kept.some(({ name }) => isIn(name, path, root) || isIn(name, full, root))) return true;
  if (root === undefined || full.length > longestPath) return false;
  const target = whereItLeads(full);
  if (target === undefined) return false;
  if (isKeptName(inWorkspace(target, root))) return true;
  return kept.some(({ name, real }) => isIn(name, target, root) || (real !== undefined && isBelow(target, real)));
}

/** The path from the workspace on, because the folders above it may have any name. */
function inWorkspace(path: string, root: string | undefined): string {
  return root !== undefined && isAbsolute(path) && isBelow(path, root) ? relative(root, path) : path;
}

/** The workspace itself may be inside a folder of longhaul, but not inside one of git. */
function isIn(name: string, path: string, root: string | undefined): boolean {
  const isOurs = name === ownFolder && root !== undefined && isAbsolute(path);
  const way = isOurs ? relative(isBelow(path, root) ? root : (whereItLeads(root) ?? root), path) : path;
  return way.split(/[\\/]/).some((each) => each.toLowerCase() === name);
}

/** The paths that a header may name: one path, possibly with a time after it, or two equal ones; each possibly below git's `a/` or `b/`. */
function pathsOfHeader(header: string): string[] {
  const [text = ''] = header.split('\t', 1);
  const words = text.trim().split(' ');
  const paths = [text.trim(), words[0] ?? '', words.at(-1) ?? '', text.slice(0, text.length / 2)];
  return paths.map((path) => path.trim().replace(/^"|"$/g, '')).flatMap((path) => [path, path.replace(/^[^/]+\//, '')]);
}
