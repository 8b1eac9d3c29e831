import { setTimeout } from 'node:timers/promises';
import { namesPeople } from '../../core/ask-policy';
import { excerpt, type Json } from '../../core/json';
import { findTool } from '../../core/loaded-tools';
import type { ToolCall } from '../../core/message';
import { messageOfThrown } from '../../core/thrown';
import {
  type AskPolicy,
  canBeUnknown,
  type ExtraTool,
  mayAskPeople,
  type OnUnknown,
  type PermissionRule,
  type ToolError,
  type ToolSpec,
  type Verdict,
} from '../../core/tool';
import { doneTool } from '../built-in/done';
import { approvalFor } from '../defining/approval';
import { defaultToolTimeoutMs, type Tool } from '../defining/define-tool';
import { extraTool } from '../defining/extra-tool';
import { shellTool } from '../permissions/harmless-commands';
import { permissionFor, withSuggestions } from '../permissions/permission-check';
import { createPermissions, type Permissions } from '../permissions/permissions';
import type { Repositories } from '../permissions/place';
import { createFindTools } from '../search/find-tools';
import { type Compensated, compensateTool } from './compensate-tool';
import { undecided } from './probe-tool';
import { type Execution, failed, probedOutcome, runTool } from './run-tool';
import type { ToolHost } from './run-within';
import { shownArguments } from './shown-arguments';
import { parseArguments } from './tool-arguments';

export interface ToolboxOptions {
  /** Timeout of tools that set none, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** For tools that set none, and whose outcome can be unknown. Default `tell-model`. */
  onUnknown?: Exclude<OnUnknown, 'probe-again'>;
  permissions?: Permissions;
  /** Adds the tool `done`, with which the model ends its work. */
  done?: boolean;
  /** Tools that are not sent to the model before it finds them. With one or more, there is also the tool `find_tools`. Their calls run like others. */
  hidden?: readonly Tool[];
  /** Why tools may be missing, for the error about an unknown tool. */
  missing?: string;
}

/** Which tools are sent in addition to those that always are. */
export interface Shown {
  /** Names of hidden tools, in their order. */
  loaded?: readonly string[] | undefined;
  /** The name of the tool that the model must call. */
  forced?: string | undefined;
}

/** The parts of a decision that depend on the thread. */
export interface JudgeOptions {
  /** Rules that people remembered for the thread. */
  rules?: PermissionRule[];
  /** Tools that came with the thread's input, answered from outside. The agent's own tool of the same name takes precedence. */
  extraTools?: readonly ExtraTool[];
  /** The names of the tools that the model was sent, if it made the call. */
  sent?: readonly string[];
  /** Absolute path of the folder in which the tools work. */
  workspace?: string;
  /** The thread that made the call. */
  threadId?: string;
  /** A person may be asked about the call even if the tool needs no approval. */
  mayBeAsked?: boolean;
  /** Shared by the calls of one answer: they are judged for the same moment, so each repository is looked at once. */
  repositories?: Repositories;
}

/** The tools of one agent. Needs only Node, so it can be used in scripts and tests. */
export interface Toolbox {
  /** The tools to send, in the order given, then those of the thread, then hidden ones, because providers cache prompts by their prefix. */
  specs(extraTools?: readonly ExtraTool[], shown?: Shown): ToolSpec[];
  names(): string[];
  get(name: string): Tool | undefined;
  /** Decides what happens to a call. Runs only the tool's approval rule and the permissions. Never throws. */
  judge(call: ToolCall, options?: JudgeOptions): Promise<Verdict>;
  /** Whether a call that needed no approval still needs none: earlier calls may have changed what it would do. */
  isFree(call: ToolCall, options?: Pick<JudgeOptions, 'rules' | 'workspace' | 'threadId'>): Promise<boolean>;
  /** The arguments to show to people, if they differ from the model's text. */
  shown(call: ToolCall): Promise<string | undefined>;
  /**
   * Runs one attempt at a call: validates the arguments again, and runs the tool within its timeout. Never throws.
   * `threw`: `execute` threw something other than `ToolFailure`, so the tool's `retry` applies.
   */
  execute(call: ToolCall, host: ToolHost): Promise<Execution>;
  /**
   * Asks the tool's probe about an earlier attempt at a call. Returns the call's outcome, or undefined if the call was not carried out and is to be
   * executed. Without a probe, such as after a deploy that removed it, the outcome is unknown. Never throws.
   */
  probe(call: ToolCall, host: ToolHost): Promise<Execution | undefined>;
  /** Makes one attempt at compensating a call. `output`: what the tool returned, if that is known. Never throws. */
  compensate(call: ToolCall, output: Json | undefined, host: ToolHost): Promise<Compensated>;
}

/** Applies remembered rules for agents without permissions of their own. */
const rulesOnly = createPermissions({});

