import { isAbsolute } from 'node:path';
import { unknownFields } from '../../core/closest';
import { type PermissionMode, type PermissionRule, permissionModes } from '../../core/tool';
import { type Broken, brokenRule } from './deny-rules';
import { type Explanation, explainLeave } from './explain';
import { touchesKept, touchesOwn } from './git-files';
import { editingTools, readingTools, speakingTools } from './harmless-commands';
import { inTurn } from './in-turn';
import { allows, commandOf, type Leave, lookAhead, type PermissionCall, problemOfRule, ruleName } from './permission-rules';
import type { PermissionStore } from './permission-store';
import { suggestRules } from './permission-suggestions';
import { whereItLeads } from './place';

export type { PermissionMode } from '../../core/tool';

/**
 * A rule that refuses calls. With `exact`, it still refuses every command that begins with its words. `stop`: the run ends, instead of the model
 * being told.
 */
export interface DenyRule extends PermissionRule {
  stop?: true | undefined;
}

export interface PermissionOptions {
  deny?: readonly DenyRule[] | undefined;
  allow?: readonly PermissionRule[] | undefined;
  /** Without a mode, only the rules apply, and the tool's own approval decides about all other calls. */
  mode?: PermissionMode | undefined;
  /**
   * Absolute path of the agent's workspace; default: the folder in which its tools work. If both are set and differ, no call whose effect depends on
   * a folder runs without approval. With a root, commands may name its paths as absolute paths, symbolic links are resolved to detect those that
   * lead out of it, and git may read there.
   */
  root?: string | undefined;
  /** Stores the rules that people remember for the agent. */
  store?: PermissionStore | undefined;
}

/** `undefined`: the tool's own approval decides. With `ask`, the approval request shows the reason. */
export type PermissionDecision = 'allow' | 'ask' | { ask: string } | { deny: string; stop?: true } | undefined;

/** Decides which calls are refused, which need no approval, and which need one. Created by `createPermissions`. */
export interface Permissions {
  /**
   * Decides about a call. Deny rules take precedence. After them, a call needs no approval if it is allowed by a rule, by a rule that people
   * remembered (`rules` for the thread, the store for the agent), or by the mode; `configuredOnly` ignores remembered rules. Returns a promise only
   * if the store must be read; it rejects as `PermissionStore.load` does.
   */
  decide(
    call: PermissionCall & { rules?: readonly PermissionRule[] | undefined; configuredOnly?: true | undefined },
  ): PermissionDecision | Promise<PermissionDecision>;
  /** The rules that a person may remember for a call; they allow no more than the person saw. Often empty for shell commands. */
  suggest(call: PermissionCall): PermissionRule[];
  /**
   * Looks up what `decide` and `suggest` will need to know about the workspace, in short steps, and adds it to the call's `repositories`. Without it,
   * they look it up themselves, which can take a tenth of a second in a large repository.
   */
  prepare?: ((call: PermissionCall) => Iterable<unknown>) | undefined;
  /** Says what `decide` decides, and why. */
  explain(call: PermissionCall & { rules?: readonly PermissionRule[] | undefined }): Promise<Explanation>;
  /** Returns these permissions for one agent, whose remembered rules are read from the store. Called by `defineAgent`. */
  forAgent(name: string): Permissions;
  readonly store?: PermissionStore | undefined;
  /** The mode is `full-access`: the tools for files may leave the workspace if commands may. */
  readonly fullAccess?: true | undefined;
}

