import { basename } from 'node:path';
import { bounds } from '../../core/bounds';
import type { PermissionRule } from '../../core/tool';
import { mayNameAlias, namesAlias, setsAlias } from './git-aliases';
import { isPattern, mayStandFor, withoutGroups } from './patterns';
import { commandOf, hostOf, originOf, type PermissionCall } from './permission-rules';
import { readShellCommand, roughCommands } from './shell-command';
import { readingsOf } from './shell-expansions';
import { isWrapper, runsItsWords } from './wrappers';

export interface Broken<R> {
  rule: R;
  /** The rule is only possibly broken: the command is too long to be examined, or its braces expand to too much. */
  unclear?: true;
}

/** The first rule that a call breaks. A shell command breaks a rule if one of its commands does, or if that can't be ruled out. */
export function brokenRule<R extends PermissionRule>(rules: readonly R[], call: PermissionCall): Broken<R> | undefined {
  const own = rules.filter((rule) => rule.tool === call.tool && (rule.host === undefined || isAtHost(call, rule.host)));
  const command = commandOf(call);
  const read = command === undefined || own.every(({ prefix }) => !prefix) ? nothing : commandsWithin(command);
  const sure = own.find(({ prefix }) => !prefix || isBegun(read, prefix));
  if (sure || read.whole) return sure && { rule: sure };
  const text = roughText(command ?? '');
  const unclear = own.find(({ prefix = [] }) => mayHold(text, prefix));
  return unclear && { rule: unclear, unclear: true };
}

/** A rule without a port applies to all ports, and one without a scheme to all schemes. */
function isAtHost(call: PermissionCall, denied: string): boolean {
  const withoutPort = (host: string | undefined) => host?.replace(/:\d+$/, '');
  const [host, origin] = [hostOf(call), originOf(call)];
  return [host, withoutPort(host), origin, withoutPort(origin)].includes(denied);
}

/** Where a command may begin: an index in a list of words. */
interface Start {
  words: readonly string[];
  at: number;
}

/** The commands that may be in a text, arranged so that many rules can be compared with them. */
interface Within {
  /** By the name of the program. */
  named: Map<string, Start[]>;
  /** Those that begin with an option, to which a program may be attached. */
  attached: Start[];
  /** Those whose program is a pattern, by the pattern. */
  patterns: Map<string, Start[]>;
  /** A variable is set with which any subcommand of git can be any other. */
  setsAlias: boolean;
  /** Whether the whole command was examined. */
  whole: boolean;
}

function nothingFound(whole: boolean): Within {
  return { named: new Map(), attached: [], patterns: new Map(), setsAlias: false, whole };
}

const nothing = nothingFound(true);

/**
 * Everything in a command that may be a command of its own: after assignments, keywords, wrappers and paths, in the text that a shell is given to
 * run, and, if the command is not understood, wherever one could begin. Does not follow variables, scripts and other interpreters.
 */
function commandsWithin(command: string): Within {
  if (command.length > bounds.commandChars) return nothingFound(false);
  const within = nothingFound(true);
  const lists = new Set<string>();
  const braces = { left: bounds.commandBraceChars };
  const texts = new Set([command]);
  let left = bounds.commandNestedChars;
  let whole = true;
  // Texts found during the loop are examined in turn.
  for (const text of texts) {
    left -= text.length;
    if (left < 0) break;
    for (const other of otherReadings(text)) texts.add(other);
    const read = readShellCommand(text);
    const found = read.understood
      ? { lists: read.commands.map(({ words }) => words.map((word) => word.text)), whole: true }
      : roughCommands(text, braces);
    whole &&= found.whole;
    for (const list of found.lists) {
      const words = list.filter((word) => !/^:{3,4}\+?$/.test(word));
      const before = lists.size;
      if (lists.add(words.join('\0')).size === before) continue;
      const { starts, wrapped } = startsIn(words);
      within.setsAlias ||= words.some(setsAlias);
      for (const at of starts) addStart(within, { words, at });
      const inWords = words.filter((word) => (wrapped ? isText(word) : substitutes.test(word)));
      // `eval`, `env -S` and others join their words with blanks, and run the result as a command.
      const joined = wrapped && inWords.length > 0 ? [words.join(' ')] : [];
      for (const inner of [...inWords, ...joined]) texts.add(inner).add(inner.replace(/\\[_tnrfv]/g, ' '));
    }
  }
  return { ...within, whole: whole && left >= 0 && braces.left >= 0 };
}

