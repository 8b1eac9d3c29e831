import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

/** A response arrived but can't be used. */
export class UnusableResponse extends Error {}

/** No response arrived. The system's error is the cause. */
export class NoResponse extends Error {}

/** Statuses whose response can't have a body: the `Response` constructor rejects one. */
const withoutBody = [204, 205, 304];

/**
 * `fetch` for large requests with small responses. Node's own `fetch` copies the body several times outside the heap. With the transcript of
 * a long thread that is megabytes per turn, and the resulting garbage collections make later turns slower.
 * Takes bodies as bytes or text. Follows no redirects, because the request contains a key.
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
    // An error thrown by a listener ends the process.
    const take = (response: IncomingMessage) => {
      try {
        resolve(toResponse(response));
      } catch (error) {
        reject(error);
        response.socket.destroy();
      }
    };
    request.once('response', take);
    // Without a listener Node closes the connection, without an error.
    request.once('upgrade', take);
    // As in `fetch`, the system's error is the cause.
    request.on('error', (cause) => reject(cause.name === 'AbortError' ? cause : new NoResponse('the request failed', { cause })));
    request.end(body);
  });
}

function toResponse(message: IncomingMessage): Response {
  // Errors of the body reach the reader of the body.
  message.on('error', () => {});
  const { statusCode: status = 502, rawHeaders } = message;
  // The `Response` constructor rejects other statuses.
  if (status < 200 || status > 599) throw new UnusableResponse(`it answered with the invalid status ${status}`);
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  const empty = withoutBody.includes(status);
  if (empty) message.resume();
  // The reason phrase is omitted: it may contain any bytes, and the status is enough.
  return new Response(empty ? null : (Readable.toWeb(message) as ReadableStream), { status, headers });
}
