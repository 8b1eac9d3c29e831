import { isObject } from '../../core/json';

/** Values for the variables of server URLs, such as `{ region: 'eu' }`. */
export type ServerVariables = Readonly<Record<string, string>>;

export interface ServerOptions {
  /** Overrides the servers of the document. */
  server?: string | undefined;
  serverVariables?: ServerVariables | undefined;
  allowedOrigins?: readonly string[] | undefined;
}

/**
 * Returns the base URL of an operation, from the servers that it or its path names; without any, from those of the document. Throws if an operation
 * names an origin that is neither the document's nor allowed: it would receive credentials, or be an address that only the worker can reach.
 */
export type ServerOf = (operationServers?: unknown, pathServers?: unknown) => URL;

/** `location`: where the document is from. */
export function serversOf(documentServers: unknown, options: ServerOptions, location: URL | undefined): ServerOf {
  const { server, serverVariables = {}, allowedOrigins = [] } = options;
  const base = location?.protocol === 'file:' ? undefined : location;
  if (server !== undefined) return () => checkedServer(server, undefined);
  const urlOf = (given: unknown) => {
    const { url, variables } = isObject(given) ? given : {};
    return checkedServer(withVariables(typeof url === 'string' ? url : '/', variables, serverVariables), base);
  };
  const own = filledList(documentServers);
  const origins = new Set(allowedOrigins.map(originOf));
  for (const one of own ?? [undefined]) origins.add(tried(() => urlOf(one))?.origin ?? '');
  return (...lists) => {
    const named = lists.map(filledList).find((list) => list !== undefined);
    const url = urlOf((named ?? own)?.[0]);
    if (!origins.has(url.origin))
      throw new Error(`its server ${url.origin} is none of the document's; pass it in allowedOrigins, or pass server.`);
    return url;
  };
}

function filledList(value: unknown): unknown[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value : undefined;
}

function originOf(text: string): string {
  const url = tried(() => new URL(text));
  if (!url || url.origin === 'null')
    throw new TypeError(`openApiTools: allowedOrigins has ${JSON.stringify(text)}, which is no URL with an origin.`);
  return url.origin;
}

function withVariables(url: string, declared: unknown, given: ServerVariables): string {
  const variables = isObject(declared) ? declared : {};
  return url.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = isObject(variables[name]) ? variables[name] : {};
    const value = Object.hasOwn(given, name) ? given[name] : variable.default;
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new Error(`its server URL needs the variable '${name}', which has no default; pass it in serverVariables.`);
    }
    const choices = Array.isArray(variable.enum) ? variable.enum.map(String) : [];
    if (choices.length > 0 && !choices.includes(String(value))) {
      throw new Error(`the server variable '${name}' must be one of ${choices.slice(0, 20).join(', ')}.`);
    }
    return String(value);
  });
}

function checkedServer(text: string, base: URL | undefined): URL {
  const url = tried(() => new URL(text, base));
  if (!url) throw new Error(`its server URL is ${JSON.stringify(text.slice(0, 200))}, which is not absolute; pass server.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`its server uses ${url.protocol}; pass a server with https:.`);
  if (url.username !== '' || url.password !== '') throw new Error('its server URL contains credentials; pass them by credentials.');
  url.hash = '';
  return url;
}

function tried(make: () => URL): URL | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