function addStart({ named, attached, patterns }: Within, start: Start): void {
  const word = start.words[start.at] ?? '';
  const base = basename(withoutGroups(word));
  append(named, base, start);
  if (word.startsWith('-')) attached.push(start);
  if (word !== '*' && isPattern(base)) append(patterns, base, start);
}

function append(starts: Map<string, Start[]>, name: string, start: Start): void {
  const before = starts.get(name);
  if (before) before.push(start);
  else starts.set(name, [start]);
}

/**
 * Substitutions that run even in a quoted word: in an array index, which `test -v`, `printf -v`, `declare` and every arithmetic expression
 * evaluate.
 */
const substitutes = /`|\$\(|\$\{[\s|]/;

/**
 * Other readings of a text: without expansions that split its words, and with escapes in the parser's form, as bash also accepts `\x{68}` in
 * `$'…'`.
 */
function otherReadings(text: string): string[] {
  const plain = text.replace(/\\x\{([\da-fA-F]*)\}?/g, (_, digits: string) => `\\x${digits.slice(-2).padStart(2, '0')}`);
  return [plain, ...(/[$`]/.test(text) ? readingsOf(plain) : [])];
}

/** Whether a word may contain a command. Plain words are examined in their place. */
function isText(word: string): boolean {
  return !/^[\w.:=@%+,/-]*$/.test(word);
}

/**
 * Indexes at which commands may begin: the first word, after assignments and keywords, after an option that takes a command, and anywhere after a
 * wrapper.
 */
function startsIn(words: readonly string[]): { starts: number[]; wrapped: boolean } {
  const starts: number[] = [];
  let first = true;
  let wrapped = false;
  for (const [at, word] of words.entries()) {
    if (first || wrapped || /^-(exec|ok)/.test(words[at - 1] ?? '')) {
      starts.push(at);
      const name = basename(word);
      wrapped ||= isWrapper(name) || runsItsWords(name);
    }
    first &&= isAssignment(word) || keywords.has(word);
  }
  return { starts, wrapped };
}

function isAssignment(word: string): boolean {
  return /^\w+\+?=/.test(word);
}

/** Keywords of compound commands. */
const keywords = new Set('if then else elif fi for while until do done case esac select function coproc ! [ [['.split(' '));

/** Whether a command begins with the words of a rule. Options between them, with their values, are skipped: `git -C x push` is `git push`. */
function isBegun(within: Within, [program = '', ...rest]: readonly string[]): boolean {
  const name = basename(program);
  const itself = startsOf(within, name);
  if (name === 'git' && within.setsAlias && itself.length > 0) return true;
  if (someFollow(itself, name, rest)) return true;
  const [subcommand, ...more] = rest;
  return subcommand !== undefined && someFollow(within.named.get(`${name}-${subcommand}`) ?? [], name, more);
}

/** Where a program may begin: by its name, by a path or pattern that may match it, or attached to an option of a wrapper: `env -Sgit`. */
function startsOf({ named, attached, patterns }: Within, name: string): Start[] {
  const isAttached = ({ words, at }: Start) => {
    const word = words[at] ?? '';
    return word.endsWith(name) && /^-(-[\w-]+=|[a-zA-Z]+)$/.test(word.slice(0, -name.length));
  };
  const matching = [...patterns].filter(([pattern]) => mayStandFor(pattern, name)).flatMap(([, starts]) => starts);
  return [...(named.get(name) ?? []), ...attached.filter(isAttached), ...matching];
}

function someFollow(starts: readonly Start[], program: string, rest: readonly string[]): boolean {
  // Positions already examined from another start: after `xargs`, each of thousands of words may be one.
  const seen = new Map<readonly string[], Set<number>>();
  return starts.some(({ words, at }) => {
    const positions = seen.get(words) ?? new Set();
    seen.set(words, positions);
    return follows(words, at + 1, program, rest, positions);
  });
}

/**
 * Whether the words of a rule follow in order, with options between them that may have values. An option that a rule names may also be after other
 * words. `seen`: pairs of a position and a number of matched words, each examined once.
 */
