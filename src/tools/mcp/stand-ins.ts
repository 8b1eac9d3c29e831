import { z } from 'zod';
import { defineTool, type Tool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { toolName } from './tool-name';

/** What the model gets instead of tools that could not be listed yet, so that it knows of them. */
export function connectTool(server: string, connect: () => Promise<string[]>): Tool {
  return defineTool({
    name: toolName(server, 'connect'),
    description: `The tools of the MCP server '${server}' are missing, because it can't be reached at the moment. Call this to try again; its tools are then available.`,
    input: z.object({}),
    effect: 'pure',
    async execute() {
      const names = await connect().catch((error: Error) => {
        throw new ToolFailure(`Error: ${error.message}`, { name: 'McpUnavailableError', message: error.message });
      });
      return `The MCP server '${server}' is connected. Its tools: ${names.join(', ') || 'none'}.`;
    },
  });
}

/** For a call of a tool that was there when the model called it, and is not now. `why`: the server can't be reached. */
export function goneTool(server: string, name: string, why?: string): Tool {
  return defineTool({
    name,
    description: 'Not available any more.',
    input: z.looseObject({}),
    effect: 'pure',
    execute() {
      const words = why ?? `The MCP server '${server}' has no tool '${name}' any more. The call was not carried out.`;
      throw new ToolFailure(`Error: ${words}`, { name: why === undefined ? 'ToolNotFoundError' : 'McpUnavailableError', message: words });
    },
  });
}
