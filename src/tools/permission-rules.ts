import { isObject } from '../core/json';
import type { PermissionRule } from '../core/tool';
import { programName, reachesFurther, runsFreely } from './harmless-commands';
import { behindCd, foldersAt, isAtHome, noLookups, type Place } from './place';
import { prefixToRemember } from './remembered-prefixes';
import { readShellCommand, type ShellWord, type SimpleCommand } from './shell-command';

/** A call, for as far as rules look at it. `args` as the tool gets them. */
export interface PermissionCall {
  tool: string;
  args: unknown;
  /** The folder the tool works in, absolute, where that is known. */
  workspace?: string;
}

/** The text of a call whose tool runs shell commands: its argument `command`. */
export function commandOf({ args }: PermissionCall): string | undefined {
  return isObject(args) && typeof args.command === 'string' ? args.command : undefined;
}

/** As people write it: `shell: git push`. */
export function ruleName({ tool, prefix }: PermissionRule): string {
  return prefix ? `${tool}: ${prefix.join(' ')}` : tool;
}

export function isSameRule(a: PermissionRule, b: PermissionRule): boolean {
  return a.tool === b.tool && a.exact === b.exact && JSON.stringify(a.prefix) === JSON.stringify(b.prefix);
}

export function withoutDoubles(rules: readonly PermissionRule[]): PermissionRule[] {
  return rules.filter((rule, at) => rules.findIndex((other) => isSameRule(rule, other)) === at);
}

/** `stop` is for deny rules, and says nothing in others. */
const ruleKeys = ['tool', 'prefix', 'exact', 'stop'];

/** What is wrong with something that should be a rule; `undefined` is nothing. */
export function problemOfRule(rule: unknown): string | undefined {
  if (!isObject(rule) || typeof rule.tool !== 'string' || rule.tool.trim() === '') return 'is no rule; give { tool } or { tool, prefix }';
  const { prefix } = rule;
  // Such as the `command` of another system, without which the rule would be one for the whole tool.
  const odd = Object.keys(rule).find((key) => !ruleKeys.includes(key));
  if (odd !== undefined) return `has the key '${odd}', which no rule has; give { tool } or { tool, prefix }`;
  if (rule.stop !== undefined && rule.stop !== true) return `has stop: ${JSON.stringify(rule.stop)}; use true, or leave it out`;
  if (rule.exact !== undefined && (rule.exact !== true || prefix === undefined)) {
    return `has exact: ${JSON.stringify(rule.exact)}; use true beside a prefix that holds all words of a command, or leave it out`;
  }
  if (prefix === undefined) return undefined;
  // A prefix of one text would be no word; among all words of a command there may be such.
  const isWord = (word: unknown, at: number) => typeof word === 'string' && (/^\S+$/.test(word) || (rule.exact === true && at > 0));
  const words = Array.isArray(prefix) && prefix.length > 0 && prefix.every(isWord);
  return words ? undefined : `has the prefix ${JSON.stringify(prefix)}; give the words of a command one by one, such as ['git', 'push']`;
}

/** The simple commands of a call and where each of them may be; `undefined` where it is not understood, or leaves the workspace. */
export function commandsOf(call: PermissionCall, root: string | undefined): { command: SimpleCommand; place: Place }[] | undefined {
  const text = commandOf(call);
  const read = text === undefined ? undefined : readShellCommand(text);
  let place = placeOf(call, root);
  if (!read?.understood || !place) return undefined;
  const found: { command: SimpleCommand; place: Place }[] = [];
  for (const command of read.commands) {
    const [program, path, ...rest] = command.words;
    if (program?.text === 'cd') {
      if (!path || rest.length > 0 || command.inputs.length > 0) return undefined;
      place = behindCd(path, place);
      if (!place) return undefined;
    } else found.push({ command, place });
  }
  return found;
}

