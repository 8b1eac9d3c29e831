import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Answers {
  /** What the request to open a stream for messages of the server gets. Default: it is refused. */
  stream?(response: ServerResponse): void;
  /** The result of a call. */
  call?(name: string): object;
  tools?: object[];
  /** The content type of answers. */
  type?: string;
  /** The client answers a request of the server; the connection stays open until the response is ended. */
  onAnswer?(response: ServerResponse): void;
}

export interface HttpServer {
  url: string;
  stop(): Promise<void>;
}

/** An MCP server over HTTP that does not use the SDK, so that it can do what the SDK would not. */
export async function startHttp({ stream, call, tools = [], type = 'application/json', onAnswer }: Answers): Promise<HttpServer> {
  const http = createServer(async (request, response) => {
    if (request.method !== 'POST') return stream && request.method === 'GET' ? stream(response) : void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await bodyOf(request));
    if (method === undefined) return onAnswer?.(response);
    if (id === undefined) return void response.writeHead(202).end();
    const results: Record<string, () => object | undefined> = {
      initialize: () => ({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'hostile', version: '1' },
      }),
      'tools/list': () => ({ tools }),
      'tools/call': () => call?.(params.name),
    };
    const result = results[method]?.();
    const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
    const json = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
    response.writeHead(200, { 'content-type': type }).end(type === 'text/event-stream' ? `data: ${json}\n\n` : json);
  });
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async stop() {
      http.closeAllConnections();
      await new Promise((closed) => http.close(closed));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
