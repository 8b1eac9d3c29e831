import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chatCompletions } from './formats/chat-completions';
import { messages } from './formats/messages';
import { responses } from './formats/responses';
import { type ApiName, type Body, encoded, type WireFormat, type WireMessage } from './formats/wire-format';
import { fail, type Reply, type StreamReply } from './model-replies';

export type { ApiName, WireMessage } from './formats/wire-format';
export * from './model-replies';

const formats: Readonly<Record<ApiName, WireFormat>> = { 'chat-completions': chatCompletions, responses, messages };

/** The body of a request as it was sent: this is its type for Chat Completions, and the other APIs have other fields. */
export interface WireRequest {
  model: string;
  messages: WireMessage[];
  tools?: { type: string; function: { name: string; description?: string; parameters?: unknown } }[];
  stream?: boolean;
  [key: string]: unknown;
}

/** A request, as a script receives it. */
export interface ScriptRequest {
  body: WireRequest;
  /** The API that the client uses: OpenAI's Chat Completions or Responses, or Anthropic's Messages. */
  api: ApiName;
  /** The conversation, for all APIs in the form of Chat Completions. */
  messages: WireMessage[];
  /** The number of requests to this server before this one. */
  n: number;
  /** The number of assistant messages in this request: 0 for the first answer of a conversation. A retried request has the same turn. */
  turn: number;
  /** The text of the first user message, to tell conversations apart. */
  input: string;
}

/**
 * Defines the server's replies. A list replies in order of arrival, so a repeated request gets the next reply: use it to test retries, but not for
 * programs that may be killed and restarted. A function of the request is stateless; usually it is `byTurn`. It may be async, so that a test can delay
 * a reply until it is ready.
 */
export type Script = Reply[] | ((request: ScriptRequest) => Reply | Promise<Reply>);

export interface RecordedRequest {
  body: WireRequest;
  api: ApiName;
  /** The conversation, for all APIs in the form of Chat Completions. */
  messages: WireMessage[];
  headers: IncomingMessage['headers'];
  turn: number;
  /** When the request arrived, in epoch milliseconds. */
  at: number;
  /** When the client disconnected, if the reply was not complete. Epoch milliseconds. */
  closedEarlyAt?: number;
  /** Resolves when the connection ends: `by-client` (early), `by-server` (by `cut` or `stop`), or `complete`. */
  closed: Promise<'by-client' | 'by-server' | 'complete'>;
}

export interface ModelServer {
  /** The base URL for clients, ending in `/v1`, for all APIs. */
  url: string;
  requests: RecordedRequest[];
  /** The number of replies of a list that were not used. Always 0 for a function. */
  unused(): number;
  /** Closes the server and all open connections. May be called twice. */
  stop(): Promise<void>;
}

/** Replies by turn: the first reply for a request without assistant messages, the second for a request with one, and so on. */
export function byTurn(replies: Reply[]): (request: ScriptRequest) => Reply {
  return ({ turn }) => replies[turn] ?? outOfScript(`the script has ${replies.length} turns, and this request is of turn ${turn + 1}`);
}

/**
 * Starts a server on loopback with scripted replies and no latency, for tests, demonstrations and measurements. It has OpenAI's Chat Completions and
 * Responses, and Anthropic's Messages: the same script serves all of them.
 */
export async function startModelServer(script: Script, options: { port?: number | undefined } = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((req, res) => {
    open.add(res);
    res.once('close', () => open.delete(res));
    void serve(req, res, script, requests).catch((error) => send(res, outOfScript(`the script threw: ${error?.message ?? error}`)));
  });
  // A client's pooled connection must not be closed between two requests: that would be a failure outside the script.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    unused: () => (Array.isArray(script) ? Math.max(0, script.length - requests.length) : 0),
    stop: () =>
      new Promise((resolve) => {
        for (const res of open) endedByServer.add(res);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(req: IncomingMessage, res: ServerResponse, script: Script, requests: RecordedRequest[]): Promise<void> {
  const text = await readBody(req);
  const path = req.url?.split('?')[0] ?? '';
  const api = (Object.keys(formats) as ApiName[]).find((name) => path.endsWith(formats[name].path));
  if (req.method !== 'POST' || !api) {
    return send(res, fail(404, { message: `the model server has no ${req.method} ${req.url}`, type: 'invalid_request_error' }));
  }
  const body = JSON.parse(text) as WireRequest;
  const n = requests.length;
  const conversation = formats[api].messages(body as Body);
  const turn = conversation.filter((message) => message.role === 'assistant').length;
  requests.push(record(res, { body, api, messages: conversation, headers: req.headers, turn, at: Date.now() }));
  if (body.stream !== true) return send(res, outOfScript('it answers streaming requests only'));

  const input = textOf(conversation.find((message) => message.role === 'user'));
  const reply = Array.isArray(script)
    ? (script[n] ?? outOfScript(`the script has ${script.length} steps, and this is request ${n + 1}`))
    : await script({ body, api, messages: conversation, n, turn, input });
  if (reply.delayMs) await pause(reply.delayMs, res);
  if (reply.kind === 'hang' || res.destroyed) return;
  if (reply.kind === 'body') return send(res, reply);
  await stream(res, reply, encoded(formats[api], reply, body, text));
}

function record(res: ServerResponse, request: Omit<RecordedRequest, 'closed'>): RecordedRequest {
  const recorded = request as RecordedRequest;
  recorded.closed = new Promise((resolve) => {
    res.once('close', () => {
      if (res.writableFinished) return resolve('complete');
      if (endedByServer.has(res)) return resolve('by-server');
      recorded.closedEarlyAt = Date.now();
      resolve('by-client');
    });
  });
  return recorded;
}

const endedByServer = new WeakSet<ServerResponse>();

async function stream(res: ServerResponse, reply: StreamReply, events: string[]): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  if (reply.pace) {
    for (const event of events) {
      res.write(event);
      await pause(reply.pace.chunkMs, res);
      if (res.destroyed) return;
    }
  } else if (reply.end === 'done' || reply.end === 'close') {
    res.end(events.join(''));
    return;
  } else {
    // Headers are sent even if no event follows.
    res.flushHeaders();
    await new Promise((resolve) => res.write(events.join('') || ': nothing yet\n\n', resolve));
  }
  if (reply.end === 'cut') {
    endedByServer.add(res);
    res.socket?.destroy();
  } else if (reply.end !== 'silence') {
    res.end();
  }
}

/** Status 400, which no client retries, so that a mistake in a script ends the test instead of slowing it down. */
function outOfScript(message: string): Reply {
  return fail(400, { message: `scripted model server: ${message}`, type: 'script_error' });
}

function send(res: ServerResponse, reply: Reply): void {
  if (reply.kind !== 'body' || res.headersSent || res.destroyed) return;
  res.writeHead(reply.status, { 'content-length': String(Buffer.byteLength(reply.body)), ...reply.headers });
  res.end(reply.body);
}

function textOf(message: WireMessage | undefined): string {
  const content = message?.content ?? '';
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Waits, but not longer than the client stays connected. */
function pause(ms: number, res: ServerResponse): Promise<void> {
  if (res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      res.off('close', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    res.once('close', done);
  });
}
