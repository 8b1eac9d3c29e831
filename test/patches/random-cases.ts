/** A source of random numbers that a seed repeats (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** The files before a call, by path. */
export type Files = Record<string, string>;

export interface Case {
  what: string;
  files: Files;
  tool: 'edit' | 'apply_patch';
  args: object;
  /** The files after the call, if it is carried out. Absent: it must be refused. */
  expected?: Files;
  /** Refusing is right too, because the call may fit at several places. */
  mayBeRefused?: true;
}

type Op = ' ' | '-' | '+';
type Script = [op: Op, text: string][];

/** Words that occur often, so that hunks fit at several places, or that are unique. */
function lineOf(random: Random, isUnique: boolean): string {
  if (isUnique) return `line ${random.below(2 ** 30)}`;
  return random.pick(['', 'a', 'b', '  c', '}', '-- d', '++ e', '@@ f', '*** g', '\\ h', 'é€😀', '$& $1']);
}

interface Change {
  script: Script;
  breaks: { before: boolean; after: boolean };
}

/** A file and what becomes of it, line by line. At least one line changes. */
function randomChange(random: Random, isUnique: boolean): Change {
  const script: Script = [];
  const length = 1 + random.below(30);
  for (let at = 0; at < length; at += 1) {
    const kind = random.below(10);
    if (kind < 7) script.push([' ', lineOf(random, isUnique)]);
    else script.push([kind < 8 ? '-' : '+', lineOf(random, isUnique)]);
  }
  if (script.every(([op]) => op === ' ')) script.push(['+', lineOf(random, true)]);
  const breaks = { before: !random.chance(15), after: !random.chance(15) };
  return { script: withoutKeptEnd(script, breaks), breaks };
}

/** The last lines, if one of them has no line break: not kept, because they differ, and not empty, because then they would be no lines. */
function withoutKeptEnd(script: Script, { before, after }: Change['breaks']): Script {
  if (before && after) return script;
  const ends = [script.findLastIndex(([op]) => op !== '+'), script.findLastIndex(([op]) => op !== '-')];
  return script.flatMap(([op, text], at): Script => {
    if (!ends.includes(at)) return [[op, text]];
    const end = text === '' ? 'end' : text;
    if (op !== ' ') return [[op, end]];
    return [
      ['-', end],
      ['+', end],
    ];
  });
}

function textOf({ script, breaks }: Change, side: 'before' | 'after'): string {
  const lines = script.filter(([op]) => op === ' ' || op === (side === 'before' ? '-' : '+')).map(([, text]) => text);
  return lines.length === 0 ? '' : lines.join('\n') + (breaks[side] ? '\n' : '');
}

