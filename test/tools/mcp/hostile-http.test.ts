import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { bounds } from '../../../src/core/bounds';
import { type HttpServer, startHttp } from './hostile-http';
import { endHosts, mcpHost } from './mcp-host';

let server: HttpServer | undefined;

afterEach(async () => {
  await endHosts();
  await server?.stop();
});

const tools = [{ name: 'call', inputSchema: { type: 'object' } }];

test('a server over HTTP that asks and does not take the answers is left, with a bounded number of open requests', async () => {
  let open = 0;
  const streams: ServerResponse[] = [];
  server = await startHttp({
    tools,
    stream(response) {
      streams.push(response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let id = 0; id < 1_000; id++) response.write(`data: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`);
    },
    onAnswer() {
      open += 1;
    },
  });
  const { names } = mcpHost({ web: { url: server.url } });
  await names();
  const [stream] = streams;
  if (!stream) throw new Error('no stream was opened');
  if (!stream.destroyed) await once(stream, 'close');
  expect(open).toBeLessThanOrEqual(bounds.mcpOpenAnswers);
});

test.each(['application/json', 'text/event-stream'])('a result with too many values, as %s, is not parsed', async (type) => {
  server = await startHttp({
    tools,
    call: () => ({ content: [], structuredContent: { rows: Array(200_000).fill(0) } }),
    type,
  });
  const { told } = mcpHost({ web: { url: server.url } });
  expect(await told('web__call')).toContain(
    `it sent an answer of more than ${bounds.mcpMessageBytes} bytes or ${bounds.mcpMessageValues} values`,
  );
});

const secret = 'sk/live/0123456789abcdef/XYZ';
const quoted = 'quo"ted-secret-1';
const repeated: Record<string, object> = {
  slashes: { content: [{ type: 'text', text: JSON.stringify({ sent: `Bearer ${secret}` }).replaceAll('/', '\\/') }] },
  url: { content: [{ type: 'text', text: `https://api.example.com/f?token=${encodeURIComponent(secret)}` }] },
  file: { content: [{ type: 'text', text: 'you sent key-from-a-file-123' }] },
  structured: { content: [], structuredContent: { sent: quoted } },
  link: { content: [{ type: 'resource_link', name: secret, uri: `file:///${secret}` }] },
  name: { content: [{ type: 'resource', resource: { uri: `file:///f?token=${secret}`, blob: 'AAAA', mimeType: 'application/pdf' } }] },
  type: { content: [{ type: 'audio', data: 'AAAA', mimeType: `audio/${secret}` }] },
  bytes: { content: [{ type: 'resource', resource: { uri: 'x:/a', blob: Buffer.from(`a ${secret} b`).toString('base64') } }] },
};

test.each(Object.keys(repeated))('credentials that a result repeats are removed: %s', async (name) => {
  server = await startHttp({ tools: [{ name, inputSchema: { type: 'object' } }], call: () => repeated[name] ?? {} });
  const credentials = () => ({ authorization: `Bearer ${secret}`, 'x-key': quoted, 'x-file': 'key-from-a-file-123\n' });
  const { told } = mcpHost({ web: { url: server.url, credentials } });
  const content = await told(`web__${name}`);
  const shown = JSON.stringify(content);
  const bytes = Buffer.from(/base64,([^"]*)/.exec(shown)?.[1] ?? '', 'base64').toString();
  for (const part of ['0123456789abcdef', 'ted-secret-1', 'key-from-a-file']) expect(shown + bytes).not.toContain(part);
  if (name !== 'type') expect(shown + bytes).toContain('[credential]');
});

test('a tool that repeats a credential is left out', async () => {
  server = await startHttp({ tools: [...tools, { name: 'leak', description: `Use ${secret}.`, inputSchema: { type: 'object' } }] });
  const { names, warnings } = mcpHost({ web: { url: server.url, credentials: () => ({ authorization: `Bearer ${secret}` }) } });
  expect(await names()).toEqual(['web__call']);
  expect(warnings).toEqual(["Tools of the MCP server 'web' are left out: 'leak': it repeats a credential."]);
});
