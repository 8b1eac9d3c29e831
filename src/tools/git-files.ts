import { join, resolve, sep } from 'node:path';
import { isBelow, whereItLeads } from './place';

/** Arguments that hold what a file says, and not where it is. */
const texts = new Set('content contents text old new old_string new_string old_text new_text patch diff input'.split(' '));

/** The longest path that a system takes. */
const longestPath = 4_096;
/** Of a patch that may name more files than this it is not looked up where they are. */
const mostPaths = 1_000;

/**
 * Whether a call of a tool that edits files names one of git's own, which say what git runs. It decides by where a path leads; a patch names
 * files in its headers. `name` is that of the argument.
 */
export function touchesGit(args: unknown, root: string | undefined, name = ''): boolean {
  if (typeof args === 'object' && args !== null) return Object.entries(args).some(([key, value]) => touchesGit(value, root, key));
  if (typeof args !== 'string') return false;
  const isText = args.includes('\n') && texts.has(name);
  return patchesGit(args, root) || (!isText && leadsIntoGit(args, root));
}

/** By its name, and by where it leads: `.git` may be a link itself, or what a link leads to. */
function leadsIntoGit(path: string, root: string | undefined): boolean {
  const full = resolve(root ?? sep, path);
  if (isInGit(path) || isInGit(full)) return true;
  if (root === undefined || full.length > longestPath) return false;
  const target = whereItLeads(full);
  if (target === undefined) return false;
  const git = whereItLeads(join(root, '.git'));
  return isInGit(target) || (git !== undefined && isBelow(target, git));
}

function isInGit(path: string): boolean {
  return /(^|[\\/])\.git([\\/]|$)/i.test(path);
}

function patchesGit(text: string, root: string | undefined): boolean {
  if (/^(\*\*\*|\+\+\+|---|diff|rename|copy) (.*[\\/\s"])?\.git([\\/\s"]|$)/im.test(text)) return true;
  const paths = new Set<string>();
  for (const [, header = ''] of text.matchAll(/^(?:\*\*\* [\w ]+:|\+\+\+|---|diff --git|(?:rename|copy) (?:from|to)) (.+)$/gm)) {
    // In quotes, git writes characters as numbers.
    if (/^".*\\|\\.*"$/.test(header)) return true;
    for (const path of pathsIn(header)) paths.add(path);
    if (paths.size > mostPaths) return true;
  }
  return [...paths].some((path) => leadsIntoGit(path, root));
}

/** What a header may name: one path, maybe with a time behind it, or two that are alike; each maybe below git's `a/` or `b/`. */
function pathsIn(header: string): string[] {
  const [text = ''] = header.split('\t', 1);
  const words = text.trim().split(' ');
  const paths = [text.trim(), words[0] ?? '', words.at(-1) ?? '', text.slice(0, text.length / 2)];
  return paths.map((path) => path.trim().replace(/^"|"$/g, '')).flatMap((path) => [path, path.replace(/^[^/]+\//, '')]);
}
