import { messageOfThrown } from '../core/thrown';
import type { Tool } from '../tools/define-tool';
import { doneTool } from '../tools/done';
import { createToolbox, type Toolbox, type ToolboxOptions } from '../tools/toolbox';
import { isToolset, oddTools } from '../tools/toolset';
import { withinPatience } from '../tools/within';
import type { Agent, ToolSource } from './agent';

/** How long a function may take to say which tools there are: it may have to ask a server, and every model call waits for it. */
const sourceMs = 30_000;

/** What is wrong with a list or a set, a sentence each. What a function will give is not known beforehand. */
export function problemsOfTools(source: ToolSource, options: ToolboxOptions): string[] {
  if (typeof source === 'function') return [];
  return toolboxOf(isToolset(source) ? source.list() : source, options).problems;
}

/** A toolbox of a list, or what is wrong with the list. */
function toolboxOf(tools: readonly Tool[], options: ToolboxOptions): { toolbox?: Toolbox; problems: string[] } {
  const odd = oddTools(tools);
  if (odd.length > 0) return { problems: odd };
  try {
    return { toolbox: createToolbox(tools, options), problems: [] };
  } catch (error) {
    return { problems: [messageOfThrown(error)] };
  }
}

/** The names of a list that is in order; undefined where the tools may be others at the next turn. */
export function toolNames(source: ToolSource, done: boolean): string[] | undefined {
  if (!Array.isArray(source) || oddTools(source).length > 0) return undefined;
  return [...source.map((tool: Tool) => tool.name), ...(done ? [doneTool.name] : [])];
}

/** An agent's ways to its tools. Throws `TypeError` for a list or set that makes no toolbox. */
export function agentTools(agent: string, source: ToolSource, options: ToolboxOptions): Pick<Agent, 'toolbox' | 'toolsFor'> {
  const boxOf = toolboxes(agent, options);
  if (typeof source === 'function') {
    return {
      toolbox: boxOf([]),
      async toolsFor(ctx) {
        return boxOf(await withinPatience(() => source(ctx), sourceMs));
      },
    };
  }
  // A list is copied, because its owner may change it; a set says itself that it changed.
  const list = isToolset(source) ? () => source.list() : fixed(source);
  boxOf(list());
  return {
    get toolbox() {
      return boxOf(list());
    },
    toolsFor: async () => boxOf(list()),
  };
}

function fixed(tools: readonly Tool[]): () => readonly Tool[] {
  const copy = Array.isArray(tools) ? [...tools] : tools;
  return () => copy;
}

/** Makes a toolbox of a list; of the same tools as last time, the same. So it costs nothing to ask at every turn. */
function toolboxes(agent: string, options: ToolboxOptions): (tools: readonly Tool[]) => Toolbox {
  let last: { tools: readonly Tool[]; toolbox: Toolbox } | undefined;
  return (tools) => {
    if (last && sameTools(last.tools, tools)) return last.toolbox;
    const { toolbox, problems } = toolboxOf(tools, options);
    if (!toolbox) throw new TypeError(`defineAgent '${agent}': ${problems.join(' ')}`);
    last = { tools: [...tools], toolbox };
    return toolbox;
  };
}

function sameTools(a: readonly Tool[], b: unknown): boolean {
  return Array.isArray(b) && a.length === b.length && a.every((tool, at) => tool === b[at]);
}