/** Creates a toolbox. Throws `TypeError` if two different tools share a name. */
export function createToolbox(tools: readonly Tool[], options: ToolboxOptions = {}): Toolbox {
  const { permissions = rulesOnly, timeoutMs: otherwise = defaultToolTimeoutMs, onUnknown = 'tell-model', hidden = [] } = options;
  const byName = named([
    ...tools,
    ...(options.done ? [doneTool] : []),
    ...(hidden.length > 0 ? [createFindTools(hidden, options.missing)] : []),
  ]);
  const hiddenNames = new Set(hidden.map(({ name }) => name));
  const unknown = unknownTool(byName, hiddenNames, options.missing);
  // The tools for files reach no more than the agent's commands do.
  const shell = byName.get(shellTool);
  const isConfined = !shell || (shell.sandbox && shell.sandbox.state !== 'unused');
  const hostFor = (host: ToolHost): ToolHost => (permissions.fullAccess && !isConfined ? { ...host, fullAccess: true } : host);

  return Object.freeze({
    specs(extraTools: readonly ExtraTool[] = [], { loaded = [], forced }: Shown = {}) {
      const always = [...byName.values()].filter(({ name }) => !hiddenNames.has(name));
      const found = [...new Set(forced === undefined ? loaded : [...loaded, forced])].filter((name) => hiddenNames.has(name));
      const brought = extraTools.filter(({ name }) => !byName.has(name));
      return [...always.map(specOf), ...brought.map(specOf), ...found.flatMap((name) => byName.get(name) ?? []).map(specOf)];
    },
    names: () => [...byName.keys()],
    get: (name: string) => byName.get(name),

    async judge(call: ToolCall, judging: JudgeOptions = {}): Promise<Verdict> {
      const { rules = [], extraTools = [], sent, workspace, threadId, mayBeAsked = false, repositories = new Map() } = judging;
      const tool = byName.get(call.name) ?? extraTool(extraTools, call.name);
      if (!tool) return { kind: 'reject', error: unknown(call.name, extraTools) };
      const parsed = await parseArguments(tool, call.arguments);
      const isUnseen = sent !== undefined && hiddenNames.has(call.name) && !sent.includes(call.name);
      if (!parsed.ok) return { kind: 'reject', error: isUnseen ? withHint(parsed.error, call.name) : parsed.error };
      if (tool === doneTool) return { kind: 'done', ...(parsed.args as { message?: string }) };
      const leave = await leaveFor(tool, parsed.args, { rules, permissions, workspace, threadId, repositories });
      if ('kind' in leave) return leave;
      const shown = leave.approval || mayBeAsked ? await shownOf(tool, call) : undefined;
      return { ...verdictOf(tool, leave.approval, { timeoutMs: otherwise, onUnknown }), ...(shown !== undefined && { arguments: shown }) };
    },

    async isFree(call: ToolCall, { rules = [], workspace, threadId }: Parameters<Toolbox['isFree']>[1] = {}): Promise<boolean> {
      const tool = byName.get(call.name);
      const parsed = permissions && tool && (await parseArguments(tool, call.arguments));
      if (!tool || !parsed?.ok) return true;
      // Looks at everything again, because what was known to `judge` may have changed.
      const leave = await leaveFor(tool, parsed.args, { rules, permissions, workspace, threadId, repositories: new Map() });
      return !('kind' in leave) && !leave.approval;
    },

    async shown(call: ToolCall): Promise<string | undefined> {
      const tool = byName.get(call.name);
      return tool && shownOf(tool, call);
    },

    async execute(call: ToolCall, host: ToolHost): Promise<Execution> {
      const tool = byName.get(call.name);
      if (!tool) return { outcome: failed(unknown(call.name), { status: 'rejected' }), threw: false };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { outcome: failed(parsed.error, { status: 'rejected' }), threw: false };
      return runTool(tool, call, parsed.args, { ...hostFor(host), timeoutMs: tool.timeoutMs ?? otherwise });
    },

    async probe(call: ToolCall, host: ToolHost): Promise<Execution | undefined> {
      const tool = byName.get(call.name);
      if (!tool?.probe) return { outcome: undecided(call.name, 'the tool has no probe any more'), threw: false };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { outcome: undecided(call.name, parsed.error.message), threw: false };
      // An error would fail the activity, and then count as a failed call, which the model repeats.
      return probedOutcome(tool, call, parsed.args, hostFor(host)).catch((error: unknown) => ({
        outcome: undecided(call.name, messageOfThrown(error)),
        threw: false,
      }));
    },

    async compensate(call: ToolCall, output: Json | undefined, host: ToolHost): Promise<Compensated> {
      const tool = byName.get(call.name);
      if (!tool) return { status: 'failed', message: unknown(call.name).message, final: true };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { status: 'failed', message: parsed.error.message, final: true };
      return compensateTool(tool, call, { args: parsed.args, output }, { ...hostFor(host), timeoutMs: tool.timeoutMs ?? otherwise });
    },
  });
}

function specOf({ name, description, parameters }: ToolSpec): ToolSpec {
  return { name, description, parameters };
}

