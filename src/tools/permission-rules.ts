import { basename } from 'node:path';
import { isObject } from '../core/json';
import type { PermissionRule } from '../core/tool';
import { reachesFurther, staysInside } from './harmless-commands';
import { isKeyword, roughSegments, splitShellCommand } from './shell-command';

/** A call, for as far as rules look at it. `args` as the tool gets them. */
export interface PermissionCall {
  tool: string;
  args: unknown;
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
  return a.tool === b.tool && JSON.stringify(a.prefix) === JSON.stringify(b.prefix);
}

export function withoutDoubles(rules: readonly PermissionRule[]): PermissionRule[] {
  return rules.filter((rule, at) => rules.findIndex((other) => isSameRule(rule, other)) === at);
}

/** `stop` is for deny rules, and says nothing in others. */
const ruleKeys = ['tool', 'prefix', 'stop'];

/** What is wrong with something that should be a rule; `undefined` is nothing. */
export function problemOfRule(rule: unknown): string | undefined {
  if (!isObject(rule) || typeof rule.tool !== 'string' || rule.tool.trim() === '') return 'is no rule; give { tool } or { tool, prefix }';
  const { prefix } = rule;
  // Such as the `command` of another system, without which the rule would be one for the whole tool.
  const odd = Object.keys(rule).find((key) => !ruleKeys.includes(key));
  if (odd !== undefined) return `has the key '${odd}', which no rule has; give { tool } or { tool, prefix }`;
  if (rule.stop !== undefined && rule.stop !== true) return `has stop: ${JSON.stringify(rule.stop)}; use true, or leave it out`;
  if (prefix === undefined) return undefined;
  const words = Array.isArray(prefix) && prefix.length > 0 && prefix.every((word) => typeof word === 'string' && /^\S+$/.test(word));
  return words ? undefined : `has the prefix ${JSON.stringify(prefix)}; give the words of a command one by one, such as ['git', 'push']`;
}

/**
 * Whether rules let a call through: one for the whole tool, or, for a shell command, one for each of its segments. A command that is not
 * understood is let through by no prefix.
 */
export function allows(rules: readonly PermissionRule[], call: PermissionCall, root: string | undefined): boolean {
  // Remembered rules come from people and stores: what is no rule allows nothing.
  const own = rules.filter((rule) => problemOfRule(rule) === undefined && rule.tool === call.tool);
  if (own.some(({ prefix }) => prefix === undefined)) return true;
  const command = commandOf(call);
  if (own.length === 0 || command === undefined || !staysIn(call, root)) return false;
  const split = splitShellCommand(command);
  return (
    split.understood && split.segments.every((words) => isInnerCd(words, root) || own.some((rule) => allowsSegment(rule, words, root)))
  );
}

/** A command's `workdir` is a `cd` before it. */
function staysIn({ args }: PermissionCall, root: string | undefined): boolean {
  const workdir = isObject(args) ? args.workdir : undefined;
  return workdir === undefined || (typeof workdir === 'string' && staysInside(workdir, root));
}

function allowsSegment({ prefix = [] }: PermissionRule, words: string[], root: string | undefined): boolean {
  if (!startsWith(words, prefix)) return false;
  // A rule that names the dangerous option itself, as `find . -exec grep`, means it. Not a second one behind it.
  const [name = ''] = words;
  const meant = (word: string, at: number) => at > 0 && at < prefix.length && reachesFurther([name, word], root);
  return !reachesFurther(
    words.filter((word, at) => !meant(word, at)),
    root,
  );
}

function isInnerCd(words: string[], root: string | undefined): boolean {
  return words.length === 2 && words[0] === 'cd' && staysInside(words[1] ?? '', root);
}

function startsWith(words: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((word, at) => words[at] === word);
}

/** The first rule that a call breaks. For a shell command it is enough that one of the commands in it does. */
export function brokenRule<R extends PermissionRule>(rules: readonly R[], call: PermissionCall): R | undefined {
  const own = rules.filter(({ tool }) => tool === call.tool);
  const command = commandOf(call);
  const commands = command === undefined || own.every(({ prefix }) => !prefix) ? [] : commandsWithin(command);
  return own.find(({ prefix }) => !prefix || commands.some((found) => beginsWith(found, prefix)));
}

/** Programs that run another, which is named somewhere behind their options. */
const wrappers = new Set(
  ['sudo', 'doas', 'env', 'nohup', 'time', 'timeout', 'nice', 'ionice', 'chrt', 'stdbuf', 'setsid', 'xargs'].concat([
    'command',
    'builtin',
    'exec',
    'watch',
    'strace',
    'parallel',
    'busybox',
  ]),
);
const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'eval']);
const deepest = 5;

export function isWrapper(word: string): boolean {
  return wrappers.has(word);
}

export function isAssignment(word: string): boolean {
  return /^\w+\+?=/.test(word);
}

/** The words from `at` on are, or may be, a command. Not cut off: of `xargs` and ten thousand words each may begin one. */
interface Found {
  words: readonly string[];
  at: number;
}

function beginsWith({ words, at }: Found, prefix: readonly string[]): boolean {
  return prefix.every((word, i) => words[at + i] === word || (i === 0 && basename(words[at] ?? '') === word));
}

/**
 * Everything in a command that may be a command of its own: behind assignments, keywords, wrappers and paths, in what a shell is given to
 * run, and, where the command is not understood, wherever one could begin. It does not follow variables, scripts and other interpreters.
 */
function commandsWithin(command: string, depth = 0): Found[] {
  const split = splitShellCommand(command);
  const segments = split.understood ? split.segments : roughSegments(command);
  return segments.flatMap((words) => {
    const { starts, wrapped } = startsIn(words);
    const inner = wrapped && depth < deepest ? words.filter((word) => /\s/.test(word)) : [];
    return [...starts.map((at) => ({ words, at })), ...inner.flatMap((text) => commandsWithin(text, depth + 1))];
  });
}

/** Where commands may begin: at first, behind assignments and keywords, behind an option that takes a command, and anywhere behind a wrapper. */
function startsIn(words: readonly string[]): { starts: number[]; wrapped: boolean } {
  const starts: number[] = [];
  let first = true;
  let wrapped = false;
  for (const [at, word] of words.entries()) {
    if (first || wrapped || /^-(exec|ok)/.test(words[at - 1] ?? '')) {
      starts.push(at);
      wrapped ||= wrappers.has(basename(word)) || shells.has(basename(word));
    }
    first &&= isAssignment(word) || isKeyword(word);
  }
  return { starts, wrapped };
}
