// An MCP server over stdio, made with the official SDK.
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'scripted', version: '1' }, { capabilities: { tools: { listChanged: true } } });
const text = (words, more = {}) => ({ content: [{ type: 'text', text: words }], ...more });
const nothing = z.object({});

server.registerTool('pid', { description: 'Its process.', inputSchema: nothing, annotations: { readOnlyHint: true } }, () =>
  text(String(process.pid)),
);
server.registerTool('environment', { description: 'Its variables.', inputSchema: nothing }, () =>
  text(Object.keys(process.env).sort().join(' ')),
);
server.registerTool('folder', { description: 'Its folder.', inputSchema: nothing }, () => text(process.cwd()));
server.registerTool('die', { description: 'Ends the process.', inputSchema: nothing }, () => process.exit(3));
server.registerTool('hang', { description: 'Never answers.', inputSchema: nothing }, (_args, ctx) => {
  const signal = ctx.mcpReq?.signal ?? ctx.signal;
  signal.addEventListener('abort', () => process.stderr.write('cancelled\n'));
  return new Promise(() => {});
});
server.registerTool('much', { description: 'Says much.', inputSchema: z.object({ word: z.string().optional() }) }, ({ word = 'x' }) =>
  text(`first ${word.repeat(1_000_000)} last`),
);
const old = server.registerTool(
  'old',
  { description: 'Has a new name soon.', inputSchema: nothing, annotations: { idempotentHint: true } },
  () => text('old'),
);
server.registerTool('rename', { description: 'Renames the other.', inputSchema: nothing }, () => {
  old.update({ name: 'new' });
  return text('renamed');
});

// Stays when its input ends, like a server that is stuck.
setInterval(() => undefined, 60_000);
await server.connect(new StdioServerTransport());
