import type { FetchLike } from '@modelcontextprotocol/client';
import { bounds } from '../../core/bounds';
import { ValueCount } from '../running/value-count';
import type { Credentials, Sent } from './credentials';

/**
 * `fetch` that sends the credentials, replaces them once if the server refuses them (401), and reads no more than a bounded answer. `onExcess`: an
 * answer exceeds a limit.
 */
export function httpFetch(credentials: Credentials, onExcess: (why: string) => void): FetchLike {
  return async (url, init) => {
    const send = async (sent: Sent) => {
      const response = await fetch(url, withHeaders(init, sent.headers));
      if (response.status !== 401) credentials.accepted(sent);
      return response;
    };
    const sent = await credentials.headers();
    const response = await send(sent);
    const other = response.status === 401 ? await credentials.instead(sent) : undefined;
    if (!other) return boundedResponse(response, onExcess);
    await response.body?.cancel();
    return boundedResponse(await send(other), onExcess);
  };
}

function withHeaders(init: RequestInit | undefined, more: Record<string, string>): RequestInit {
  const headers = new Headers(init?.headers);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return { ...init, headers };
}

function boundedResponse(response: Response, onExcess: (why: string) => void): Response {
  const { body, status, statusText, headers } = response;
  if (!body) return response;
  let bytes = 0;
  const values = new ValueCount(bounds.mcpMessageValues);
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes <= bounds.mcpMessageBytes && values.add(chunk)) return controller.enqueue(chunk);
        const why = `it sent an answer of more than ${bounds.mcpMessageBytes} bytes or ${bounds.mcpMessageValues} values`;
        controller.error(new Error(why));
        onExcess(why);
      },
    }),
  );
  return new Response(counted, { status, statusText, headers });
}
