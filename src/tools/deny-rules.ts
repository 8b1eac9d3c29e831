import { basename } from 'node:path';
import { bounds } from '../core/bounds';
import type { PermissionRule } from '../core/tool';
import { mayStandFor } from './patterns';
import { commandOf, type PermissionCall } from './permission-rules';
import { readShellCommand, roughCommands } from './shell-command';
import { isWrapper, runsItsWords } from './wrappers';

export interface Broken<R> {
  rule: R;
  /** It may be broken: the command is too long to be told, or stands for too much. */
  unclear?: true;
}

/** The first rule that a call breaks. For a shell command it is enough that one of the commands in it does, or that it can't be told. */
export function brokenRule<R extends PermissionRule>(rules: readonly R[], call: PermissionCall): Broken<R> | undefined {
  const own = rules.filter(({ tool }) => tool === call.tool);
  const command = commandOf(call);
  const read = command === undefined || own.every(({ prefix }) => !prefix) ? nothing : commandsWithin(command);
  const sure = own.find(({ prefix }) => !prefix || read.commands.some((found) => begins(found, prefix)));
  if (sure) return { rule: sure };
  const unclear = read.whole ? undefined : own.find(({ prefix = [] }) => mayHold(command ?? '', prefix));
  return unclear && { rule: unclear, unclear: true };
}

/** Words, and where in them commands may begin. */
interface Found {
  words: readonly string[];
  starts: readonly number[];
}

interface Within {
  commands: Found[];
  /** Whether everything was looked at. */
  whole: boolean;
}

const nothing: Within = { commands: [], whole: true };

/**
 * Everything in a command that may be a command of its own: behind assignments, keywords, wrappers and paths, in what a shell is given to
 * run, and, where the command is not understood, wherever one could begin. It does not follow variables, scripts and other interpreters.
 */
function commandsWithin(command: string): Within {
  if (command.length > bounds.commandChars) return { commands: [], whole: false };
  const commands: Found[] = [];
  const braces = { left: bounds.commandBraceChars };
  const texts = new Set([command]);
  let left = bounds.commandNestedChars;
  // Texts that are found on the way are looked at in turn.
  for (const text of texts) {
    left -= text.length;
    if (left < 0) break;
    const read = readShellCommand(text);
    const lists = read.understood ? read.commands.map(({ words }) => words.map((word) => word.text)) : roughCommands(text, braces);
    for (const list of lists) {
      const words = list.filter((word) => !/^:{3,4}\+?$/.test(word));
      const { starts, wrapped } = startsIn(words);
      commands.push({ words, starts });
      for (const word of wrapped ? words.filter(isText) : []) texts.add(word).add(word.replace(/\\[_tnrfv]/g, ' '));
    }
  }
  return { commands, whole: left >= 0 && braces.left >= 0 };
}

/** Whether a word may be a command by itself: plain ones are looked at where they stand. */
function isText(word: string): boolean {
  return !/^[\w.:=@%+,/-]*$/.test(word);
}

/** Where commands may begin: at first, behind assignments and keywords, behind an option that takes a command, and anywhere behind a wrapper. */
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

/** Words that begin a command made of commands. */
const keywords = new Set('if then else elif fi for while until do done case esac select function coproc ! [ [['.split(' '));

/** Options between the words of a rule, with their values, do not hide them: `git -C x push` is `git push`. */
function begins({ words, starts }: Found, [program = '', ...rest]: readonly string[]): boolean {
  const name = basename(program);
  const itself = starts.filter((at) => isProgram(words[at] ?? '', name));
  // Where the same words were looked for behind another start: of `xargs` and thousands of words each may be one.
  const failed = new Set<number>();
  if (itself.some((at) => follows(words, at + 1, name, rest, failed))) return true;
  const [subcommand, ...more] = rest;
  const joined = subcommand === undefined ? [] : starts.filter((at) => basename(words[at] ?? '') === `${name}-${subcommand}`);
  const failedBehind = new Set<number>();
  return joined.some((at) => follows(words, at + 1, name, more, failedBehind));
}

