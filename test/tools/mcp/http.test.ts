import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { until } from '../../support/until';
import { endHosts, mcpHost } from './mcp-host';

interface Scripted {
  url: string;
  /** The token that it accepts. */
  token: string;
  refused: number;
  stop(): Promise<void>;
}

/** A server made with the official SDK, behind real HTTP. */
async function startServer(port = 0): Promise<Scripted> {
  const scripted = { url: '', token: 'token-one-secret', refused: 0, stop };
  const handle = createMcpHandler(() => {
    const server = new McpServer({ name: 'scripted', version: '1' });
    const tell = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
    server.registerTool(
      'add',
      { description: 'Adds.', inputSchema: z.object({ a: z.number(), b: z.number() }), annotations: { readOnlyHint: true } },
      ({ a, b }) => tell(String(a + b)),
    );
    server.registerTool('leak', { description: 'Repeats the token.', inputSchema: z.object({}) }, () =>
      tell(`you sent Bearer ${scripted.token}`),
    );
    return server;
  });
  const http = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${scripted.token}`) {
      scripted.refused += 1;
      response.writeHead(401).end(`not ${request.headers.authorization}`);
      return;
    }
    const answer = await handle.fetch(await requestOf(request));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  await new Promise<void>((listening) => http.listen(port, '127.0.0.1', listening));
  scripted.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  async function stop() {
    http.closeAllConnections();
    await new Promise((closed) => http.close(closed));
  }
  running.push(http);
  return scripted;
}

async function requestOf(request: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {};
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://127.0.0.1${request.url}`, { method: request.method ?? 'GET', headers, ...body });
}

const running: Server[] = [];

afterEach(async () => {
  await endHosts();
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

test('[B168] credentials are sent, refreshed once after a 401, and removed from what the server repeats', async () => {
  const server = await startServer();
  const asked: boolean[] = [];
  const credentials = ({ refresh }: { refresh: boolean }) => {
    asked.push(refresh);
    return { authorization: `Bearer ${refresh ? server.token : 'token-zero-secret'}` };
  };
  const { told } = mcpHost({ web: { url: server.url, credentials } });
  expect(await told('web__add', { a: 1, b: 2 })).toBe('3');
  expect([asked, server.refused]).toEqual([[false, true], 1]);
  server.token = 'token-two-secret';
  expect(await told('web__add', { a: 1, b: 2 })).toBe('3');
  expect([asked, server.refused]).toEqual([[false, true, true], 2]);
  expect(await told('web__leak')).toBe('you sent [credential]');
});

test('[B168] credentials that are refused again after one refresh fail the call, and no message repeats them', async () => {
  const server = await startServer();
  const { token } = server;
  const { told, call } = mcpHost({ web: { url: server.url, credentials: () => ({ authorization: `Bearer ${token}` }) } });
  await told('web__add', { a: 1, b: 2 });
  server.token = 'another-secret';
  const before = server.refused;
  const { outcome } = await call('web__add', { a: 1, b: 2 });
  expect(outcome.status).toBe('failed');
  expect(JSON.stringify(outcome)).not.toContain(token);
  expect(server.refused - before).toBe(2);
});

test('while a server is down its calls fail, and afterwards they succeed again', async () => {
  const server = await startServer();
  const { port } = new URL(server.url);
  const { told } = mcpHost({ web: { url: server.url, credentials: () => ({ authorization: `Bearer ${server.token}` }) } });
  expect(await told('web__add', { a: 1, b: 2 })).toBe('3');
  await server.stop();
  expect(await told('web__add', { a: 1, b: 2 })).toContain("MCP server 'web'");
  await startServer(Number(port));
  await until('it is connected again', async () => (await told('web__add', { a: 1, b: 2 })) === '3');
});