/** Where a call's command begins: in the workspace, or in the folder `workdir` of it. */
function placeOf({ args }: PermissionCall, root: string | undefined): Place | undefined {
  const start: Place = { root, folders: [''], lookups: noLookups() };
  const workdir = isObject(args) ? args.workdir : undefined;
  if (workdir === undefined) return start;
  const folders = typeof workdir === 'string' ? foldersAt({ text: workdir, glob: false }, start) : undefined;
  return folders && { ...start, folders };
}

export interface Leave {
  /** What the owner of the agent wrote: it means what it says. */
  rules: readonly PermissionRule[];
  /** What people chose to remember of a command that they looked at: it allows no more than that. */
  remembered: readonly PermissionRule[];
  /** In which commands that are known run without a rule. */
  mode: 'minimal' | 'trusted' | undefined;
  root: string | undefined;
}

/**
 * Whether a call needs nobody: by a rule for the whole tool, or, for a shell command, by a rule or the mode for each simple command in it. A
 * command that is not understood is let through by no prefix and no mode.
 */
export function allows({ rules, remembered, mode, root }: Leave, call: PermissionCall): boolean {
  // Remembered rules come from people and stores: what is no rule allows nothing.
  const isOwn = (rule: PermissionRule) => problemOfRule(rule) === undefined && rule.tool === call.tool;
  const [written, kept] = [rules.filter(isOwn), remembered.filter(isOwn)];
  const own = [...written, ...kept];
  if (own.some(({ prefix }) => prefix === undefined)) return true;
  const isShell = mode !== undefined && call.tool === 'shell';
  if ((own.length === 0 && !isShell) || commandOf(call) === undefined) return false;
  const commands = commandsOf(call, root);
  return (
    commands?.every(
      ({ command, place }) =>
        (isShell && runsFreely(command, mode, place)) ||
        written.some((rule) => allowsCommand(rule, command, place)) ||
        isRemembered(kept, command, place),
    ) === true
  );
}

/** The whole command, or first words by which it would be offered to be remembered. */
function isRemembered(kept: readonly PermissionRule[], command: SimpleCommand, place: Place): boolean {
  if (kept.some((rule) => rule.exact && isExactly(rule, command, place))) return true;
  const prefixes = kept.filter(({ exact }) => !exact);
  const offered = prefixes.length > 0 ? prefixToRemember(command, place) : undefined;
  return offered !== undefined && prefixes.some(({ prefix = [] }) => hasWords(offered, prefix));
}

function hasWords(words: readonly string[], prefix: readonly string[]): boolean {
  return (
    words.length === prefix.length && words.every((word, at) => (at === 0 ? word === programName(prefix[0] ?? '') : word === prefix[at]))
  );
}

/** In another folder, or with other input, the same words may do something else. */
function isExactly({ prefix = [] }: PermissionRule, { words, inputs, piped }: SimpleCommand, place: Place): boolean {
  const isSame = words.length === prefix.length && startsWith(words, prefix);
  return isSame && words.every(({ glob }) => !glob) && !piped && inputs.length === 0 && isAtHome(place);
}

function allowsCommand(rule: PermissionRule, command: SimpleCommand, place: Place): boolean {
  if (rule.exact) return isExactly(rule, command, place);
  const { prefix = [] } = rule;
  const { words } = command;
  if (!startsWith(words, prefix)) return false;
  // A rule that names the dangerous option itself, as `find . -exec grep`, means it. Not a second one behind it.
  const [name] = words;
  const meant = (word: ShellWord, at: number) => name !== undefined && at > 0 && at < prefix.length && reachesFurther([name, word], place);
  return !reachesFurther(
    words.filter((word, at) => !meant(word, at)),
    place,
  );
}

function startsWith(words: readonly ShellWord[], prefix: readonly string[]): boolean {
  const isWord = ({ text }: ShellWord, at: number) => (at === 0 ? programName(text) === programName(prefix[0] ?? '') : text === prefix[at]);
  return words.length >= prefix.length && words.slice(0, prefix.length).every(isWord);
}