/** By its name, by a path or pattern that may stand for it, or attached to an option of a wrapper: `env -Sgit`. */
function isProgram(word: string, name: string): boolean {
  const base = basename(word);
  if (base === name || (word.endsWith(name) && /^-(-[\w-]+=|[a-zA-Z]+)$/.test(word.slice(0, -name.length)))) return true;
  return word !== '*' && /[*?[]/.test(base) && mayStandFor(base, name);
}

function follows(words: readonly string[], from: number, program: string, rest: readonly string[], failed: Set<number>): boolean {
  let at = from;
  for (let found = 0; found < rest.length; ) {
    const [word, wanted] = [words[at], rest[found] ?? ''];
    const state = at * (rest.length + 1) + found;
    if (word === undefined || failed.has(state)) return false;
    failed.add(state);
    if (isWord(word, wanted, found === 0 ? program : '')) {
      found += 1;
      at += 1;
    } else if (word.startsWith('-')) {
      if (program === 'git' && namesAlias(word, words[at + 1])) return true;
      at += lengthOfOption(program, word, words[at + 1], (following) => isWord(following, wanted, found === 0 ? program : ''));
    }
    // It may stand for no word at all.
    else if (/[$`]/.test(word)) at += 1;
    else return false;
  }
  return true;
}

function isWord(word: string, wanted: string, program: string): boolean {
  if (word === wanted || (program === 'npm' && isSameForNpm(word, wanted))) return true;
  // The name of a file could be an option, but then `rm *` would be `rm -rf`.
  return /[*?[]/.test(word) && word.startsWith('-') === wanted.startsWith('-') && mayStandFor(word, wanted);
}

/** `git -c alias.x=push x`. */
function namesAlias(option: string, value: string | undefined): boolean {
  return /^--config-env=alias\./i.test(option) || (/^(-c|--config-env)$/.test(option) && /^alias\./i.test(value ?? ''));
}

/** Options of git that stand before the subcommand and have their value in the next word. */
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

/** How many words an option is. Of programs other than git it may have a value wherever a word follows that is not the one looked for. */
function lengthOfOption(program: string, option: string, following = '', isWanted: (word: string) => boolean): number {
  if (program === 'git') return gitValueOptions.has(option) ? 2 : 1;
  return option.includes('=') || following.startsWith('-') || isWanted(following) ? 1 : 2;
}

/** Other names that npm has for its subcommands. */
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
  'init create innit',
  'dedupe ddp',
  'version verison',
  'dist-tag dist-tags',
  'adduser add-user',
  'star',
  'help',
].map((names) => names.split(' '));
const wholeNpmNames = new Set(npmNames.flat());

/** npm takes abbreviations of its subcommands, and capitals for dashes. */
function isSameForNpm(word: string, wanted: string): boolean {
  const name = word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const names = npmNames.find((each) => each.includes(wanted)) ?? [wanted];
  return names.includes(name) || (name.length > 1 && !wholeNpmNames.has(name) && names.some((each) => each.startsWith(name)));
}

/** Whether the words of a rule may be somewhere in a text that was not looked at in whole: written out, or by a pattern, braces or escapes. */
function mayHold(command: string, prefix: readonly string[]): boolean {
  const text = command.replace(/\\\r?\n/g, '').replace(/['"\\]/g, '');
  if (command.includes("$'")) return true;
  const words = text.split(/\s+/);
  if (words.some((word) => word.includes('{') && /,|\.\./.test(word))) return true;
  const patterns = words.filter((word) => word !== '*' && /[*?[]/.test(word)).map((word) => basename(word));
  return prefix.every((word) => text.includes(basename(word)) || patterns.some((pattern) => mayStandFor(pattern, basename(word))));
}
