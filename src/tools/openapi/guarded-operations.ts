import type { FullOperation } from './operations';

/** An operation that needs approval, with the name of its tool if it has one. */
export interface GuardedOperation {
  operation: Pick<FullOperation, 'id' | 'method' | 'path' | 'server'>;
  tool?: string;
}

/** A request of a tool that names its own method and path. */
export interface FreeRequest {
  method: string;
  url: URL;
  query: Record<string, unknown>;
  body: unknown;
}

/**
 * Returns a function that says why a request is refused: a service may take it for an operation that needs approval. Services differ in how they
 * read a request, so it is compared generously: a parameter of a path matches any text, and the case of a path, empty steps, parameters after a
 * semicolon and repeated encoding make no difference.
 */
export function guard(operations: readonly GuardedOperation[]): (request: FreeRequest) => string | undefined {
  const guarded = operations.map(({ operation, tool }) => {
    const { id, method, path, server } = operation;
    const pieces = `${server.pathname}${path.replace(/[?#].*/s, '')}`.split(/\{[^}]*\}/);
    return { id, method, tool, origin: server.origin, pieces: pieces.map(plain) };
  });
  return (request) => {
    if (guarded.length === 0) return undefined;
    const path = plain(request.url.pathname).replace(/\/$/, '');
    if (/(?:^|\/)\.{1,2}(?:\/|$)/.test(path)) return 'the path has encoded dot segments.';
    const found = guarded.find(
      ({ method, origin, pieces }) => origin === request.url.origin && mayHaveMethod(request, method) && hasPieces(path, pieces),
    );
    if (!found) return undefined;
    const instead = found.tool ? `use the tool '${found.tool}', or the one of the operation that you mean` : 'it has no tool here';
    return `the request may amount to the operation '${found.id}', which needs approval; ${instead}.`;
  };
}

/** Services answer HEAD with the operation of GET, and some take another method from a query or a form. */
function mayHaveMethod({ method, query, body }: FreeRequest, wanted: string): boolean {
  const isOverridden = Object.keys(query).some((key) => /method/i.test(key)) || /_method/i.test(JSON.stringify(body) ?? '');
  return isOverridden || method === wanted || (method === 'HEAD' && wanted === 'GET');
}

function plain(path: string): string {
  let text = path;
  for (let before = ''; before !== text; ) {
    before = text;
    // One escape at a time, because one that is not valid UTF-8 must not hide the others.
    text = text.replace(/%([0-7][0-9a-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return text
    .replace(/;[^/]*/g, '')
    .replace(/[\\/]+/g, '/')
    .toLowerCase();
}

/** Whether the path is these pieces with any text between them. Takes linear time. */
function hasPieces(path: string, pieces: readonly string[]): boolean {
  const [first = '', ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return path === first.replace(/\/$/, '');
  const tail = last.replace(/\/$/, '');
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const next = path.indexOf(piece, at);
    if (next < 0) return false;
    at = next + piece.length;
  }
  return path.length >= at + tail.length && path.endsWith(tail);
}
