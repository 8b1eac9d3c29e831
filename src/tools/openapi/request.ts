import { isObject } from '../../core/json';
import { ToolFailure } from '../defining/tool-failure';
import type { ArgumentNames } from './arguments';
import type { ApiDocument } from './document';
import type { FullOperation } from './operations';
import { writeBody } from './write-body';
import { encode, encodedQuery, headerText, pathText, queryPairs } from './write-parameter';

/** A request, to which credentials are added before it is sent. */
export interface ApiRequest {
  method: string;
  url: URL;
  headers: Headers;
  cookies: string[];
  body?: string | Blob | FormData;
}

const accept = 'application/json, */*;q=0.5';

/** Builds the request of an operation from validated arguments. Throws `ToolFailure` for values that can't be sent. */
export function requestOf(document: ApiDocument, operation: FullOperation, names: ArgumentNames, args: unknown): ApiRequest {
  const given = isObject(args) ? args : {};
  const headers = new Headers({ accept });
  const query: string[] = [];
  const cookies: string[] = [];
  // Some documents distinguish operations of one path by a query or a fragment in its template.
  const [template = '', fixedQuery = ''] = operation.path.replace(/#.*/s, '').split('?');
  let path = template;
  if (fixedQuery !== '') query.push(fixedQuery);
  for (const [argument, parameter] of names.parameters) {
    const value = given[argument];
    if (value === undefined || (value === null && !parameter.required)) continue;
    if (parameter.in === 'path')
      path = path.replaceAll(`{${parameter.name}}`, () => soundSegment(parameter.name, pathText(parameter, value)));
    else if (parameter.in === 'query') query.push(...encodedQuery(parameter, value));
    else if (parameter.in === 'header') setHeader(headers, parameter.name, headerText(parameter, value));
    else cookies.push(...queryPairs(parameter, value).map(([name, text]) => `${encode(name)}=${encode(text)}`));
  }
  const { method, body, server } = operation;
  const request: ApiRequest = { method, url: urlBelow(server, path, query), headers, cookies };
  const content = names.body === undefined ? undefined : given[names.body];
  if (!body || content === undefined) return request;
  const written = writeBody(document, body, content);
  if (written.mediaType !== undefined) headers.set('content-type', written.mediaType);
  return { ...request, body: written.content };
}

/** Sets a header. Throws `ToolFailure` for a value with line breaks or characters that headers can't contain. The value is not in the message. */
export function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw new ToolFailure(`Error: the value for the header '${name}' has characters that a header can't contain.`, {
      name: 'InvalidRequestError',
    });
  }
}

/** Appends a path to a server's URL. Throws `ToolFailure` if the result would be outside it. */
export function urlBelow(server: URL, path: string, query: readonly string[]): URL {
  const url = joined(server, path);
  const base = server.pathname.replace(/\/$/, '');
  url.search = [server.search.slice(1), ...query].filter((part) => part !== '').join('&');
  if (url.origin !== server.origin || !(url.pathname === base || url.pathname.startsWith(`${base}/`))) {
    throw new ToolFailure('Error: the path leads out of the service.', { name: 'InvalidRequestError' });
  }
  return url;
}

/** A path appended to a server's URL, which may lead out of it. */
export function joined(server: URL, path: string): URL {
  const url = new URL(server);
  url.pathname = `${server.pathname.replace(/\/$/, '')}${path}`;
  return url;
}

/** A value that is empty or a dot segment would select another path. */
function soundSegment(name: string, text: string): string {
  if (/^(?:\.|%2e){0,2}$/i.test(text)) {
    throw new ToolFailure(`Error: the path parameter '${name}' can't be ${text === '' ? 'empty' : `'${text}'`}.`, {
      name: 'InvalidRequestError',
    });
  }
  return text;
}
