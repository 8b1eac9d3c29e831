import { messageOfThrown } from '../../core/thrown';
import { ToolFailure } from '../defining/tool-failure';
import type { ApiRequest } from './request';

const maxRedirects = 5;

/** `fetch` decodes what has not been read yet: with Brotli or Zstandard, up to 16 MB and more of each of a hundred responses. */
const accepted = 'gzip, deflate';
const refused = /\b(?:br|zstd)\b/i;

/** A request whose response never came, or a response that says to try again. The call may be retried if the tool's effect allows it. */
export class ApiUnavailableError extends Error {
  override readonly name = 'ApiUnavailableError';

  constructor(
    message: string,
    /** What the service answered. */
    readonly data?: string,
  ) {
    super(message);
  }
}

/**
 * Sends a request. Redirects are followed only to the same origin, so that credentials are sent to no other, and no document or service can make
 * the worker call one. Throws `ApiUnavailableError` if there is no response. `what` names the request in errors; its URL may contain secrets.
 */
export async function send(request: ApiRequest, what: string, signal: AbortSignal): Promise<Response> {
  const { headers, cookies } = request;
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '));
  headers.set('accept-encoding', accepted);
  let { method, url, body } = request;
  for (let redirects = 0; ; redirects++) {
    const response = await fetchOnce({ method, url, headers, body }, what, signal);
    const target = redirects < maxRedirects ? redirectOf(response, url, method) : undefined;
    if (!target) return response;
    await response.body?.cancel();
    url = target;
    if (response.status === 303 && method !== 'HEAD') [method, body] = ['GET', undefined];
    if (body === undefined) headers.delete('content-type');
  }
}

async function fetchOnce(
  { method, url, headers, body }: Pick<ApiRequest, 'method' | 'url' | 'headers' | 'body'>,
  what: string,
  signal: AbortSignal,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { method, headers, redirect: 'manual', signal, ...(body !== undefined && { body }) });
  } catch (error) {
    signal.throwIfAborted();
    throw new ApiUnavailableError(`${what}: no response (${reasonOf(error)}).`);
  }
  const [encoding] = refused.exec(response.headers.get('content-encoding') ?? '') ?? [];
  if (encoding === undefined) return response;
  await response.body?.cancel();
  const message = `${what}: the service answered (status ${response.status}) in the encoding ${encoding}, which was not asked for and is not read.`;
  throw new ToolFailure(`Error: ${message}`, { name: 'ApiError', message });
}

/** The code of the cause, such as ECONNREFUSED: other messages may contain parts of the request. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string'
    ? cause.code
    : messageOfThrown(error) === 'fetch failed'
      ? 'the connection failed'
      : 'the request failed';
}

/** Where to send the request again: on the same origin, and with another method only where HTTP says so. */
function redirectOf({ status, headers }: Response, from: URL, method: string): URL | undefined {
  const location = headers.get('location');
  if (location === null || ![301, 302, 303, 307, 308].includes(status)) return undefined;
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && (status === 301 || status === 302)) return undefined;
  try {
    const target = new URL(location, from);
    return target.origin === from.origin ? target : undefined;
  } catch {
    return undefined;
  }
}
