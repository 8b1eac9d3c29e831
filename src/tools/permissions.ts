import { isAbsolute } from 'node:path';
import { type PermissionMode, type PermissionRule, permissionModes } from '../core/tool';
import { type Broken, brokenRule } from './deny-rules';
import { touchesGit } from './git-files';
import { editingTools, readingTools } from './harmless-commands';
import { allows, type PermissionCall, problemOfRule, ruleName } from './permission-rules';
import type { PermissionStore } from './permission-store';
import { suggestRules } from './permission-suggestions';

export type { PermissionMode } from '../core/tool';

/** A rule that blocks, also with `exact` whatever begins with its words. `stop`: the run ends with it, instead of the model being told. */
export interface DenyRule extends PermissionRule {
  stop?: true;
}

export interface PermissionOptions {
  deny?: readonly DenyRule[];
  allow?: readonly PermissionRule[];
  /** Without one the rules alone speak, and a tool's own approval stands where they say nothing. */
  mode?: PermissionMode;
  /**
   * The agent's workspace, absolute; default is the one its tools work in. With it commands may name paths in it by absolute paths, symbolic links are followed to see whether they lead
   * out of it, and git may read there.
   */
  root?: string;
  /** Keeps what people remember for the agent. */
  store?: PermissionStore;
}

/** `undefined` is no opinion: the tool's own approval stands. */
export type PermissionDecision = 'allow' | 'ask' | { deny: string; stop?: true } | undefined;

/** Which calls are refused, which need no approval, and which need one. Made by `createPermissions`. */
export interface Permissions {
  /**
   * Deny rules beat everything; then what is allowed by a rule, by what people remembered (`rules` for the thread, the store for the agent) or by
   * the mode needs no approval. Only where the store has to be asked it is a promise, which rejects as `PermissionStore.load` does.
   */
  decide(call: PermissionCall & { rules?: readonly PermissionRule[] }): PermissionDecision | Promise<PermissionDecision>;
  /** What a person may choose to remember of a call; it allows no more than was looked at. Often nothing, for shell commands. */
  suggest(call: PermissionCall): PermissionRule[];
  /** The same for one agent, whose remembered rules it reads from the store. `defineAgent` calls it. */
  forAgent(name: string): Permissions;
  readonly store?: PermissionStore;
}

/** Throws `TypeError` that names every problem. */
export function createPermissions(options: PermissionOptions = {}): Permissions {
  check(options);
  const { deny = [], allow = [], mode, root: known, store } = structuredCloneOfRules(options);

  const forAgent = (agent: string | undefined): Permissions =>
    Object.freeze({
      decide({ tool, args, workspace, rules = [] }: PermissionCall & { rules?: readonly PermissionRule[] }) {
        const call = { tool, args };
        const root = known ?? workspace;
        const broken = brokenRule(deny, call);
        if (broken) return refused(broken);
        const allowedBy = (stored: readonly PermissionRule[]) =>
          allows({ rules: allow, remembered: [...rules, ...stored], mode: mode === 'full-access' ? undefined : mode, root }, call);
        if (mode === 'full-access' || isHarmlessTool(call, mode, root) || allowedBy([])) return 'allow';
        const otherwise = mode === undefined ? undefined : 'ask';
        if (!store) return otherwise;
        if (agent === undefined) throw new Error('Permissions with a store must know whose rules to read from it: use forAgent(name).');
        return store.load(agent).then((stored) => (allowedBy(stored) ? 'allow' : otherwise));
      },
      suggest: (call: PermissionCall) => suggestRules(call, known ?? call.workspace),
      forAgent,
      ...(store && { store }),
    });
  return forAgent(undefined);
}

/** What is only suspected ends no run. */
function refused({ rule, unclear }: Broken<DenyRule>): PermissionDecision {
  const deny = `blocked by deny rule (${ruleName(rule)})`;
  if (unclear) return { deny: `${deny}, which it may break: it is too long, or its braces and quotes stand for too much, to be told` };
  return { deny, ...(rule.stop && { stop: rule.stop }) };
}

function isHarmlessTool({ tool, args }: PermissionCall, mode: PermissionMode | undefined, root: string | undefined): boolean {
  if (mode === undefined) return false;
  return readingTools.includes(tool) || (mode === 'trusted' && editingTools.includes(tool) && !touchesGit(args, root));
}

/** The lists are the owner's, who may change them; what was checked must not. */
function structuredCloneOfRules(options: PermissionOptions): PermissionOptions {
  const { deny = [], allow = [] } = options;
  return { ...options, deny: structuredClone([...deny]), allow: structuredClone([...allow]) };
}

function check({ deny = [], allow = [], mode, root, store }: PermissionOptions): void {
  const problems = [
    ...problemsOfRules('deny', deny),
    ...problemsOfRules('allow', allow),
    ...(mode === undefined || permissionModes.includes(mode)
      ? []
      : [`mode: is ${JSON.stringify(mode)}; use 'minimal', 'trusted' or 'full-access'`]),
    ...(root === undefined || (typeof root === 'string' && isAbsolute(root)) ? [] : ['root: give the absolute path of a folder']),
    ...(store === undefined || (typeof store?.load === 'function' && typeof store.add === 'function')
      ? []
      : ['store: give one with load and add, such as filePermissionStore(path)']),
  ];
  if (problems.length > 0) throw new TypeError(`createPermissions:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
}

function problemsOfRules(field: 'deny' | 'allow', rules: unknown): string[] {
  if (!Array.isArray(rules)) return [`${field}: give a list of rules`];
  return rules.flatMap((rule: unknown, at) => {
    const problem = problemOfRule(rule);
    return problem === undefined ? [] : [`${field}[${at}]: ${problem}`];
  });
}
