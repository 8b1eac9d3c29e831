import { join } from 'node:path';
import type { Content } from '../../../src/core/message';
import { createToolbox, type Execution, mcpTools, type Tool, type ToolProvider } from '../../../src/tools';
import type { McpServer } from '../../../src/tools/mcp/options';
import { callOf, hostWith } from '../tool-host';

export interface McpHost {
  provider: ToolProvider;
  warnings: string[];
  tools(calling?: string): Promise<readonly Tool[]>;
  names(): Promise<string[]>;
  call(name: string, args?: object, overrides?: Parameters<typeof hostWith>[0]): Promise<Execution>;
  /** The content of a call's outcome. */
  told(name: string, args?: object): Promise<Content>;
  end(): Promise<void>;
}

const hosts: McpHost[] = [];

/** The tools of servers, without an engine around them. */
export function mcpHost(servers: Record<string, McpServer>): McpHost {
  const provider = mcpTools({ servers });
  const warnings: string[] = [];
  const end = provider.hold({ warn: (message) => warnings.push(message) });
  const tools = (calling?: string) => provider.tools({ threadId: 'thread-1', ...(calling !== undefined && { calling }) });
  const host: McpHost = {
    provider,
    warnings,
    tools,
    end,
    names: async () => (await tools()).map(({ name }) => name),
    call: async (name, args = {}, overrides = {}) => createToolbox(await tools(name)).execute(callOf(name, args), hostWith(overrides)),
    told: async (name, args) => (await host.call(name, args)).outcome.content,
  };
  hosts.push(host);
  return host;
}

export async function endHosts(): Promise<void> {
  await Promise.all(hosts.splice(0).map((host) => host.end()));
}

/** A server of this folder, run by Node. */
export function script(file: string, ...args: string[]): McpServer {
  return { command: process.execPath, args: [join(__dirname, file), ...args] };
}

/** One of the official reference servers. */
export function reference(name: string, ...args: string[]): McpServer {
  return script(`../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, ...args);
}
