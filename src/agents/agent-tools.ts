import { messageOfThrown } from '../core/thrown';
import { doneTool } from '../tools/built-in/done';
import type { Tool } from '../tools/defining/define-tool';
import { isToolProvider, type ToolProvider } from '../tools/defining/tool-provider';
import { isToolset, oddTools } from '../tools/defining/toolset';
import { withinPatience } from '../tools/defining/within';
import { createToolbox, type Toolbox, type ToolboxOptions } from '../tools/running/toolbox';
import type { Agent, AgentDefinition, ToolSource } from './agent';

/** How long a tools function may take: it may have to call a server, and every model call waits for it. */
const sourceMs = 30_000;

/** Returns the problems of a list or toolset, one sentence each. The tools of a function are not known beforehand. */
export function problemsOfTools(source: ToolSource, options: ToolboxOptions): string[] {
  if (typeof source === 'function') return [];
  return toolboxOf(isToolset(source) ? source.list() : ownTools(source), options).problems;
}

/** Creates a toolbox from a list, or returns the problems of the list. */
function toolboxOf(tools: readonly Tool[], options: ToolboxOptions): { toolbox?: Toolbox; problems: string[] } {
  const odd = oddTools(tools);
  if (odd.length > 0) return { problems: odd };
  try {
    return { toolbox: createToolbox(tools, options), problems: [] };
  } catch (error) {
    return { problems: [messageOfThrown(error)] };
  }
}

/** The entries of a list that are no providers. */
export function ownTools(list: readonly (Tool | ToolProvider)[]): readonly Tool[] {
  return Array.isArray(list) ? list.filter((entry) => !isToolProvider(entry)) : (list as readonly Tool[]);
}

/** The names of a valid list; undefined if the tools may change between turns. */
export function toolNames(source: ToolSource, done: boolean): string[] | undefined {
  if (!Array.isArray(source) || oddTools(source).length > 0) return undefined;
  return [...source.map((tool: Tool) => tool.name), ...(done ? [doneTool.name] : [])];
}

/** Creates an agent's access to its tools. Throws `TypeError` for an invalid list or toolset. */
export function agentTools(
  agent: string,
  { tools: source = [], readOutputs = true }: Pick<AgentDefinition, 'tools' | 'readOutputs'>,
  options: ToolboxOptions,
): Pick<Agent, 'toolbox' | 'toolsFor' | 'providers'> {
  const boxOf = toolboxes(agent, options);
  // Without tools there are no outputs.
  const withOutputTools = (tools: readonly Tool[], more: readonly Tool[] = []) =>
    readOutputs && Array.isArray(tools) && tools.length > 0 ? withMissing(tools, more) : tools;
  if (typeof source === 'function') {
    return {
      providers: [],
      toolbox: boxOf([]),
      async toolsFor({ outputTools, threadId }) {
        return boxOf(withOutputTools(await withinPatience(() => source({ threadId }), sourceMs), outputTools));
      },
    };
  }
  // A list is copied, because its owner may change it; a toolset returns a new array after a change.
  const list = isToolset(source) ? () => source.list() : fixed(ownTools(source));
  const providers = isToolset(source) ? [] : source.filter(isToolProvider);
  boxOf(list());
  return {
    get toolbox() {
      return boxOf(list());
    },
    providers,
    async toolsFor({ outputTools, ...wanted }) {
      const provided = await Promise.all(providers.map((provider) => provider.tools(wanted)));
      // The agent's own tools take precedence over those of the same name.
      return boxOf(withOutputTools(provided.reduce(withMissing, list()), outputTools));
    },
  };
}

/** Adds the tools of which there is none of that name. They come last, because providers cache prompts by their prefix. */
function withMissing(tools: readonly Tool[], more: readonly Tool[]): readonly Tool[] {
  const names = new Set(tools.map((tool) => tool?.name));
  return [...tools, ...more.filter(({ name }) => !names.has(name))];
}

function fixed(tools: readonly Tool[]): () => readonly Tool[] {
  const copy = Array.isArray(tools) ? [...tools] : tools;
  return () => copy;
}

/** Creates a toolbox from a list. For the same tools as last time, returns the same toolbox, so that calling it at every turn is cheap. */
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
