import { ToolFailure } from '../defining/tool-failure';

/**
 * Whether a path, relative to the folder of the search, matches a glob in the syntax of `.gitignore` with `{a,b}`, as ripgrep's `--glob`: without a
 * slash it is a name in any folder, and with `!` in front, everything else matches. The time is bounded by the product of both lengths, unlike that
 * of a regular expression with several `*`.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const isNegated = glob.startsWith('!');
  const pattern = isNegated ? glob.slice(1) : glob;
  const isAnchored = pattern.slice(0, -1).includes('/');
  const plain = pattern.replace(/^\//, '');
  const automaton = automatonOf(isAnchored ? plain : `**/${plain}`, glob);
  return (path) => accepts(automaton, path) !== isNegated;
}

type Test = (char: string) => boolean;

/** A nondeterministic automaton. It begins in state 0. */
interface Automaton {
  /** For each state, where a character leads; without a test, where no character is needed. */
  states: { test?: Test; to: number }[][];
  end: number;
}

const any: Test = () => true;
const slash: Test = (char) => char === '/';
const name: Test = (char) => char !== '/';

function automatonOf(pattern: string, glob: string): Automaton {
  const states: Automaton['states'] = [[]];
  const groups: { from: number; ends: number[] }[] = [];
  let end = 0;
  const add = () => states.push([]) - 1;
  const lead = (from: number, to: number, test?: Test) => void states[from]?.push({ to, ...(test && { test }) });
  const step = (test: Test) => {
    const to = add();
    lead(end, to, test);
    end = to;
  };
  /** A state without a test in front, so that what is before it is not repeated. */
  const begin = (from: number) => {
    const to = add();
    lead(from, to);
    return to;
  };
  const repeat = (test: Test) => {
    end = begin(end);
    lead(end, end, test);
  };
  const folders = () => {
    end = begin(end);
    const inName = add();
    lead(end, inName, name);
    lead(inName, inName, name);
    lead(inName, end, slash);
  };
  for (let at = 0; at < pattern.length; ) {
    const [piece, kind] = pieceAt(pattern, at);
    at += piece.length;
    const group = groups.at(-1);
    if (kind === '**/') folders();
    else if (kind === '/**') {
      step(slash);
      step(any);
      repeat(any);
    } else if (kind === '*') repeat(name);
    else if (kind === '?') step(name);
    else if (kind === '{') {
      groups.push({ from: end, ends: [] });
      end = begin(end);
    } else if (kind === ',' && group) {
      group.ends.push(end);
      end = begin(group.from);
    } else if (kind === '}') {
      if (!group) throw new ToolFailure(`Error: the glob ${glob} has a } without a {.`);
      groups.pop();
      const joined = begin(end);
      for (const each of group.ends) lead(each, joined);
      end = joined;
    } else step(testOf(piece, kind));
  }
  if (groups.length > 0) throw new ToolFailure(`Error: the glob ${glob} has a { without a }.`);
  return { states, end };
}

function accepts({ states, end }: Automaton, path: string): boolean {
  let current = reached(states, [0]);
  for (const char of path) {
    const next: number[] = [];
    for (const state of current) for (const { test, to } of states[state] ?? []) if (test?.(char)) next.push(to);
    current = reached(states, next);
    if (current.size === 0) return false;
  }
  return current.has(end);
}

/** The states that can be reached from these without a character, and these. A set also has what is added to it while it is walked through. */
function reached(states: Automaton['states'], from: readonly number[]): Set<number> {
  const all = new Set(from);
  for (const state of all) for (const { test, to } of states[state] ?? []) if (!test) all.add(to);
  return all;
}

/** The piece of a glob at a position, and what it is: a sign, a class, an escape or text. */
function pieceAt(pattern: string, at: number): [piece: string, kind: string] {
  const rest = pattern.slice(at, at + longestClass);
  const isFirst = at === 0 || pattern[at - 1] === '/';
  if (isFirst && rest.startsWith('**/')) return ['**/', '**/'];
  if (rest === '/**') return ['/**', '/**'];
  const stars = /^\*+/.exec(rest)?.[0];
  if (stars) return [stars, '*'];
  const kind = rest[0] as string;
  if (kind === '\\' && rest.length > 1) return [`\\${firstChar(rest.slice(1))}`, 'escape'];
  const chars = kind === '[' ? /^\[[!^]?\]?[^\]]*\]/.exec(rest)?.[0] : undefined;
  if (chars) return [chars, 'class'];
  return '?{},'.includes(kind) ? [kind, kind] : [firstChar(rest), 'text'];
}

/** The most characters of `[…]`. */
const longestClass = 1_000;

function firstChar(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) as number);
}

function testOf(piece: string, kind: string): Test {
  if (kind !== 'class') {
    const text = kind === 'escape' ? piece.slice(1) : piece;
    return (char) => char === text;
  }
  const isNegated = /^\[[!^]/.test(piece);
  const inner = piece
    .slice(isNegated ? 2 : 1, -1)
    .replace(/[\\[\]^&~]/g, '\\$&')
    .replace(/^-|-$/g, '\\-');
  const inClass = new RegExp(`^[${isNegated ? '^' : ''}${inner}]$`, 'su');
  return (char) => name(char) && inClass.test(char);
}
