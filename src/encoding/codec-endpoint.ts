import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Payload, PayloadCodec } from '@temporalio/common';

export interface CodecEndpointOptions {
  codecs: readonly PayloadCodec[];
  /** The origins of Web UIs whose pages may use the endpoint, such as `http://localhost:8233`. */
  origins: readonly string[];
  /** If set, requests need the header `Authorization: Bearer <token>`. */
  token?: string | undefined;
  /** If set, requests need one of these namespaces in the header `X-Namespace`. */
  namespaces?: readonly string[] | undefined;
}

/** The most bytes of a request's body: a page of history may be as large as the server's largest message, and base64 adds a third. */
const mostBytes = 192 * 1024 * 1024;

/** The most bytes of the data of the payloads in an answer: a small payload may be compressed. */
const mostAnswerBytes = 128 * 1024 * 1024;

/** Handles the requests of Temporal's remote codec protocol: `POST /encode` and `POST /decode`, with a JSON list of payloads. */
export function codecEndpoint(options: CodecEndpointOptions): RequestListener {
  return (request, response) => {
    answer(request, response, options).catch((error: Error) => {
      if (response.headersSent) return void response.destroy();
      const status = error instanceof Refusal ? error.status : 500;
      // What is left of the body is not read.
      if (!request.complete) response.setHeader('connection', 'close');
      send(response, status, { message: error.message });
    });
  };
}

class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, options: CodecEndpointOptions): Promise<void> {
  allowOrigin(request, response, options);
  if (request.method === 'OPTIONS') return send(response, 204);
  const [, operation] = /^\/(encode|decode)$/.exec(pathOf(request)) ?? [];
  if (operation === undefined) throw new Refusal(404, 'There are only /encode and /decode.');
  if (request.method !== 'POST') throw new Refusal(405, `${pathOf(request)} takes POST.`);
  mustBePermitted(request, options);
  const payloads = payloadsOf(await bodyOf(request));
  const done = operation === 'encode' ? await encode(payloads, options) : await decode(payloads, options);
  send(response, 200, { payloads: done.map(toJson) });
}

/** Browsers send the origin with every request of a page, also of one that has renamed itself to this host. Other programs send none. */
function allowOrigin({ headers }: IncomingMessage, response: ServerResponse, { origins }: CodecEndpointOptions): void {
  const { origin } = headers;
  if (origin === undefined) return;
  if (!origins.includes(origin)) throw new Refusal(403, `Pages of ${origin} may not use this endpoint; permit it with --origin.`);
  response.setHeader('vary', 'origin');
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-credentials', 'true');
  response.setHeader('access-control-allow-methods', 'POST');
  response.setHeader('access-control-allow-headers', 'content-type, x-namespace, authorization, caller-type');
}

function mustBePermitted({ headers }: IncomingMessage, { token, namespaces }: CodecEndpointOptions): void {
  if (token !== undefined && !isSame(headers.authorization ?? '', `Bearer ${token}`)) {
    throw new Refusal(401, 'The header Authorization must be "Bearer", and the token of this endpoint.');
  }
  if (namespaces && !namespaces.includes(String(headers['x-namespace'] ?? ''))) {
    throw new Refusal(403, 'The header X-Namespace is not a namespace of this endpoint.');
  }
}

/** Takes the same time whatever the difference is. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(a as Buffer, b as Buffer);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The answer still needs the connection if the body is too large.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Refusal(413, `The request has more than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function encode(payloads: Payload[], { codecs }: CodecEndpointOptions): Promise<Payload[]> {
  let encoded = payloads;
  for (const codec of codecs) encoded = await codec.encode(encoded);
  return encoded;
}

/**
 * A payload that can't be decoded is returned as it is, so that one lost key does not hide the other payloads. Rejects if none can be decoded, or if
 * they become too large together. Decodes them one after another, so that no more is in memory than is answered.
 */
async function decode(payloads: Payload[], { codecs }: CodecEndpointOptions): Promise<Payload[]> {
  const decoded: Payload[] = [];
  const errors: Error[] = [];
  let bytes = 0;
  for (const payload of payloads) {
    const one = await decodeOne(payload, codecs).catch((error: Error) => {
      errors.push(error);
      return payload;
    });
    bytes += one.data?.length ?? 0;
    if (bytes > mostAnswerBytes) {
      throw new Refusal(
        413,
        `The payloads have more than ${mostAnswerBytes} bytes when they are decoded. Send fewer of them in one request.`,
      );
    }
    decoded.push(one);
  }
  const [first] = errors;
  if (first && errors.length === payloads.length) throw new Refusal(400, first.message);
  return decoded;
}

async function decodeOne(payload: Payload, codecs: readonly PayloadCodec[]): Promise<Payload> {
  let decoded = [payload];
  for (const codec of [...codecs].reverse()) decoded = await codec.decode(decoded);
  return decoded[0] ?? payload;
}

/** A payload in the JSON of protocol buffers: bytes are base64. */
interface JsonPayload {
  metadata?: Record<string, string>;
  data?: string;
}

function payloadsOf(body: string): Payload[] {
  try {
    const { payloads } = JSON.parse(body) as { payloads: JsonPayload[] };
    return payloads.map(fromJson);
  } catch {
    throw new Refusal(400, 'The body must be JSON: {"payloads": [{"metadata": {"encoding": "<base64>"}, "data": "<base64>"}]}');
  }
}

function fromJson({ metadata = {}, data }: JsonPayload): Payload {
  const bytes = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  return { metadata: Object.fromEntries(bytes), ...(data !== undefined && { data: Buffer.from(data, 'base64') }) };
}

function toJson({ metadata, data }: Payload): JsonPayload {
  const texts = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return { metadata: Object.fromEntries(texts), ...(data?.length && { data: Buffer.from(data).toString('base64') }) };
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? '';
}

function send(response: ServerResponse, status: number, body?: object): void {
  if (!body) return void response.writeHead(status).end();
  // Before the head is written, because it throws if the text is too long.
  const json = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(json);
}
