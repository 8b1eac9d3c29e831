import { z } from 'zod';
import type { Approval } from '../defining/approval';
import { defineTool, type Tool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import type { Security } from './credentials';
import { type GuardedOperation, guard } from './guarded-operations';
import { callApi } from './operation-tool';
import type { SecurityRequirement } from './operations';
import { type ApiRequest, joined, setHeader, urlBelow } from './request';
import { encodedQuery } from './write-parameter';

const input = z.object({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']),
  path: z.string().startsWith('/').max(4_000).describe("The path below the service's base URL, without a query, such as /pets/1."),
  query: z.record(z.string(), z.unknown()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional().describe('Sent as JSON; a text is sent as it is if headers has a content-type.'),
});

/** Headers that other parts of a request set, or that would change who it comes from, or which request a service takes it for. */
const reserved =
  /^(?:authorization|proxy-.*|cookie|host|content-length|transfer-encoding|connection|upgrade|te|trailer|forwarded|x-forwarded-.*|x-original-.*|x-rewrite-.*|x-http-method.*|x-method-override)$/i;

/** Creates a tool for requests to a service that no other tool makes. Nothing is known of their effects, so they are never repeated. */
export function genericTool(
  name: string,
  {
    server,
    title,
    security,
    requirements,
    approval,
    guarded,
  }: {
    server: URL;
    title: string;
    security: Security;
    requirements: readonly SecurityRequirement[];
    approval?: Approval;
    /** Operations that need approval. A request that may amount to one of them is refused. */
    guarded: readonly GuardedOperation[];
  },
): Tool {
  const refuses = guard(guarded);
  const tool = defineTool({
    name,
    description: `Sends any HTTP request to ${title} (${server.host}). Use it only if no other tool makes the request.`,
    input: input.superRefine(({ method, path, query = {}, body }, { addIssue }) => {
      const problem = refuses({ method, url: joined(server, path), query, body });
      if (problem) addIssue(problem);
    }),
    effect: 'once',
    execute({ method, path, query = {}, headers = {}, body }, ctx) {
      const apiKeys = keyHeaders(security);
      return callApi({ what: `${method} at ${server.host}`, security, requirements, about: {} }, ctx, () => {
        const url = urlBelow(
          server,
          path,
          Object.entries(query).flatMap(([key, value]) => encodedQuery(plainQuery(key), value)),
        );
        const request: ApiRequest = { method, url, headers: new Headers({ accept: 'application/json, */*;q=0.5' }), cookies: [] };
        for (const [key, value] of Object.entries(headers)) {
          if (reserved.test(key) || apiKeys.includes(key.toLowerCase())) {
            throw new ToolFailure(`Error: the header '${key.slice(0, 100)}' can't be set.`, { name: 'InvalidRequestError' });
          }
          setHeader(request.headers, key, value);
        }
        if (body === undefined || method === 'GET' || method === 'HEAD') return request;
        const isRaw = typeof body === 'string' && request.headers.has('content-type');
        if (!isRaw) request.headers.set('content-type', request.headers.get('content-type') ?? 'application/json');
        return { ...request, body: isRaw ? body : JSON.stringify(body) };
      });
    },
  });
  return approval ? Object.freeze({ ...tool, approval }) : tool;
}

function plainQuery(name: string) {
  return { name, in: 'query', required: false, description: '', schema: {}, style: 'form', explode: true, allowReserved: false } as const;
}

function keyHeaders({ schemes }: Security): string[] {
  return Object.values(schemes).flatMap((scheme) => {
    const { type, in: place, name } = (scheme ?? {}) as Record<string, unknown>;
    return type === 'apiKey' && place === 'header' && typeof name === 'string' ? [name.toLowerCase()] : [];
  });
}
