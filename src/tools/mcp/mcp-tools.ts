import { createToolProvider, type ToolHolder, type ToolProvider } from '../defining/tool-provider';
import { isProcess, type McpServer, problemsOfServers } from './options';
import { ServerTools } from './server-tools';
import { UserTools } from './user-tools';

export interface McpToolsOptions {
  /** Servers by name: 1 to 32 letters, digits, `-` or single `_`. Their tools are called `name__tool`. */
  servers: Readonly<Record<string, McpServer>>;
}

/**
 * The tools of MCP servers, as an entry of an agent's `tools`. Each worker opens one connection to each server (with the option `user`: for each
 * user) when it is needed, and closes it when it ends. Throws `TypeError` with every problem of the options.
 */
export function mcpTools({ servers }: McpToolsOptions): ToolProvider {
  const problems = problemsOfServers(servers);
  if (problems.length > 0) throw new TypeError(`mcpTools:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
  const holders = new Set<ToolHolder>();
  const warn = (message: string) => {
    for (const holder of holders) holder.warn(message);
  };
  const all = Object.entries(servers).map(([name, given]) => {
    const server: McpServer = Object.freeze({ ...given });
    return isProcess(server) || !server.user ? new ServerTools(name, server, warn) : new UserTools(name, server, server.user, warn);
  });
  return createToolProvider({
    name: `MCP: ${Object.keys(servers).join(', ')}`,
    tools: async (wanted) => (await Promise.all(all.map((server) => server.tools(wanted)))).flat(),
    hold(holder) {
      holders.add(holder);
      return async () => {
        holders.delete(holder);
        if (holders.size === 0) await Promise.all(all.map((server) => server.close()));
      };
    },
  });
}