function follows(words: readonly string[], from: number, program: string, rest: readonly string[], seen: Set<number>): boolean {
  const waiting: [at: number, found: number][] = [[from, 0]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [at, found] = next;
    const [word, wanted] = [words[at], rest[found]];
    if (wanted === undefined) return true;
    const state = at * (rest.length + 1) + found;
    if (word === undefined || seen.has(state)) continue;
    seen.add(state);
    if (word.startsWith('-') && program === 'git' && namesAlias(word, words[at + 1])) return true;
    const lengths = word.startsWith('-') ? lengthsOfOption(found === 0 ? program : '', word) : [];
    // The word may expand to nothing.
    const isSkipped = /[$`]/.test(word) || wanted.startsWith('-');
    for (const length of isSkipped ? [1, ...lengths] : lengths) waiting.push([at + length, found]);
    if (isWord(word, wanted, found === 0 ? program : '')) waiting.push([at + 1, found + 1]);
  }
  return false;
}

function isWord(word: string, wanted: string, program: string): boolean {
  if (word === wanted || (program === 'npm' && isSameForNpm(word, wanted))) return true;
  // A pattern can also match a file whose name is an option, but then `rm *` would count as `rm -rf`.
  const pattern = withoutGroups(word);
  return isPattern(pattern) && word.startsWith('-') === wanted.startsWith('-') && mayStandFor(pattern, wanted);
}

/** Options of git that come before the subcommand and have their value in the next word. */
const gitValueOptions = new Set([
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--exec-path',
  '--config-env',
  '--attr-source',
  '--shallow-file',
]);

/** How many words an option may take: two with its value in the next word. For options before git's subcommand it is known. */
function lengthsOfOption(program: string, option: string): number[] {
  if (program === 'git') return [gitValueOptions.has(option) ? 2 : 1];
  return option.includes('=') ? [1] : [1, 2];
}

/** npm's aliases of its subcommands. */
const npmNames = [
  'install add i in ins inst insta instal isnt isnta isntal isntall',
  'uninstall unlink remove rm r un',
  'ci clean-install ic install-clean isntall-clean',
  'install-test it',
  'install-ci-test cit clean-install-test sit',
  'run run-script rum urn',
  'exec x',
  'test tst t',
  'update up upgrade udpate u',
  'link ln',
  'config c',
  'owner author',
  'search s se find',
  'view info show v',
  'rebuild rb',
  'ls list',
  'll la',
  'docs home',
  'bugs issues',
  'explain why',
  'org ogr',
  'init create innit',
  'dedupe ddp',
  'version verison',
  'dist-tag dist-tags',
  'adduser add-user',
  'star',
  'help hlep',
].map((names) => names.split(' '));
const wholeNpmNames = new Set(npmNames.flat());

/** npm accepts abbreviations of its subcommands, and capitals in place of dashes. */
function isSameForNpm(word: string, wanted: string): boolean {
  const name = word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const names = npmNames.find((each) => each.includes(wanted)) ?? [wanted];
  return names.includes(name) || (name.length > 1 && !wholeNpmNames.has(name) && names.some((each) => each.startsWith(name)));
}

/** A text that was not fully examined. */
interface RoughText {
  text: string;
  words: string[];
  /** The names of programs that are patterns. */
  patterns: string[];
  /** It can contain anything, because of braces, escapes or extended globs. */
  isOpen: boolean;
}

function roughText(command: string): RoughText {
  const readings = new Set([command, ...readingsOf(command)]);
  const text = [...readings]
    .join(' ')
    .replace(/\\\r?\n/g, '')
    .replace(/['"\\]/g, '');
  const words = [...new Set(text.split(/\s+/))];
  const patterns = words.filter((word) => word !== '*' && isPattern(word)).map((word) => basename(word));
  const hasBraces = words.some((word) => word.includes('{') && /,|\.\./.test(word));
  return { text, words, patterns: [...new Set(patterns)], isOpen: hasBraces || command.includes("$'") || withoutGroups(text) !== text };
}

/** Whether such a text may contain the words of a rule: literally, or through a pattern, braces, escapes or extended globs. */
function mayHold({ text, words, patterns, isOpen }: RoughText, prefix: readonly string[]): boolean {
  if (isOpen) return true;
  const [program = ''] = prefix.map((word) => basename(word));
  const isThere = (word: string) => text.includes(word) || patterns.some((pattern) => mayStandFor(pattern, word));
  if (program === 'git' && isThere(program) && mayNameAlias(text)) return true;
  return prefix.every((word, at) => {
    const name = basename(word);
    return isThere(name) || (at === 1 && program === 'npm' && words.some((each) => isSameForNpm(each, name)));
  });
}
