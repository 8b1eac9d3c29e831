import { readArguments } from './command-options';
import { hasPlainRepository } from './git-safety';
import { programName, runsFreely } from './harmless-commands';
import { isAtHome, isInside, type Place } from './place';
import type { ShellWord, SimpleCommand } from './shell-command';

/**
 * The first words by which a command may be remembered, if it only reads in the workspace or is one of the few below. A remembered rule allows
 * a command only if this function returns the same words for it, so it never allows an option that the person did not see.
 */
export function prefixToRemember(command: SimpleCommand, place: Place): string[] | undefined {
  const [program, ...args] = command.words;
  const name = programName(program?.text ?? '');
  if (runsFreely(command, 'minimal', place)) return name === 'git' ? gitPrefix(args) : [name];
  if (command.inputs.length > 0) return undefined;
  if (speaks(command, place)) return [name];
  // In another folder it would use another repository or package, and input from a pipe may be read as commands.
  if (command.piped || !isAtHome(place)) return undefined;
  const [subcommand, ...rest] = args;
  if (name === 'git' && subcommand) return commits(subcommand.text, rest, place) ? [name, subcommand.text] : undefined;
  return name === 'npm' ? scriptPrefix(args) : undefined;
}

/** Commands that only print their arguments. */
const speakers = new Set(['echo', 'true', 'false']);

function speaks({ words: [program, ...args], inputs }: SimpleCommand, place: Place): boolean {
  return speakers.has(programName(program?.text ?? '')) && inputs.length === 0 && args.every((arg) => !arg.glob || isInside(arg, place));
}

/** Whether a command changes nothing, so that it doesn't matter when it runs. */
export function changesNothing(command: SimpleCommand, place: Place): boolean {
  return runsFreely(command, 'minimal', place) || speaks(command, place);
}

function gitPrefix(args: readonly ShellWord[]): string[] {
  return ['git', (args.find(({ text }) => text !== '--no-pager') as ShellWord).text];
}

/** Whether it adds files of the workspace, or commits with a given message: without one git would start an editor. */
function commits(subcommand: string, args: readonly ShellWord[], place: Place): boolean {
  // In a folder of a larger repository they include files outside it; through links in `.git` they write elsewhere, and filters are programs.
  if (!hasPlainRepository(place)) return false;
  if (subcommand === 'add') {
    const found = place.mayHaveSubmodules ? undefined : readArguments(args, { flags: 'vnAu', long: 'verbose dry-run all update' });
    return found?.paths.every((path) => !path.text.startsWith(':') && isInside(path, place)) === true;
  }
  if (subcommand !== 'commit') return false;
  const found = readArguments(args, { flags: 'aqs', values: 'm', long: 'all quiet signoff', longValues: 'message', operands: 'none' });
  const has = (...names: string[]) => found?.options.some(([name]) => names.includes(name)) === true;
  return has('m', 'message') && !(place.mayHaveSubmodules && has('a', 'all'));
}

const scripts = new Set(['test', 'start', 'stop', 'ci']);
/** Options that set how much npm prints. All other words are for the script, or make npm run something else. */
const quiet = new Set(
  '-s --silent -q --quiet --verbose --color --no-color --progress --no-progress --if-present --no-update-notifier'.split(' '),
);

function scriptPrefix(args: readonly ShellWord[]): string[] | undefined {
  const words = args.map(({ text }) => text);
  const length = words[0] === 'run' && /^\w[\w@:./-]*$/.test(words[1] ?? '') ? 2 : scripts.has(words[0] ?? '') ? 1 : 0;
  return length > 0 && words.slice(length).every((word) => quiet.has(word)) ? ['npm', ...words.slice(0, length)] : undefined;
}
