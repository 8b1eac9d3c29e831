import { excerpt } from '../core/json';
import type { ToolCall } from '../core/message';
import type { Approval, ToolError, ToolSpec, Verdict } from '../core/tool';
import type { Tool } from './define-tool';
import { type Execution, failed, runTool, type ToolHost } from './run-tool';
import { parseArguments } from './tool-arguments';

/** The tools of one agent. Needs nothing but Node: usable from a script and from tests. */
export interface Toolbox {
  /** In the order given: providers cache prompts by their beginning. */
  specs(): ToolSpec[];
  names(): string[];
  get(name: string): Tool | undefined;
  /** What is to happen with a call. Runs nothing but the tool's own approval rule; never throws. */
  judge(call: ToolCall): Promise<Verdict>;
  /**
   * One attempt at a call: checks the arguments again, runs the tool within its timeout, and never throws.
   * `threw`: `execute` threw something other than `ToolFailure`, so the tool's `retry` applies.
   */
  execute(call: ToolCall, host: ToolHost): Promise<Execution>;
}

/** How long an approval rule may think before a person is asked anyway. */
const approvalDeadlineMs = 10_000;

/** Throws `TypeError` when two different tools share a name. */
export function createToolbox(tools: readonly Tool[]): Toolbox {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const before = byName.get(tool.name);
    if (before && before !== tool)
      throw new TypeError(`Two tools are named '${tool.name}'; the model could not tell them apart. Rename one.`);
    byName.set(tool.name, tool);
  }

  const unknown = (name: string): ToolError => ({
    name: 'ToolNotFoundError',
    message: `Unknown tool '${excerpt(name, 100)}'. Available tools: ${[...byName.keys()].join(', ') || 'none'}.`,
  });

  return Object.freeze({
    specs: () => [...byName.values()].map(({ name, description, parameters }) => ({ name, description, parameters })),
    names: () => [...byName.keys()],
    get: (name: string) => byName.get(name),

    async judge(call: ToolCall): Promise<Verdict> {
      const tool = byName.get(call.name);
      if (!tool) return { kind: 'reject', error: unknown(call.name) };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { kind: 'reject', error: parsed.error };
      const approval = await approvalFor(tool, parsed.args);
      if (!tool.execute) return { kind: 'external', ...(approval && { approval }) };
      const { effect, timeoutMs, retry } = tool;
      return { kind: 'run', effect, timeoutMs, ...(approval && { approval }), ...(retry && { retry }) };
    },

    async execute(call: ToolCall, host: ToolHost): Promise<Execution> {
      const tool = byName.get(call.name);
      if (!tool) return { outcome: failed(unknown(call.name), { status: 'rejected' }), threw: false };
      const parsed = await parseArguments(tool, call.arguments);
      if (!parsed.ok) return { outcome: failed(parsed.error, { status: 'rejected' }), threw: false };
      return runTool(tool, call, parsed.args, host);
    },
  });
}

/** `undefined`: no person is needed. */
async function approvalFor(tool: Tool, args: unknown): Promise<Approval | undefined> {
  const rule = tool.approval;
  if (rule === 'never') return undefined;
  if (rule === 'always') return {};
  let deadline: NodeJS.Timeout | undefined;
  try {
    const answer: unknown = await Promise.race([
      rule(args),
      new Promise((_, reject) => {
        deadline = setTimeout(() => reject(new Error(`no answer within ${approvalDeadlineMs / 1_000} s`)), approvalDeadlineMs);
      }),
    ]);
    if (answer === false) return undefined;
    if (typeof answer === 'string' && answer.trim() !== '') return { reason: excerpt(answer, 500) };
    return answer === true || typeof answer === 'string' ? {} : { reason: 'The approval rule gave no clear answer.' };
  } catch (error) {
    return { reason: excerpt(`The approval rule failed: ${error instanceof Error ? error.message : String(error)}`, 500) };
  } finally {
    clearTimeout(deadline);
  }
}
