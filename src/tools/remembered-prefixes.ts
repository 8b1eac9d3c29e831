import { readArguments } from './command-options';
import { programName, runsFreely } from './harmless-commands';
import { isAtHome, isInside, type Place } from './place';
import type { ShellWord, SimpleCommand } from './shell-command';

/**
 * The first words of a command by which it may be remembered: where it only reads in the workspace, and of the few below. A rule that was
 * remembered allows the commands of which this says the same, so that no option nobody looked at comes with it.
 */
export function prefixToRemember(command: SimpleCommand, place: Place): string[] | undefined {
  const [program, ...args] = command.words;
  const name = programName(program?.text ?? '');
  if (runsFreely(command, 'minimal', place)) return name === 'git' ? gitPrefix(args) : [name];
  if (command.inputs.length > 0) return undefined;
  if (speakers.has(name)) return args.every((arg) => !arg.glob || isInside(arg, place)) ? [name] : undefined;
  // In another folder it would be another repository or package, and what comes in by a pipe may be read as commands.
  if (command.piped || !isAtHome(place)) return undefined;
  const [subcommand, ...rest] = args;
  if (name === 'git' && subcommand) return commits(subcommand.text, rest, place) ? [name, subcommand.text] : undefined;
  return name === 'npm' ? scriptPrefix(args) : undefined;
}

/** They do nothing with their words but print them. */
const speakers = new Set(['echo', 'true', 'false']);

function gitPrefix(args: readonly ShellWord[]): string[] {
  return ['git', (args.find(({ text }) => text !== '--no-pager') as ShellWord).text];
}

/** Adds files of the workspace, or commits with a message that is given: without one git would start an editor. */
function commits(subcommand: string, args: readonly ShellWord[], place: Place): boolean {
  if (subcommand === 'add') {
    const found = readArguments(args, { flags: 'vnAu', long: 'verbose dry-run all update' });
    return found?.paths.every((path) => isInside(path, place)) === true;
  }
  if (subcommand !== 'commit') return false;
  const found = readArguments(args, { flags: 'aqs', values: 'm', long: 'all quiet signoff', longValues: 'message', operands: 'none' });
  return found?.options.some(([name]) => name === 'm' || name === 'message') === true;
}

const scripts = new Set(['test', 'start', 'stop', 'ci']);
/** What npm is given to say more or less. All other words are for the script, or make npm run something else. */
const quiet = new Set(
  '-s --silent -q --quiet --verbose --color --no-color --progress --no-progress --if-present --no-update-notifier'.split(' '),
);

function scriptPrefix(args: readonly ShellWord[]): string[] | undefined {
  const words = args.map(({ text }) => text);
  const length = words[0] === 'run' && /^\w[\w@:./-]*$/.test(words[1] ?? '') ? 2 : scripts.has(words[0] ?? '') ? 1 : 0;
  return length > 0 && words.slice(length).every((word) => quiet.has(word)) ? ['npm', ...words.slice(0, length)] : undefined;
}
