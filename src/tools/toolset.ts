import type { Tool } from './define-tool';

const mark = Symbol.for('longhaul.Toolset');

/**
 * A list of tools that may change while agents use it. An agent reads it at every model call, so a change takes effect at the next one,
 * also in runs that are under way. It lives in one process: workers that share the load must change theirs alike.
 */
export interface Toolset {
  /** A tool of a known name takes that one's place. */
  add(...tools: Tool[]): void;
  /** An unknown name is no error. */
  remove(...names: string[]): void;
  /** These, and no others. */
  set(tools: readonly Tool[]): void;
  /** In the order in which their names were added. The same array until something changes. */
  list(): readonly Tool[];
}

/** Throws `TypeError`, as its methods do, for what `defineTool` did not make. */
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

/** What is wrong with a list of tools, a sentence each. */
export function oddTools(tools: unknown): string[] {
  if (!Array.isArray(tools)) return ['tools must be a list of what defineTool returned.'];
  return tools.flatMap((tool, at) =>
    typeof tool === 'object' && tool !== null && typeof tool.parameters === 'object' ? [] : [`tools[${at}] was not made by defineTool.`],
  );
}
