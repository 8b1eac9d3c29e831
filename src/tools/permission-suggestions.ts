import { bounds } from '../core/bounds';
import { bytesOf } from '../core/context/carry';
import type { PermissionRule } from '../core/tool';
import { programName, reachesFurther } from './harmless-commands';
import { commandOf, commandsOf, type PermissionCall, withoutDoubles } from './permission-rules';
import { isAtHome, type Place } from './place';
import { prefixToRemember } from './remembered-prefixes';
import type { SimpleCommand } from './shell-command';
import { isWrapper } from './wrappers';

/**
 * What a person may choose to remember of a call. For a shell command: a rule for each of its simple commands, narrow enough that it does
 * not allow what nobody looked at. It holds the first words only of commands that are known whole (`remembered-prefixes.ts`); of the others
 * all words, exactly. Nothing for a command of which that can't be said either (behind `sudo`, `rm`, `bash -c`), nor for one that no
 * rule would ever let through.
 */
export function suggestRules(call: PermissionCall, root: string | undefined): PermissionRule[] {
  if (commandOf(call) === undefined) return [{ tool: call.tool }];
  const rules = (commandsOf(call, root) ?? []).flatMap(({ command, place }) => {
    const rule = ruleFor(command, place);
    return rule ? [{ tool: call.tool, ...rule }] : [];
  });
  // A rule stays in the thread's state for good: one that is as long as its command is not offered.
  return withoutDoubles(rules.filter((rule) => bytesOf(rule) <= bounds.ruleBytes));
}

type Words = Pick<PermissionRule, 'prefix' | 'exact'>;

/** What these do to one thing, or run at one time, says nothing of the next. */
const neverRemembered = new Set(
  'cd rm rmdir mv cp dd ln tee truncate shred install tar chmod chown kill pkill killall curl wget nc ssh scp rsync su eval source . trap export alias set unset pushd popd'.split(
    ' ',
  ),
);
/** Programs that do whatever their argument says, or their input where there is none: remembered with the name of a script only. */
const interpreters = /^(node|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|bash|sh|zsh|dash|ksh|fish)$/;

function ruleFor(command: SimpleCommand, place: Place): Words | undefined {
  const words = command.words.map(({ text }) => text);
  const name = programName(words[0] ?? '');
  if (isWrapper(name) || neverRemembered.has(name) || !/^[\w.+@/-]+$/.test(name) || reachesFurther(command.words, place)) return undefined;
  if (interpreters.test(name)) return namesScript(words) ? exactly(command, place) : undefined;
  const prefix = prefixToRemember(command, place);
  return prefix ? { prefix } : exactly(command, place);
}

function namesScript([, second, third]: string[]): boolean {
  const isName = (word: string | undefined) => word !== undefined && /^[A-Za-z0-9@./_][\w@:./-]*$/.test(word);
  return second === '-m' ? isName(third) : isName(second);
}

/** All words, where a rule for them would let this very command through. */
function exactly({ words, inputs, piped }: SimpleCommand, place: Place): Words | undefined {
  const isWhole = words.every(({ glob }) => !glob) && inputs.length === 0 && !piped && isAtHome(place);
  return isWhole ? { prefix: words.map(({ text }) => text), exact: true } : undefined;
}
