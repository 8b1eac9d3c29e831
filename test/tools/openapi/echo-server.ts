import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  method: string;
  /** Path and query, as sent. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface ApiServer {
  url: string;
  received: Received[];
  /** Answers the following requests; default: 200 with `{"ok":true}`. */
  answer: (request: Received, response: ServerResponse) => void;
  stop(): Promise<void>;
}

const servers: ApiServer[] = [];

/** A real HTTP server on loopback that records what it receives. Stopped by `stopServers`. */
export async function startApi(): Promise<ApiServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, url, headers, body: Buffer.concat(chunks) };
      api.received.push(received);
      api.answer(received, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api: ApiServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: (_, response) => json(response, 200, { ok: true }),
    async stop() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  servers.push(api);
  return api;
}

export async function stopServers(): Promise<void> {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
