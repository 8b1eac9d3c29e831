import { join, resolve, sep } from 'node:path';
import { bounds } from '../core/bounds';
import { isBelow, whereItLeads } from './place';

/** Arguments that hold what a file says, and not where it is. */
const texts = new Set('content contents text old new old_string new_string old_text new_text patch diff input'.split(' '));

/** The longest path that a system takes. */
const longestPath = 4_096;
/** Of a call whose paths have more characters than this in all it is not looked up where they lead. */
const mostCharacters = 200_000;

/**
 * Whether a call of a tool that edits files names one of git's own, which say what git runs. It decides by where a path leads; a patch names
 * files in its headers.
 */
export function touchesGit(args: unknown, root: string | undefined): boolean {
  const paths = pathsIn(args);
  if (paths === undefined) return true;
  // Where it leads itself; looked up once.
  const git = root === undefined ? undefined : whereItLeads(join(root, '.git'));
  let names = 0;
  return [...paths].some((path) => {
    names += resolve(root ?? sep, path).split(sep).length;
    return names > bounds.commandNames || leadsIntoGit(path, root, git);
  });
}

/** Every path that an argument may name; `undefined` where it surely names one of git's. */
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
  if (/^(\*\*\*|\+\+\+|---|diff|rename|copy) (.*[\\/\s"])?\.git([\\/\s"]|$)/im.test(args)) return undefined;
  for (const [, header = ''] of args.matchAll(/^(?:\*\*\* [\w ]+:|\+\+\+|---|diff --git|(?:rename|copy) (?:from|to)) (.+)$/gm)) {
    // In quotes, git writes characters as numbers.
    if (header.includes('"') && header.includes('\\')) return undefined;
    for (const path of pathsOfHeader(header)) found.add(path);
  }
  const isText = texts.has(name) && (args.includes('\n') || args.length > mostCharacters);
  return isText ? found : found.add(args);
}

/** By its name, and by where it leads: `.git` may be a link itself, or what a link leads to. */
function leadsIntoGit(path: string, root: string | undefined, git: string | undefined): boolean {
  const full = resolve(root ?? sep, path);
  if (isInGit(path) || isInGit(full)) return true;
  if (root === undefined || full.length > longestPath) return false;
  const target = whereItLeads(full);
  if (target === undefined) return false;
  return isInGit(target) || (git !== undefined && isBelow(target, git));
}

function isInGit(path: string): boolean {
  return /(^|[\\/])\.git([\\/]|$)/i.test(path);
}

/** What a header may name: one path, maybe with a time behind it, or two that are alike; each maybe below git's `a/` or `b/`. */
function pathsOfHeader(header: string): string[] {
  const [text = ''] = header.split('\t', 1);
  const words = text.trim().split(' ');
  const paths = [text.trim(), words[0] ?? '', words.at(-1) ?? '', text.slice(0, text.length / 2)];
  return paths.map((path) => path.trim().replace(/^"|"$/g, '')).flatMap((path) => [path, path.replace(/^[^/]+\//, '')]);
}
