import { isObject } from '../../core/json';
import { isForWholeTool, type PermissionRule } from '../../core/tool';
import { hasPlainRepository, lookAtRepository } from './git-safety';
import { isReadingGit, programName, reachesFurther, runsFreely, shellTool } from './harmless-commands';
import { behindCd, foldersAt, isAtHome, noLookups, type Place, type Repositories } from './place';
import { prefixToRemember } from './remembered-prefixes';
import { changesShell, runsAnIndex } from './shell-builtins';
import { readShellCommand, type ShellWord, type SimpleCommand } from './shell-command';

/** The parts of a call that rules use. `args` as the tool receives them. */
export interface PermissionCall {
  tool: string;
  args: unknown;
  /** Absolute path of the folder in which the tool works, if known. */
  workspace?: string;
  /** The tool runs commands in a sandbox without network. */
  sandboxed?: true;
  /** What is known of repositories at the moment for which the call is judged. Without it, they are looked at again. */
  repositories?: Repositories;
}

/** The command of a call whose tool runs shell commands: its argument `command`. */
export function commandOf({ args }: PermissionCall): string | undefined {
  return isObject(args) && typeof args.command === 'string' ? args.command : undefined;
}

/** The host of a call's argument `url`, without a dot at its end; `undefined` if it has none. */
export function hostOf({ args }: PermissionCall): string | undefined {
  if (!isObject(args) || typeof args.url !== 'string' || !URL.canParse(args.url)) return undefined;
  return new URL(args.url).host.replace(/\.(?=:|$)/, '');
}

/**
 * The host of a call as a rule has it that allows the call: without a scheme for https:, and as `http://host` for http:, which nobody who remembered a
 * page over https: has agreed to. `undefined` for other schemes.
 */
export function originOf(call: PermissionCall): string | undefined {
  const host = hostOf(call);
  if (host === undefined || !isObject(call.args)) return undefined;
  const { protocol } = new URL(String(call.args.url));
  if (protocol === 'https:') return host;
  return protocol === 'http:' ? `http://${host}` : undefined;
}

/** The arguments of the tool `shell`. In the background, a command does what it does in the foreground. */
const aboutCommands: Record<string, (value: unknown) => boolean> = {
  command: () => true,
  workdir: () => true,
  timeout: (value) => typeof value === 'number',
  background: (value) => typeof value === 'boolean',
};

/** Whether the command alone determines what a call does: an unknown argument may name another machine, folder, user or environment. */
export function isCommandAlone({ args }: PermissionCall): boolean {
  return (
    isObject(args) &&
    Object.entries(args).every(
      ([name, value]) => value === undefined || (Object.hasOwn(aboutCommands, name) && aboutCommands[name]?.(value)),
    )
  );
}

/** The rule as text, such as `shell: git push`. */
export function ruleName({ tool, prefix, host }: PermissionRule): string {
  const what = prefix?.join(' ') ?? host;
  return what === undefined ? tool : `${tool}: ${what}`;
}

export function isSameRule(a: PermissionRule, b: PermissionRule): boolean {
  return a.tool === b.tool && a.exact === b.exact && a.host === b.host && JSON.stringify(a.prefix) === JSON.stringify(b.prefix);
}

export function withoutDoubles(rules: readonly PermissionRule[]): PermissionRule[] {
  return rules.filter((rule, at) => rules.findIndex((other) => isSameRule(rule, other)) === at);
}

/** `stop` applies to deny rules, and has no effect in others. */
const ruleKeys = ['tool', 'prefix', 'exact', 'host', 'stop'];

/** Returns the problem of a rule; `undefined` if it is valid. */
export function problemOfRule(rule: unknown): string | undefined {
  if (!isObject(rule) || typeof rule.tool !== 'string' || rule.tool.trim() === '')
    return 'is not a rule; give { tool } or { tool, prefix }';
  const { prefix, host } = rule;
  // For example the `command` of another system: without it the rule would apply to the whole tool.
  const odd = Object.keys(rule).find((key) => !ruleKeys.includes(key));
  if (odd !== undefined) return `has the unknown key '${odd}'; give { tool }, { tool, prefix } or { tool, host }`;
  if (rule.stop !== undefined && rule.stop !== true) return `has stop: ${JSON.stringify(rule.stop)}; use true, or leave it out`;
  if (rule.exact !== undefined && (rule.exact !== true || prefix === undefined)) {
    return `has exact: ${JSON.stringify(rule.exact)}; use true with a prefix that has all words of a command, or leave it out`;
  }
  if (host !== undefined && (prefix !== undefined || !isHost(host))) {
    return `has the host ${JSON.stringify(host)}; give it as in a URL, such as 'docs.example.com', or 'http://localhost:3000' for http:, and no prefix`;
  }
  if (prefix === undefined) return undefined;
  // A prefix given as one string with blanks is not a word; the words of a whole command may contain blanks.
  const isWord = (word: unknown, at: number) => typeof word === 'string' && (/^\S+$/.test(word) || (rule.exact === true && at > 0));
  const words = Array.isArray(prefix) && prefix.length > 0 && prefix.every(isWord);
  return words ? undefined : `has the prefix ${JSON.stringify(prefix)}; give the words of a command one by one, such as ['git', 'push']`;
}