/** Creates permissions. Throws `TypeError` that names every problem. */
export function createPermissions(options: PermissionOptions = {}): Permissions {
  check(options);
  const [unknown] = unknownFields(options, ['deny', 'allow', 'mode', 'root', 'store'] satisfies (keyof PermissionOptions)[]);
  if (unknown) throw new TypeError(`createPermissions: ${unknown}`);
  const { deny = [], allow = [], mode, root: known, store } = structuredCloneOfRules(options);

  const leaveFor = (workspace: string | undefined) => {
    const root = known ?? workspace;
    const elsewhere = worksElsewhere(known, workspace);
    const leave: Omit<Leave, 'remembered'> = {
      rules: allow,
      mode: mode === 'full-access' ? undefined : mode === 'sandboxed' ? 'trusted' : mode,
      root,
      elsewhere: elsewhere !== undefined,
    };
    return { elsewhere, leave };
  };

  const forAgent = (agent: string | undefined): Permissions =>
    Object.freeze({
      decide({
        tool,
        args,
        workspace,
        sandboxed,
        repositories,
        rules = [],
        configuredOnly,
      }: PermissionCall & { rules?: readonly PermissionRule[]; configuredOnly?: true }) {
        const call = { tool, args, ...(repositories && { repositories }) };
        const { elsewhere, leave } = leaveFor(workspace);
        const broken = brokenRule(deny, call);
        if (broken) return refused(broken);
        const allowedBy = (stored: readonly PermissionRule[]) => allows({ ...leave, remembered: [...rules, ...stored] }, call);
        if (isAllowedByMode({ ...call, sandboxed }, mode, leave) || allowedBy([])) return 'allow';
        const otherwise = mode === undefined ? undefined : elsewhere ? { ask: elsewhere } : 'ask';
        if (!store || configuredOnly) return otherwise;
        if (agent === undefined)
          throw new Error('Permissions with a store need the name of the agent whose rules to read: use forAgent(name).');
        return store.load(agent).then((stored) => inTurn(() => (allowedBy(stored) ? 'allow' : otherwise), { begun: true }));
      },
      async explain({
        tool,
        args,
        workspace,
        sandboxed,
        rules = [],
      }: PermissionCall & { rules?: readonly PermissionRule[] }): Promise<Explanation> {
        const call = { tool, args };
        const { elsewhere, leave } = leaveFor(workspace);
        const broken = brokenRule(deny, call);
        if (broken) return { decision: 'deny', why: [`${tool}: ${refused(broken).deny}`] };
        if (isAllowedByMode({ ...call, sandboxed }, mode, leave))
          return { decision: 'allow', why: [`${tool}: allowed by the mode ${mode}`] };
        const stored = store && agent !== undefined ? await store.load(agent) : [];
        const explained = explainLeave({ ...leave, remembered: [...rules, ...stored] }, call, elsewhere);
        if (mode !== 'sandboxed' || explained.decision !== 'ask' || commandOf(call) === undefined) return explained;
        return { ...explained, why: [...explained.why, 'the mode sandboxed allows only commands that run in a sandbox without network'] };
      },
      suggest(call: PermissionCall) {
        if (commandOf(call) !== undefined && worksElsewhere(known, call.workspace)) return [];
        return suggestRules(call, known ?? call.workspace);
      },
      *prepare(call: PermissionCall) {
        if (mode !== 'full-access' && !(mode === 'sandboxed' && call.sandboxed)) yield* lookAhead(call, known ?? call.workspace);
      },
      forAgent,
      ...(store && { store }),
      ...(mode === 'full-access' && { fullAccess: true as const }),
    });
  return forAgent(undefined);
}

/**
 * Why a call can't be judged: its tool works in a different folder than the one that permissions use, where links and git's settings differ.
 * `undefined` if both are the same.
 */
function worksElsewhere(root: string | undefined, workspace: string | undefined): string | undefined {
  if (root === undefined || workspace === undefined || root === workspace) return undefined;
  const real = whereItLeads(root);
  if (real !== undefined && real === whereItLeads(workspace)) return undefined;
  return `Permissions judge calls for ${root}, but tools work in ${workspace}. Use the same folder for both, or leave out the root of createPermissions.`;
}

/** A rule that is only possibly broken doesn't end the run. */
function refused({ rule, unclear }: Broken<DenyRule>): { deny: string; stop?: true } {
  const deny = `blocked by deny rule (${ruleName(rule)})`;
  if (unclear) return { deny: `${deny}, which it may break: it is too long, or has too many braces, quotes and expansions, to be checked` };
  return { deny, ...(rule.stop && { stop: rule.stop }) };
}

/** Whether the mode allows the call as a whole. Whether it allows the commands of a shell is decided one by one. */
function isAllowedByMode(
  { tool, args, sandboxed }: Pick<PermissionCall, 'tool' | 'args'> & { sandboxed: true | undefined },
  mode: PermissionMode | undefined,
  { mode: withoutSandbox, root, elsewhere }: Omit<Leave, 'remembered'>,
): boolean {
  if (mode === 'full-access') return true;
  if (mode === undefined || elsewhere) return false;
  if (mode === 'sandboxed' && sandboxed) return true;
  if (speakingTools.includes(tool)) return true;
  if (readingTools.includes(tool)) return !touchesOwn(args, root);
  return withoutSandbox === 'trusted' && editingTools.includes(tool) && !touchesKept(args, root);
}

/** Copies the rules, because their owner may change the lists after they were checked. */
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
      : [`mode: is ${JSON.stringify(mode)}; use 'minimal', 'trusted', 'sandboxed' or 'full-access'`]),
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
