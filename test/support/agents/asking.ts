import { defineAgent, mcpTools } from 'longhaul';

/** An agent with an MCP server that asks people questions. The variable names the program of the server. */
const servers = { own: { command: process.execPath, args: [process.env.ASKING_SERVER ?? '', 'stdio'], questions: true as const } };

export const asking = defineAgent({ name: 'asking', model: 'test-model', instructions: 'Ask.', tools: [mcpTools({ servers })] });
