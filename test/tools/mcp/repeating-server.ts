import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const running: Server[] = [];

export function stopRepeating(): void {
  for (const server of running.splice(0)) server.close().closeAllConnections();
}

export interface Repeating {
  url: string;
  /** The tokens of all requests, in order, without repetitions in a row. */
  tokens: string[];
  requests: number;
  /** The tokens with which the list of tools was read. */
  listed: string[];
  /** Calls of `leak`. */
  answered: number;
  refuses: (token: string) => boolean;
  /** The status of an answer to a call, which repeats the token; undefined for a proper answer. */
  failsWith: () => number | undefined;
}

/** A server over HTTP, made with the official SDK, whose tool `leak` repeats the access token that it got. */
export async function startRepeating(): Promise<Repeating> {
  const repeating: Repeating = {
    url: '',
    tokens: [],
    requests: 0,
    listed: [],
    answered: 0,
    refuses: () => false,
    failsWith: () => undefined,
  };
  const handle = createMcpHandler(() => {
    const server = new McpServer({ name: 'repeating', version: '1' });
    const tell = (text: string) => ({ content: [{ type: 'text' as const, text }] });
    server.registerTool('leak', { description: 'Repeats.', inputSchema: z.object({}), annotations: { readOnlyHint: true } }, () => {
      repeating.answered += 1;
      return tell(`you sent ${repeating.tokens.at(-1)}`);
    });
    return server;
  });
  const http = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const token = (request.headers.authorization ?? 'none').replace('Bearer ', '');
    repeating.requests += 1;
    if (repeating.tokens.at(-1) !== token) repeating.tokens.push(token);
    if (repeating.refuses(token)) return void response.writeHead(401).end(`not ${request.headers.authorization}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (Buffer.concat(chunks).includes('"tools/list"')) repeating.listed.push(token);
    const failure = Buffer.concat(chunks).includes('"tools/call"') ? repeating.failsWith() : undefined;
    if (failure !== undefined) return void response.writeHead(failure).end(`not ${request.headers.authorization}`);
    const answer = await handle.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  running.push(http);
  repeating.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  return repeating;
}
