import { bounds } from './bounds';

/** A tool, and the size of its name, description and parameters as JSON. */
export interface ToolSize {
  name: string;
  chars: number;
}

/** A tool that the model gets because it found it. Numbers of turns count over all runs of the thread. */
export interface LoadedTool extends ToolSize {
  /** The turn in which it was found. */
  since: number;
  /** The last turn in which it was found or called. */
  used: number;
}

/** The name of the tool that finds others. */
export const findTool = 'find_tools';

export const defaultLoadedTools = 30;

export interface LoadLimits {
  turn: number;
  /** How many tools may be loaded. Default 30. */
  most?: number | undefined;
  /** The window of the model, in tokens, if it is known. */
  windowTokens?: number | undefined;
}

/**
 * Loads the tools that were found. If they are too many, or together longer than about a quarter of the window, those that were used least recently
 * are unloaded; the best match may take half of the window. Loaded tools keep their order, and new ones come last, because providers cache prompts
 * by their prefix.
 */
export function load(
  before: readonly LoadedTool[],
  found: readonly ToolSize[],
  { turn, most = defaultLoadedTools, windowTokens = Number.POSITIVE_INFINITY }: LoadLimits,
): LoadedTool[] {
  const names = new Set(found.map(({ name }) => name));
  const known = new Map(before.map((tool) => [tool.name, tool]));
  const now = found.map(({ name, chars }) => ({ name, chars, since: known.get(name)?.since ?? turn, used: turn }));
  const byUse = [...now, ...before.filter(({ name }) => !names.has(name)).sort((a, b) => b.used - a.used || b.since - a.since)];
  // With four characters per token.
  const room = Math.min(bounds.loadedToolsChars, windowTokens);
  const kept = new Map<string, LoadedTool>();
  let chars = 0;
  for (const tool of byUse) {
    chars += tool.chars;
    if (kept.size >= most || chars > (kept.size === 0 ? 2 : 1) * room) break;
    kept.set(tool.name, tool);
  }
  const order = [...before, ...now.filter(({ name }) => !known.has(name))];
  return order.flatMap(({ name }) => kept.get(name) ?? []);
}

/** Notes which tools were called in a turn. */
export function noteUse(loaded: readonly LoadedTool[], called: readonly string[], turn: number): LoadedTool[] {
  return loaded.map((tool) => (called.includes(tool.name) ? { ...tool, used: turn } : tool));
}
