import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server answers: events of a stream, written in pieces of `chunk` bytes, and how the stream ends; or a whole response. */
export type SseReply =
  | { events: unknown[]; chunk?: number; end?: 'close' | 'cut' | 'hang'; data?: string[] }
  | { status: number; body: unknown; headers?: Record<string, string> };

export interface SseRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: any;
}

export interface SseServer {
  url: string;
  requests: SseRequest[];
  /** Answers to come; the last one again and again. */
  replies: SseReply[];
  /** Connections that a client hung up. */
  hungUp(): number;
  close(): void;
}

/** A provider's server on loopback, for streams that no scripted model sends. */
export async function startSseServer(...replies: SseReply[]): Promise<SseServer> {
  const requests: SseRequest[] = [];
  let hungUp = 0;
  const server: Server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    requests.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(Buffer.concat(pieces).toString() || 'null') });
    const reply = (handle.replies.length > 1 ? handle.replies.shift() : handle.replies[0]) as SseReply;
    response.once('close', () => {
      if (!response.writableFinished) hungUp++;
    });
    if ('status' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(
      `${reply.events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')}`,
    );
    const size = reply.chunk ?? bytes.length;
    for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
      await new Promise((resolve) => response.write(bytes.subarray(at, at + size), resolve));
    }
    if (reply.end === 'cut') response.destroy();
    else if (reply.end !== 'hang') response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const handle: SseServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    replies,
    hungUp: () => hungUp,
    close: () => void server.close().closeAllConnections(),
  };
  return handle;
}
