import { bounds } from '../../core/bounds';
import { bytesOf } from '../../core/context/carry';
import type { PermissionRule } from '../../core/tool';
import { fetchTool, inputTool, programName, reachesFurther } from './harmless-commands';
import { commandOf, commandsOf, isCommandAlone, originOf, type PermissionCall, withoutDoubles } from './permission-rules';
import { isAtHome, type Place } from './place';
import { changesNothing, prefixToRemember } from './remembered-prefixes';
import { changesShell } from './shell-builtins';
import { readShellCommand, type SimpleCommand } from './shell-command';
import { isWrapper } from './wrappers';

/**
 * The rules that a person may remember for a call. For a shell command: a rule for each of its simple commands, narrow enough that it doesn't
 * allow anything that the person did not see. The rule has the first words only for fully known commands (`remembered-prefixes.ts`); for others it
 * has all words, exactly. There is no rule if even that would allow too much (`sudo`, `rm`, `bash -c`), or for a command that no rule could ever
 * allow. If one part has no rule, or depends on the result of another, no rule is offered at all.
 */
export function suggestRules(call: PermissionCall, root: string | undefined): PermissionRule[] {
  if (call.tool === inputTool) return [];
  if (call.tool === fetchTool) {
    const host = originOf(call);
    return host === undefined ? [] : [{ tool: call.tool, host }];
  }
  if (commandOf(call) === undefined) return [{ tool: call.tool }];
  if (!isCommandAlone(call)) return [];
  const parts = commandsOf(call, root) ?? [];
  const rules = isConditional(call) && !parts.every(({ command, place }) => changesNothing(command, place)) ? [] : parts.map(ruleOf);
  // A rule stays in the thread's state permanently, so a very long one is not offered.
  const offered = rules.filter((rule) => rule !== undefined && bytesOf(rule) <= bounds.ruleBytes) as Words[];
  // Rules for only some parts of a command are not what the person saw.
  return offered.length === parts.length ? withoutDoubles(offered.map((rule) => ({ tool: call.tool, ...rule }))) : [];
}

/** A person who saw `make check && make deploy` did not approve `make deploy` alone, and a rule can't express the condition. */
function isConditional(call: PermissionCall): boolean {
  const read = readShellCommand(commandOf(call) ?? '');
  return !read.understood || read.conditional;
}

type Words = Pick<PermissionRule, 'prefix' | 'exact'>;

/** Commands whose effect on one file, or at one time, says nothing about the next. */
const neverRemembered = new Set(
  'cd rm rmdir mv cp dd ln tee truncate shred install tar chmod chown kill pkill killall curl wget nc ssh scp rsync su'.split(' '),
);
/** Programs that run their argument or their input. Remembered only with the name of a script. */
const interpreters = /^(node|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|bash|sh|zsh|dash|ksh|fish)$/;

function ruleOf({ command, place }: { command: SimpleCommand; place: Place }): Words | undefined {
  const words = command.words.map(({ text }) => text);
  const name = programName(words[0] ?? '');
  if (
    isWrapper(name) ||
    changesShell(command.words) ||
    neverRemembered.has(name) ||
    !/^[\w.+@/-]+$/.test(name) ||
    reachesFurther(command.words, place)
  )
    return undefined;
  if (interpreters.test(name)) return namesScript(words) ? exactly(command, place) : undefined;
  const prefix = prefixToRemember(command, place);
  return prefix ? { prefix } : exactly(command, place);
}

function namesScript([, second, third]: string[]): boolean {
  const isName = (word: string | undefined) => word !== undefined && /^[A-Za-z0-9@./_][\w@:./-]*$/.test(word);
  return second === '-m' ? isName(third) : isName(second);
}

/** A rule of all words, if that rule would allow this command. */
function exactly({ words, inputs, piped }: SimpleCommand, place: Place): Words | undefined {
  const isWhole = words.every(({ glob }) => !glob) && inputs.length === 0 && !piped && isAtHome(place);
  return isWhole ? { prefix: words.map(({ text }) => text), exact: true } : undefined;
}
