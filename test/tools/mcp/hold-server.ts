// Prints the process id of a server that it holds, until it is killed.
import { mcpHost, script } from './mcp-host';

const { told } = mcpHost({ own: script('server.mjs') });
void told('own__pid').then((pid) => process.stdout.write(String(pid)));
setInterval(() => undefined, 1_000);
