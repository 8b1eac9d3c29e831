import type { Tool } from './define-tool';

const mark = Symbol.for('longhaul.Toolset');

/**
 * A list of tools that may change while agents use it. An agent reads it at every model call, so a change takes effect at the next call, also in
 * current runs. It exists in one process: all workers that serve the agent must change theirs in the same way.
 */
export interface Toolset {
  /** Adds tools. A tool of the same name is replaced. */
  add(...tools: Tool[]): void;
  /** Removes tools by name. Unknown names are ignored. */
  remove(...names: string[]): void;
  /** Replaces all tools. */
  set(tools: readonly Tool[]): void;
  /** The tools in the order in which their names were added. Returns the same array until something changes. */
  list(): readonly Tool[];
}

/** Creates a toolset. Like its methods, throws `TypeError` for a tool that `defineTool` did not create. */
export function createToolset(tools: readonly Tool[] = []): Toolset {
  let current: readonly Tool[] = [];
  const put = (before: readonly Tool[], added: readonly Tool[], where: string) => {
    const odd = oddTools(added);
    if (odd.length > 0) throw new TypeError(`${where}: ${odd.join(' ')}`);
    current = Object.freeze([...new Map([...before, ...added].map((tool) => [tool.name, tool])).values()]);
  };
  put([], tools, 'createToolset');
  return Object.freeze({
    [mark]: true,
    add: (...added: Tool[]) => put(current, added, 'Toolset.add'),
    set: (all: readonly Tool[]) => put([], all, 'Toolset.set'),
    remove(...names: string[]) {
      current = Object.freeze(current.filter((tool) => !names.includes(tool.name)));
    },
    list: () => current,
  });
}

export function isToolset(value: unknown): value is Toolset {
  return typeof value === 'object' && value !== null && mark in value;
}

/** Returns the problems of a list of tools, one sentence each. */
export function oddTools(tools: unknown): string[] {
  if (!Array.isArray(tools)) return ['tools must be a list of tools that defineTool returned.'];
  return tools.flatMap((tool, at) =>
    // Not `parameters`, which some tools make when they are first used.
    typeof tool === 'object' && tool !== null && typeof tool.check === 'function' ? [] : [`tools[${at}] was not made by defineTool.`],
  );
}
