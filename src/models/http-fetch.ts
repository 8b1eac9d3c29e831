import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
/** Statuses whose response can't have a body: `Response` refuses one. */
const withoutBody = [204, 205, 304];

/**
 * `fetch` for large requests with small answers. Node's own copies the body several times over, outside of the heap; with the transcript of
 * a long thread that is megabytes a turn, and the garbage collections that they cause are what makes later turns slower.
 * Takes bodies as bytes or text. Follows no redirects: a request with a key in it goes where it was sent.
 */
export function fetchOverHttp(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const body = init.body as Uint8Array | string | null | undefined;
  const secure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    init.signal?.throwIfAborted();
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: init.method ?? 'GET',
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        ...(body ? { 'content-length': Buffer.byteLength(body) } : {}),
      },
      agent: secure ? agents.https : agents.http,
      signal: init.signal ?? undefined,
    });
    request.once('response', (response) => resolve(toResponse(response)));
    // As `fetch` does: what the system said is the cause.
    request.once('error', (cause) => reject(cause.name === 'AbortError' ? cause : new Error('the request failed', { cause })));
    request.end(body);
  });
}

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 502, statusMessage: statusText, rawHeaders } = message;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  const empty = withoutBody.includes(status);
  if (empty) message.resume();
  return new Response(empty ? null : (Readable.toWeb(message) as ReadableStream), { status, statusText, headers });
}
