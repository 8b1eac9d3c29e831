import { excerpt } from '../core/json';
import type { ToolCall } from '../core/message';
import type { AskPolicy, PermissionRule, ToolError, ToolSpec, Verdict } from '../core/tool';
import { approvalFor } from './approval';
import { defaultToolTimeoutMs, type Tool } from './define-tool';
import { doneTool } from './done';
import { extraTool } from './extra-tool';
import { permissionFor, withSuggestions } from './permission-check';
import { createPermissions, type Permissions } from './permissions';
import { type Execution, failed, runTool, type ToolHost } from './run-tool';
import { shownArguments } from './shown-arguments';
import { parseArguments } from './tool-arguments';

export interface ToolboxOptions {
  /** For tools that set none, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  permissions?: Permissions;
  /** Adds the tool `done`, by which the model says that it is. */
  done?: boolean;
}

/** What a thread adds to what an agent has. */
export interface JudgeOptions {
  /** What people said to remember. */
  rules?: PermissionRule[];
  /** Tools that came with the thread's input; answered from outside. One whose name the agent's own have is not looked at. */
  extraTools?: readonly ToolSpec[];
  /** The folder the tools work in, absolute. */
  workspace?: string;
  /** Somebody may be asked about the call whatever the tool says. */
  mayBeAsked?: boolean;
}

/** The tools of one agent. Needs nothing but Node: usable from a script and from tests. */
export interface Toolbox {
  /** In the order given, those that a thread adds last: providers cache prompts by their beginning. */
  specs(extraTools?: readonly ToolSpec[]): ToolSpec[];
  names(): string[];
  get(name: string): Tool | undefined;
  /** What is to happen with a call. Runs nothing but the tool's own approval rule, and the permissions; never throws. */
  judge(call: ToolCall, options?: JudgeOptions): Promise<Verdict>;
  /** Whether a call that was judged to need nobody still does not: what ran since may have changed what it would do. */
  isFree(call: ToolCall, options?: Pick<JudgeOptions, 'rules' | 'workspace'>): Promise<boolean>;
  /**
   * One attempt at a call: checks the arguments again, runs the tool within its timeout, and never throws.
   * `threw`: `execute` threw something other than `ToolFailure`, so the tool's `retry` applies.
   */
  execute(call: ToolCall, host: ToolHost): Promise<Execution>;
}

/** What people said to remember counts for every agent. */
const rulesOnly = createPermissions({});

/** Throws `TypeError` when two different tools share a name. */
export function createToolbox(tools: readonly Tool[], options: ToolboxOptions = {}): Toolbox {
  const { permissions = rulesOnly, timeoutMs: otherwise = defaultToolTimeoutMs } = options;
  const byName = named(options.done ? [...tools, doneTool] : tools);

  const unknown = (name: string, extra: readonly ToolSpec[] = []): ToolError => ({
    name: 'ToolNotFoundError',
    message: `Unknown tool '${excerpt(name, 100)}'. Available tools: ${[...byName.keys(), ...extra.map((tool) => tool.name)].join(', ') || 'none'}.`,
  });

  return Object.freeze({
    specs(extraTools: readonly ToolSpec[] = []) {
      const own = [...byName.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
      return [...own, ...extraTools.filter(({ name }) => !byName.has(name))];
    },
    names: () => [...byName.keys()],
    get: (name: string) => byName.get(name),

    async judge(call: ToolCall, { rules = [], extraTools = [], workspace, mayBeAsked = false }: JudgeOptions = {}): Promise<Verdict> {
      const tool = byName.get(call.name) ?? extraTool(extraTools, call.name);
      if (!tool) return { kind: 'reject', error: unknown(call.name, extraTools) };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { kind: 'reject', error: parsed.error };
      if (tool === doneTool) return { kind: 'done', ...(parsed.args as { message?: string }) };
      const leave = await leaveFor(tool, parsed.args, { rules, permissions, workspace });
      if ('kind' in leave) return leave;
      const shown = leave.approval || mayBeAsked ? shownArguments(tool, parsed.args, call.arguments) : undefined;
      return { ...verdictOf(tool, leave.approval, otherwise), ...(shown !== undefined && { arguments: shown }) };
    },

    async isFree(call: ToolCall, { rules = [], workspace }: Pick<JudgeOptions, 'rules' | 'workspace'> = {}): Promise<boolean> {
      const tool = byName.get(call.name);
      const parsed = permissions && tool && (await parseArguments(tool, call.arguments));
      if (!tool || !parsed?.ok) return true;
      const leave = await leaveFor(tool, parsed.args, { rules, permissions, workspace });
      return !('kind' in leave) && !leave.approval;
    },

    async execute(call: ToolCall, host: ToolHost): Promise<Execution> {
      const tool = byName.get(call.name);
      if (!tool) return { outcome: failed(unknown(call.name), { status: 'rejected' }), threw: false };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { outcome: failed(parsed.error, { status: 'rejected' }), threw: false };
      return runTool(tool, call, parsed.args, { ...host, timeoutMs: tool.timeoutMs ?? otherwise });
    },
  });
}

/** Whether a call may run, and whether a person must agree first. */
async function leaveFor(
  tool: Tool,
  args: unknown,
  { rules, permissions, workspace }: { rules: PermissionRule[]; permissions: Permissions | undefined; workspace: string | undefined },
): Promise<{ approval?: AskPolicy } | Extract<Verdict, { kind: 'reject' }>> {
  const request = { tool: tool.name, args, ...(workspace !== undefined && { workspace }) };
  const permission = await permissionFor(permissions, { ...request, rules });
  if (typeof permission === 'object') return permission;
  if (permission === 'allow') return {};
  const own = await approvalFor(tool, args);
  if (own && 'refused' in own) return { kind: 'reject', error: own.refused };
  if (!own && permission !== 'ask') return {};
  return { approval: withSuggestions(own?.ask ?? {}, permissions, request) };
}

function verdictOf(tool: Tool, approval: AskPolicy | undefined, otherwise: number): Verdict {
  const { effect, timeoutMs = otherwise, retry, background, ask, question } = tool;
  const asked = approval && { approval };
  if (!tool.execute) return { kind: 'external', ...asked, ...(ask && { ask }), ...(question && { question }) };
  return { kind: 'run', effect, timeoutMs, ...asked, ...(retry && { retry }), ...(background && { background }) };
}

function named(tools: readonly Tool[]): Map<string, Tool> {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const before = byName.get(tool.name);
    if (before && before !== tool) {
      const remedy =
        tool === doneTool
          ? "a run that only 'done' ends brings that tool itself. Rename yours"
          : 'the model could not tell them apart. Rename one';
      throw new TypeError(`Two tools are named '${tool.name}'; ${remedy}.`);
    }
    byName.set(tool.name, tool);
  }
  return byName;
}
