import { bounds } from '../../core/bounds';
import { isDeepJson, isObject } from '../../core/json';
import { fetchOverHttp } from './http-fetch';

/** The SDK keeps only an `error` object of a failed response. Other servers put the message next to it, into a list, or into plain text. */
export async function fetchWithErrorObject(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetchOverHttp(url, init);
  if (response.ok || !response.body) return response;
  const text = await beginningOf(response, bounds.errorBodyBytes);
  return new Response(JSON.stringify({ error: errorObject(text) }), { status: response.status, headers: response.headers });
}

/** The first bytes of a body, as text. If there are more, the connection is closed. */
async function beginningOf(response: Response, maxBytes: number): Promise<string> {
  const reader = response.body?.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (reader && size < maxBytes) {
    // A truncated body is acceptable: the status matters more.
    const { done, value } = await reader.read().catch(() => ({ done: true as const, value: undefined }));
    if (done) break;
    pieces.push(value);
    size += value.byteLength;
  }
  if (size >= maxBytes) await reader?.cancel();
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes);
}

function errorObject(text: string): unknown {
  const asText = () => (text.trim() ? { message: text } : undefined);
  if (isDeepJson(text, bounds.jsonDepth)) return asText();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return asText();
  }
  const first = Array.isArray(body) ? body[0] : body;
  const error = isObject(first) ? (first.error ?? first) : first;
  if (!isObject(error)) return { message: typeof error === 'string' ? error : JSON.stringify(error) };
  const words = error.message ?? error.detail;
  return { ...error, message: typeof words === 'string' ? words : JSON.stringify(words ?? error) };
}
