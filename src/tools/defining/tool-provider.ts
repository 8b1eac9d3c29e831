import type { Tool } from './define-tool';
import { hasMark } from './mark';

const mark = Symbol.for('longhaul.ToolProvider');

/** What tools are needed for. */
export interface ToolsWanted {
  threadId: string;
  /** The name of the tool that is about to run. The model called it, so a provider that can't offer it now may say why. */
  calling?: string;
}

/** What a worker offers to a provider. */
export interface ToolHolder {
  /** Tells operators about something that needs their attention. */
  warn(message: string): void;
}

/** A source of tools with connections of its own. Entries of an agent's `tools`; asked again at every model call. */
export interface ToolProvider {
  /** The current tools. Must not reject because a server is down: the model call would fail. */
  tools(wanted: ToolsWanted): Promise<readonly Tool[]>;
  /** Called when a worker begins to use it. Returns what to call when the worker ends: after the last one, connections are closed. */
  hold(holder: ToolHolder): () => Promise<void>;
}

export function toolProvider(provider: ToolProvider): ToolProvider {
  return Object.freeze({ ...provider, [mark]: true });
}

export function isToolProvider(value: unknown): value is ToolProvider {
  return hasMark(value, mark);
}