/** Returns a function that makes the error for a tool that does not exist. */
function unknownTool(
  byName: ReadonlyMap<string, Tool>,
  hidden: ReadonlySet<string>,
  missing: string | undefined,
): (name: string, extra?: readonly ToolSpec[]) => ToolError {
  return (name, extra = []) => {
    const shown = [...[...byName.keys()].filter((own) => !hidden.has(own)), ...extra.map((tool) => tool.name)];
    const more = hidden.size > 0 ? ` ${findTool} finds others.` : '';
    return {
      name: 'ToolNotFoundError',
      message: `Unknown tool '${excerpt(name, 100)}'. Available tools: ${excerpt(shown.join(', ') || 'none', 4_000)}.${more}${missing ? ` ${missing}` : ''}`,
    };
  };
}

/** The model called a tool whose parameters it does not see. */
function withHint({ name, message }: ToolError, tool: string): ToolError {
  return {
    name,
    message: `${message}\nThe tool is not in your list of tools: ${findTool} with the query '${tool}' adds it, with its parameters.`,
  };
}

/** Arguments that differ with each validation, such as a default of the current time, can't be shown; then the model's text is shown. */
async function shownOf(tool: Tool, call: ToolCall): Promise<string | undefined> {
  const once = await parseArguments(tool, call.arguments);
  const first = once.ok ? shownArguments(tool, once.args, call.arguments) : undefined;
  if (first === undefined) return undefined;
  // Long enough for the clock to advance.
  await setTimeout(2);
  const again = await parseArguments(tool, call.arguments);
  return again.ok && shownArguments(tool, again.args, call.arguments) === first ? first : undefined;
}

interface CircumstancesOfCall {
  rules: PermissionRule[];
  permissions: Permissions | undefined;
  workspace: string | undefined;
  threadId: string | undefined;
  repositories: Repositories;
}

/** Whether a call may run, and whether it needs approval. */
async function leaveFor(
  tool: Tool,
  args: unknown,
  { rules, permissions, workspace, threadId, repositories }: CircumstancesOfCall,
): Promise<{ approval?: AskPolicy } | Extract<Verdict, { kind: 'reject' }>> {
  const request = {
    tool: tool.name,
    args,
    ...(workspace !== undefined && { workspace }),
    ...(tool.sandbox?.confines && { sandboxed: true as const }),
    ...(permissions?.prepare && { repositories }),
  };
  const permission = await permissionFor(permissions, { ...request, rules }, threadId);
  if (typeof permission === 'object' && 'kind' in permission) return permission;
  const isAllowed = permission === 'allow';
  if (isAllowed && !mayNamePeople(tool)) return {};
  if (isAllowed && (await permissionFor(permissions, { ...request, rules: [], configuredOnly: true }, threadId)) === 'allow') return {};
  const own = await approvalFor(tool, args, { threadId });
  if (own && 'refused' in own) return { kind: 'reject', error: own.refused };
  const why = typeof permission === 'object' ? { reason: permission.ask } : {};
  const ask = await withSubject(tool, args, { ...why, ...own?.ask }, threadId);
  // The person who remembered the rule decided about another call, and may not be one of those who must agree to this one.
  if (namesPeople(ask)) return { approval: { ...ask, remember: [] } };
  if (isAllowed || (!own && permission === undefined)) return {};
  return { approval: await withSuggestions(ask, permissions, request) };
}

/** Adds to the reason what the arguments don't show of what the call is about. */
async function withSubject(tool: Tool, args: unknown, ask: AskPolicy, threadId: string | undefined): Promise<AskPolicy> {
  const subject = await tool.subject?.(args, { threadId });
  return subject === undefined ? ask : { ...ask, reason: ask.reason === undefined ? subject : `${subject}. ${ask.reason}` };
}

function mayNamePeople({ approval }: Tool): boolean {
  return approval !== undefined && (approval.when !== 'always' || namesPeople(approval.ask));
}

function verdictOf(tool: Tool, approval: AskPolicy | undefined, otherwise: { timeoutMs: number; onUnknown: OnUnknown }): Verdict {
  const { effect, timeoutMs = otherwise.timeoutMs, retry, background, ask, question, questions } = tool;
  const { onUnknown = canBeUnknown[effect] && !background ? otherwise.onUnknown : 'tell-model' } = tool;
  const asked = approval && { approval };
  if (!tool.execute) return { kind: 'external', ...asked, ...(ask && { ask }), ...(question && { question }) };
  return {
    kind: 'run',
    effect,
    timeoutMs,
    ...asked,
    ...(retry && { retry }),
    ...(background && { background }),
    ...(onUnknown !== 'tell-model' && { onUnknown }),
    ...(questions && mayAskPeople[effect] && !background && { questions }),
  };
}

function named(tools: readonly Tool[]): Map<string, Tool> {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const before = byName.get(tool.name);
    if (before && before !== tool) {
      const remedy =
        tool === doneTool
          ? "an agent with stop 'done-tool' has a built-in tool of that name. Rename yours"
          : tool.name === findTool
            ? 'an agent with tool search has a built-in tool of that name. Rename yours, or set toolSearch: false'
            : 'the model could not tell them apart. Rename one';
      throw new TypeError(`Two tools are named '${tool.name}'; ${remedy}.`);
    }
    byName.set(tool.name, tool);
  }
  return byName;
}
