import { messageOfThrown } from '../core/thrown';
import { doneTool } from '../tools/built-in/done';
import type { Tool } from '../tools/defining/define-tool';
import { isToolProvider, providerMs, type ToolProvider, type ToolsWanted } from '../tools/defining/tool-provider';
import { isToolset, oddTools, type Toolset } from '../tools/defining/toolset';
import { withinPatience } from '../tools/defining/within';
import { createToolbox, type Toolbox, type ToolboxOptions } from '../tools/running/toolbox';
import type { Agent, AgentDefinition, ToolSource } from './agent';
import { type GatheredTools, hiddenTools, type ToolSearchOptions } from './tool-search';

type Options = ToolboxOptions & { search?: boolean | ToolSearchOptions | undefined };

/** Returns the problems of a list or toolset, one sentence each. The tools of functions and providers are not known beforehand. */
export function problemsOfTools(source: ToolSource, options: Options): string[] {
  return typeof source === 'function' ? [] : toolboxOf(knownTools(source), options).problems;
}

/** The characters of the tools that are sent to the model in any case, as far as they are known. Only for valid tools. */
export function charsOfTools({ tools = [], toolSearch: search }: Pick<AgentDefinition, 'tools' | 'toolSearch'>): number {
  if (!Array.isArray(tools)) return 0;
  const specs = toolboxOf(knownTools(tools), { search }).toolbox?.specs() ?? [];
  return specs.length > 0 ? JSON.stringify(specs).length : 0;
}

/** Creates a toolbox, or returns the problems of the tools. */
function toolboxOf(gathered: Gathered, { search, ...options }: Options): { toolbox?: Toolbox; problems: string[] } {
  const { own, others, outputTools = [], missing } = gathered;
  const odd = [...oddTools(own), ...oddTools(others)];
  if (odd.length > 0) return { problems: odd };
  try {
    const hidden = hiddenTools(gathered, search);
    const tools = [...own, ...others, ...outputTools];
    return { toolbox: createToolbox(tools, { ...options, hidden, ...(missing !== undefined && { missing }) }), problems: [] };
  } catch (error) {
    return { problems: [messageOfThrown(error)] };
  }
}

/** The tools of a list, of the toolsets in it, or of a toolset. */
function knownTools(source: Exclude<ToolSource, (...args: never) => unknown>): GatheredTools {
  if (isToolset(source)) return { own: [], others: source.list() };
  if (!Array.isArray(source)) return { own: source as readonly Tool[], others: [] };
  const own: readonly Tool[] = source.filter((entry) => !isToolset(entry) && !isToolProvider(entry));
  return {
    own,
    others: merged(
      own,
      source.filter(isToolset).map((toolset: Toolset) => toolset.list()),
    ),
  };
}

/** The names of a valid list; undefined if the tools may change between turns. */
export function toolNames(source: ToolSource, done: boolean): string[] | undefined {
  if (!Array.isArray(source) || oddTools(source).length > 0) return undefined;
  return [...source.map((tool: Tool) => tool.name), ...(done ? [doneTool.name] : [])];
}

/** Creates an agent's access to its tools. Throws `TypeError` for an invalid list or toolset. */
export function agentTools(
  agent: string,
  { tools: source = [], readOutputs = true, toolSearch: search }: Pick<AgentDefinition, 'tools' | 'readOutputs' | 'toolSearch'>,
  options: ToolboxOptions,
): Pick<Agent, 'toolbox' | 'toolsFor' | 'providers'> {
  const boxOf = toolboxes(agent, { ...options, search });
  const gather = gathererOf(source);
  // A list is copied, because its owner may change it; a toolset returns a new array after a change.
  const known = typeof source === 'function' ? [] : Array.isArray(source) ? [...source] : source;
  boxOf(knownTools(known));
  return {
    get toolbox() {
      return boxOf(knownTools(known));
    },
    providers: Array.isArray(known) ? known.filter(isToolProvider) : [],
    async toolsFor({ outputTools = [], ...wanted }) {
      const gathered = await gather(wanted);
      return boxOf(readOutputs ? withOutputTools(gathered, outputTools) : gathered);
    },
  };
}

interface Gathered extends GatheredTools {
  /** Tools that read long outputs. */
  outputTools?: readonly Tool[];
  /** Which providers failed, and why. */
  missing?: string | undefined;
}

/** Without tools there are no outputs. */
function withOutputTools(gathered: Gathered, outputTools: readonly Tool[]): Gathered {
  const { own, others } = gathered;
  if (!Array.isArray(others) || own.length + others.length === 0) return gathered;
  return { ...gathered, outputTools: merged([...own, ...others], [outputTools]) };
}

/** Returns a function that asks all sources of an agent for their tools. The first that has a tool of a name supplies it; own tools come first. */
function gathererOf(source: ToolSource): (wanted: ToolsWanted) => Promise<Gathered> {
  if (typeof source === 'function') {
    return async ({ threadId }) => ({ own: [], others: await withinPatience(() => source({ threadId }), providerMs) });
  }
  if (isToolset(source) || !Array.isArray(source)) return async () => knownTools(source);
  const entries = [...source];
  const own: readonly Tool[] = entries.filter((entry) => !isToolset(entry) && !isToolProvider(entry));
  return async (wanted) => {
    const failures: string[] = [];
    const lists = await Promise.all(
      entries.map(async (entry: Tool | Toolset | ToolProvider): Promise<readonly Tool[]> => {
        if (isToolset(entry)) return entry.list();
        if (!isToolProvider(entry)) return [];
        const { tools, failed } = await entry.read(wanted);
        if (failed !== undefined) failures.push(`those of the provider '${entry.name}' (${failed})`);
        return tools;
      }),
    );
    const missing = failures.length > 0 ? `Some tools are not available at the moment: ${failures.join('; ')}.` : undefined;
    return { own, others: merged(own, lists), missing };
  };
}

/** The tools of several lists. The first tool of a name takes precedence; those of `before` are left out. */
function merged(before: readonly Tool[], lists: readonly (readonly Tool[])[]): readonly Tool[] {
  const names = new Set(before.map((tool) => tool?.name));
  return lists.flat().filter(({ name }) => !names.has(name) && names.add(name));
}

/** Creates a toolbox of tools. For the same tools as last time, returns the same toolbox, so that calling it at every turn is cheap. */
function toolboxes(agent: string, options: Options): (gathered: Gathered) => Toolbox {
  let last: { gathered: Gathered; toolbox: Toolbox } | undefined;
  return (gathered) => {
    if (last && isSame(last.gathered, gathered)) return last.toolbox;
    const { toolbox, problems } = toolboxOf(gathered, options);
    if (!toolbox) throw new TypeError(`defineAgent '${agent}': ${problems.join(' ')}`);
    last = { gathered: { ...gathered, others: [...gathered.others] }, toolbox };
    return toolbox;
  };
}

/** Own tools never change. */
function isSame(a: Gathered, b: Gathered): boolean {
  return a.missing === b.missing && sameTools(a.others, b.others) && sameTools(a.outputTools ?? [], b.outputTools ?? []);
}

function sameTools(a: readonly Tool[], b: unknown): boolean {
  return Array.isArray(b) && a.length === b.length && a.every((tool, at) => tool === b[at]);
}
