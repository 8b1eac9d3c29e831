import { messageOfThrown } from '../core/thrown';
import type { Tool } from '../tools/define-tool';
import { createToolbox, type Toolbox, type ToolboxOptions } from '../tools/toolbox';
import { isToolset, oddTool } from '../tools/toolset';
import { withinPatience } from '../tools/within';
import type { Agent, ToolSource } from './agent';

/** How long a function may take to say which tools there are: it may have to ask a server, and every model call waits for it. */
const sourceMs = 30_000;

/** An agent's ways to its tools. Throws `TypeError` for a source that can't be one, and for a list or set that makes no toolbox. */
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
    const odd = oddTool(tools);
    if (odd !== undefined) throw new TypeError(`defineAgent '${agent}': ${odd}`);
    try {
      last = { tools: [...tools], toolbox: createToolbox(tools, options) };
      return last.toolbox;
    } catch (error) {
      throw new TypeError(`defineAgent '${agent}': ${messageOfThrown(error)}`);
    }
  };
}

function sameTools(a: readonly Tool[], b: unknown): boolean {
  return Array.isArray(b) && a.length === b.length && a.every((tool, at) => tool === b[at]);
}