/** Whether a value is a host in the form in which URLs have it, maybe with the scheme `http://`. */
function isHost(given: unknown): boolean {
  const host = typeof given === 'string' ? given.replace(/^http:\/\//, '') : '';
  return URL.canParse(`http://${host}`) && new URL(`http://${host}`).host === host;
}

/** The simple commands of a call, and where each may run; `undefined` if the command is not understood, or may leave the workspace. */
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
    } else {
      found.push({ command, place });
      if (programName(program?.text ?? '') === 'git' && path?.text === 'add') place = { ...place, mayHaveSubmodules: true };
    }
  }
  return found;
}

/** Looks at the repository in which a call's command runs git, and adds what it finds to the call's `repositories`. Pauses often. */
export function* lookAhead(call: PermissionCall, root: string | undefined): Generator<void, void> {
  const text = commandOf(call);
  const read = text === undefined ? undefined : readShellCommand(text);
  yield;
  const runsGit = read?.understood && read.commands.some(({ words: [program] }) => programName(program?.text ?? '') === 'git');
  if (runsGit && root !== undefined && call.repositories) yield* lookAtRepository(root, call.repositories);
}

/** Where a call's command starts: in the workspace, or in its folder `workdir`. */
function placeOf({ args, repositories }: PermissionCall, root: string | undefined): Place | undefined {
  const start: Place = { root, folders: [''], lookups: noLookups(repositories) };
  const workdir = isObject(args) ? args.workdir : undefined;
  if (workdir === undefined) return start;
  const folders = typeof workdir === 'string' ? foldersAt({ text: workdir, glob: false }, start) : undefined;
  return folders && { ...start, folders };
}

export interface Leave {
  /** The configured rules, taken literally. */
  rules: readonly PermissionRule[];
  /** The remembered rules, which allow no more than what people saw. */
  remembered: readonly PermissionRule[];
  /** The mode, in which known commands run without a rule. */
  mode: 'minimal' | 'trusted' | undefined;
  root: string | undefined;
  /** The tool works in a different folder than the one that permissions use, so only rules for the whole tool apply. */
  elsewhere: boolean;
}

/** A part of a call, and what allows it, as words; `undefined`: nothing. */
export interface AllowedPart {
  what: string;
  by: string | undefined;
}

/** Whether a call needs no approval: because each of its parts is allowed. */
export function allows(leave: Leave, call: PermissionCall): boolean {
  for (const { by } of allowedParts(leave, call)) if (by === undefined) return false;
  return true;
}

/**
 * Yields the parts of a call with what allows them. A call has one part, unless it is a shell command that is allowed by no rule for the whole tool:
 * then its parts are its simple commands. No prefix and no mode allows a command that is not understood.
 */
export function* allowedParts({ rules, remembered, mode, root, elsewhere }: Leave, call: PermissionCall): Generator<AllowedPart> {
  // Remembered rules come from people and stores, so an invalid rule allows nothing.
  const isOwn = (rule: PermissionRule) => problemOfRule(rule) === undefined && rule.tool === call.tool;
  const [written, kept] = [rules.filter(isOwn), remembered.filter(isOwn)];
  const own = [...written, ...kept];
  const whole = own.find((rule) => isForWholeTool(rule) || (rule.host !== undefined && rule.host === originOf(call)));
  if (whole) return yield { what: call.tool, by: wordsOf(whole) };
  const isShell = mode !== undefined && call.tool === shellTool;
  const isJudged = !elsewhere && (own.length > 0 || isShell) && commandOf(call) !== undefined && isCommandAlone(call);
  const commands = isJudged ? commandsOf(call, root) : undefined;
  if (!commands) return yield { what: commandOf(call) ?? call.tool, by: undefined };
  for (const { command, place } of commands) {
    const what = command.words.map(({ text }) => text).join(' ');
    if (isShell && runsFreely(command, mode, place)) {
      yield { what, by: `the mode ${mode}` };
      continue;
    }
    // A command that changes the shell changes the meaning of the others.
    const changes = changesShell(command.words);
    const rule = commands.length === 1 || !changes ? written.find((one) => allowsCommand(one, command, place)) : undefined;
    if (rule) yield { what, by: wordsOf(rule) };
    else yield { what, by: !changes && isRemembered(kept, command, place) ? 'a remembered rule' : undefined };
  }
}

function wordsOf(rule: PermissionRule): string {
  return `the rule (${ruleName(rule)})`;
}

/** Whether a remembered rule has the whole command, or first words that would be offered for it again. */
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
  if (!startsWith(words, prefix) || runsAnIndex(words)) return false;
  // A program with a relative path is a different program in another folder.
  if (/^[^/].*\//.test(words[0]?.text ?? '') && !isAtHome(place)) return false;
  // A rule that allows git to read doesn't allow programs that a repository names. Without a root, no repository can be checked.
  if (isReadingGit(words) && place.root !== undefined && !hasPlainRepository(place)) return false;
  // A rule that itself names the dangerous option, such as `find . -exec grep`, allows it, but not a second one after it.
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