/** The ranges of a script that are one hunk each: changes with up to `context` kept lines around them. */
function hunksOf(script: Script, context: number): [from: number, to: number][] {
  const hunks: [number, number][] = [];
  for (const [at, [op]] of script.entries()) {
    if (op === ' ') continue;
    const [from, to] = [Math.max(0, at - context), Math.min(script.length, at + 1 + context)];
    const last = hunks.at(-1);
    if (last && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks;
}

const count = (script: Script, op: Op) => script.filter(([each]) => each === ' ' || each === op).length;

function unifiedOf(path: string, { script, breaks }: Change, isGit: boolean): string {
  const lines = isGit ? [`diff --git a/${path} b/${path}`, `--- a/${path}`, `+++ b/${path}`] : [`--- ${path}\t2026-01-01`, `+++ ${path}`];
  const [lastOld, lastNew] = [script.findLastIndex(([op]) => op !== '+'), script.findLastIndex(([op]) => op !== '-')];
  for (const [from, to] of hunksOf(script, 3)) {
    const hunk = script.slice(from, to);
    const start = (op: Op) => count(script.slice(0, from), op) + (count(hunk, op) > 0 ? 1 : 0);
    lines.push(`@@ -${start('-')},${count(hunk, '-')} +${start('+')},${count(hunk, '+')} @@`);
    for (let at = from; at < to; at += 1) {
      const [op, text] = script[at] as Script[number];
      lines.push(op + text);
      const isLast = (op !== '+' && at === lastOld && !breaks.before) || (op !== '-' && at === lastNew && !breaks.after);
      if (isLast) lines.push('\\ No newline at end of file');
    }
  }
  return lines.join('\n');
}

function beginOf(path: string, { script }: Change): string {
  const lines = [`*** Update File: ${path}`];
  for (const [from, to] of hunksOf(script, 3)) {
    lines.push('@@', ...script.slice(from, to).map(([op, text]) => op + text));
    if (to === script.length) lines.push('*** End of File');
  }
  return lines.join('\n');
}

/** A text of the file is replaced by another. */
function editCase(random: Random): Case {
  const content = textOf(randomChange(random, random.chance(50)), 'before') || 'x';
  // Whole characters: half of one is not text.
  const characters = [...content];
  const from = random.below(characters.length);
  const old = characters.slice(from, from + 1 + random.below(30)).join('');
  const replacement = lineOf(random, random.chance(30));
  const all = random.chance(30);
  const times = content.split(old).length - 1;
  const isMissing = random.chance(20);
  const args = { path: 'f', old_string: isMissing ? `${old}\u0001` : old, new_string: replacement, replace_all: all, match: 'exact' };
  const isFound = !isMissing && times > 0 && (all || times === 1);
  return {
    what: `edit ${times} places${all ? ', all' : ''}${isMissing ? ', missing' : ''}`,
    files: { f: content },
    tool: 'edit',
    args,
    ...(isFound && { expected: { f: content.split(old).join(replacement) } }),
  };
}

const grammars = ['git', 'diff', 'begin'] as const;

function patchCase(random: Random): Case {
  const isUnique = random.chance(50);
  const grammar = random.pick(grammars);
  const paths = ['f', 'dir/g', 'h.txt'].slice(0, 1 + random.below(3));
  const changes = paths.map((path) => [path, randomChange(random, isUnique)] as const);
  // The form with Begin keeps the line break at the end of the file.
  if (grammar === 'begin') for (const [, { breaks }] of changes) breaks.before = breaks.after = true;
  const files = Object.fromEntries(changes.map(([path, change]) => [path, textOf(change, 'before')]));
  const expected = Object.fromEntries(changes.map(([path, change]) => [path, textOf(change, 'after')]));
  const parts = changes.map(([path, change]) => (grammar === 'begin' ? beginOf(path, change) : unifiedOf(path, change, grammar === 'git')));
  const fault = random.below(5);
  const other: Case = { what: '', files, tool: 'apply_patch', args: {} };
  // Without lines to find, an insertion into an empty text has no line break to keep.
  const isVague = grammar === 'begin' && changes.some(([, { script }]) => count(script, '-') === 0);
  if (fault === 0)
    return { ...other, what: `${grammar}, a line that is not there`, args: { patch: whole(grammar, withWrongLine(random, parts)) } };
  if (fault === 1)
    return { ...other, what: `${grammar}, a file in the way`, args: { patch: whole(grammar, [...parts, ...inTheWay(grammar)]) } };
  if (fault === 2 && isUnique && !isVague) {
    const drift = Array.from({ length: 1 + random.below(50) }, () => `${lineOf(random, true)}\n`).join('');
    const [path = ''] = paths;
    const [before, after] = [files[path] ?? '', expected[path] ?? ''];
    if (before !== '' && after !== '' && hasContext(changes[0]?.[1] as Change)) {
      const moved = { files: { ...files, [path]: drift + before }, expected: { ...expected, [path]: drift + after } };
      return {
        ...other,
        ...moved,
        what: `${grammar}, ${drift.split('\n').length - 1} lines further down`,
        args: { patch: whole(grammar, parts) },
      };
    }
  }
  return {
    ...other,
    what: `${grammar}, ${paths.length} files`,
    args: { patch: whole(grammar, parts) },
    expected,
    ...(grammar === 'begin' && { mayBeRefused: true as const }),
  };
}

/** Whether each hunk has a line by which it is found. */
function hasContext({ script }: Change): boolean {
  return hunksOf(script, 3).every(([from, to]) => script.slice(from, to).some(([op]) => op !== '+'));
}

function whole(grammar: (typeof grammars)[number], parts: readonly string[]): string {
  return grammar === 'begin' ? ['*** Begin Patch', ...parts, '*** End Patch', ''].join('\n') : `${parts.join('\n')}\n`;
}

/** One file becomes a hunk with a line that its file does not have. */
function withWrongLine(random: Random, parts: readonly string[]): string[] {
  const broken = random.below(parts.length);
  return parts.map((part, at) => {
    if (at !== broken) return part;
    const isBegin = part.startsWith('***');
    const head = part
      .split('\n')
      .filter((line) => /^(\*\*\* U|diff|--- |\+\+\+ )/.test(line))
      .slice(0, part.startsWith('diff') ? 3 : isBegin ? 1 : 2);
    return [...head, isBegin ? '@@' : '@@ -1,1 +1,1 @@', '-this line is not there', '+x'].join('\n');
  });
}

/** A new file, and another one below it, as if it were a folder: writing fails after the other files were written. */
function inTheWay(grammar: (typeof grammars)[number]): string[] {
  if (grammar === 'begin') return ['*** Add File: new', '+x', '*** Add File: new/y', '+x'];
  const added = (path: string) => ['--- /dev/null', `+++ ${grammar === 'git' ? 'b/' : ''}${path}`, '@@ -0,0 +1 @@', '+x'];
  return [...added('new'), ...added('new/y')];
}

export function randomCase(random: Random): Case {
  return random.chance(40) ? editCase(random) : patchCase(random);
}
