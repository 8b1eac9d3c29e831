import { isObject } from '../../core/json';

/** Values for the variables of server URLs, such as `{ region: 'eu' }`. */
export type ServerVariables = Readonly<Record<string, string>>;

interface ServerOptions {
  /** Overrides the servers of the document. */
  server?: string;
  serverVariables?: ServerVariables;
  location: URL | undefined;
}

/** Returns the base URL of an operation. `lists`: the servers of the operation, its path and the document; the first that is not empty applies. */
export function serverOf(lists: unknown[], { server, serverVariables = {}, location }: ServerOptions): URL {
  if (server !== undefined) return checkedServer(server, undefined);
  const servers = lists.find((list): list is unknown[] => Array.isArray(list) && list.length > 0) ?? [];
  const first = isObject(servers[0]) ? servers[0] : {};
  const url = withVariables(typeof first.url === 'string' ? first.url : '/', first.variables, serverVariables);
  return checkedServer(url, location?.protocol === 'file:' ? undefined : location);
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
  const url = parsed(text, base);
  if (!url) throw new Error(`its server URL is ${JSON.stringify(text.slice(0, 200))}, which is not absolute; pass server.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`its server uses ${url.protocol}; pass a server with https:.`);
  if (url.username !== '' || url.password !== '') throw new Error('its server URL contains credentials; pass them by credentials.');
  url.hash = '';
  return url;
}

function parsed(text: string, base: URL | undefined): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
