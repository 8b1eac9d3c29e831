import { shortText } from '../../core/text';
import { messageOfThrown } from '../../core/thrown';
import type { Tool } from './define-tool';
import { hasMark } from './mark';
import { oddTools } from './toolset';
import { withinPatience } from './within';

const mark = Symbol.for('longhaul.ToolProvider');

/** What tools are needed for. */
export interface ToolsWanted {
  threadId: string;
  /** The name of the tool that is about to run. The model called it, so a provider that can't offer it now may say why. */
  calling?: string | undefined;
}

/** What a worker offers to a provider. */
export interface ToolHolder {
  /** Tells operators about something that needs their attention. */
  warn(message: string): void;
}

export interface ToolProviderDefinition {
  /** Names the provider in warnings, and to the model if its tools are missing. */
  name: string;
  /**
   * Returns the current tools, within 30 s. If it throws, takes longer or returns something else, the provider is left out of that step: the model
   * gets the tools of the others, and the worker logs a warning.
   */
  tools(wanted: ToolsWanted): readonly Tool[] | Promise<readonly Tool[]>;
  /** Called when a worker begins to use it. Returns what to call when the worker ends: after the last one, connections are closed. */
  hold?(holder: ToolHolder): () => Promise<void>;
}

/** A source of tools. Created by `createToolProvider` and `mcpTools`. */
export interface ToolProvider extends ToolProviderDefinition {
  readonly name: string;
  tools(wanted: ToolsWanted): Promise<readonly Tool[]>;
  hold(holder: ToolHolder): () => Promise<void>;
  /** As `tools`, but never rejects: instead of tools, it returns why there are none. */
  read(wanted: ToolsWanted): Promise<{ tools: readonly Tool[]; failed?: string }>;
}

/** How long a provider may take: it may have to call a server, and every model call waits for it. */
export const providerMs = 30_000;

/** Creates a provider: an entry of agents' `tools` that is asked for its tools at every model call. Throws `TypeError` for an invalid definition. */
export function createToolProvider(definition: ToolProviderDefinition): ToolProvider {
  const { name, hold } = definition;
  if (typeof name !== 'string' || name.trim() === '') throw new TypeError('createToolProvider: give a name, for warnings.');
  if (typeof definition.tools !== 'function') throw new TypeError(`createToolProvider '${name}': tools is not a function.`);
  const holders = new Set<ToolHolder>();
  const tools = async (wanted: ToolsWanted) => definition.tools(wanted);
  let warned: string | undefined;
  const tell = (failed: string | undefined) => {
    // Once for each failure, because every step asks again.
    if (failed !== undefined && failed !== warned) {
      for (const holder of holders) holder.warn(`The tools of the provider '${name}' are left out: ${failed}.`);
    }
    warned = failed;
  };
  return Object.freeze({
    [mark]: true,
    name,
    tools,
    hold(holder: ToolHolder) {
      // A copy, because a worker may hold the provider for each of its agents.
      const held = { ...holder };
      holders.add(held);
      const release = hold?.call(definition, held);
      return async () => {
        holders.delete(held);
        await release?.();
      };
    },
    async read(wanted: ToolsWanted) {
      try {
        const provided = await withinPatience(() => tools(wanted), providerMs);
        const odd = oddTools(provided);
        if (odd.length > 0) throw new TypeError(odd.join(' '));
        tell(undefined);
        return { tools: provided };
      } catch (error) {
        const failed = shortText(messageOfThrown(error), 500);
        tell(failed);
        return { tools: [], failed };
      }
    },
  });
}

export function isToolProvider(value: unknown): value is ToolProvider {
  return hasMark(value, mark);
}
