import { ToolFailure } from '../defining/tool-failure';

/**
 * Whether a path, relative to the folder of the search, matches a glob in the syntax of `.gitignore` with `{a,b}`, as ripgrep's `--glob`: without a
 * slash it is a name in any folder, and with `!` in front, everything else matches.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const isNegated = glob.startsWith('!');
  const pattern = isNegated ? glob.slice(1) : glob;
  const isAnchored = pattern.slice(0, -1).includes('/');
  const plain = pattern.replace(/^\//, '');
  const source = sourceOf(isAnchored ? plain : `**/${plain}`, glob);
  const matcher = new RegExp(`^${source}$`, 'su');
  return (path) => matcher.test(path) !== isNegated;
}

function sourceOf(pattern: string, glob: string): string {
  let [source, depth] = ['', 0];
  for (let at = 0; at < pattern.length; ) {
    const [piece, kind] = pieceAt(pattern, at);
    at += piece.length;
    if (kind === '{') depth += 1;
    if (kind === '}') depth -= 1;
    if (depth < 0) throw new ToolFailure(`Error: the glob ${glob} has a } without a {.`);
    source += kind === ',' && depth === 0 ? ',' : (inRegExp[kind] ?? literal(piece, kind));
  }
  if (depth > 0) throw new ToolFailure(`Error: the glob ${glob} has a { without a }.`);
  return source;
}

const inRegExp: Record<string, string> = {
  '**/': '(?:[^/]+/)*',
  '/**': '/.+',
  '*': '[^/]*',
  '?': '[^/]',
  '{': '(?:',
  '}': ')',
  ',': '|',
};

/** The piece of a glob at a position, and what it is: a key of `inRegExp`, a class, an escape or text. */
function pieceAt(pattern: string, at: number): [piece: string, kind: string] {
  const rest = pattern.slice(at);
  const isFirst = at === 0 || pattern[at - 1] === '/';
  if (isFirst && rest.startsWith('**/')) return ['**/', '**/'];
  if (rest === '/**') return ['/**', '/**'];
  const stars = /^\*+/.exec(rest)?.[0];
  if (stars) return [stars, '*'];
  const kind = rest[0] as string;
  if (kind === '\\' && rest.length > 1) return [rest.slice(0, 2), 'escape'];
  const chars = kind === '[' ? /^\[[!^]?\]?[^\]]*\]/.exec(rest)?.[0] : undefined;
  if (chars) return [chars, 'class'];
  return kind in inRegExp ? [kind, kind] : [String.fromCodePoint(rest.codePointAt(0) as number), 'text'];
}

function literal(piece: string, kind: string): string {
  if (kind === 'class') {
    const isNegated = /^\[[!^]/.test(piece);
    const inner = piece
      .slice(isNegated ? 2 : 1, -1)
      .replace(/[\\[\]^&~]/g, '\\$&')
      .replace(/^-|-$/g, '\\-');
    return `(?!/)[${isNegated ? '^' : ''}${inner}]`;
  }
  const text = kind === 'escape' ? piece.slice(1) : piece;
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
