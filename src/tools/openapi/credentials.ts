import { isObject } from '../../core/json';
import type { ToolContext } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { isGrant, type TokenGrant } from '../oauth/grant';
import { tokens } from '../oauth/token-cache';
import type { SecurityRequirement } from './operations';
import { type ApiRequest, setHeader } from './request';
import { encode } from './write-parameter';

/** A security scheme of OpenAPI 3. */
export type SecurityScheme =
  | { readonly type: 'http'; readonly scheme: string }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'query' | 'cookie'; readonly name: string }
  | { readonly type: 'oauth2' | 'openIdConnect'; readonly [field: string]: unknown };

/** What a credential is needed for. */
export interface CredentialRequest {
  /** The name of the security scheme in the document; `auth` for the option `auth`. */
  readonly scheme: string;
  readonly type: SecurityScheme['type'];
  /** The OAuth scopes that the operation needs. */
  readonly scopes: readonly string[];
  /** The origin of the server that will get the credential, such as `https://api.example.com`. */
  readonly server: string;
  /** The document's `operationId`; unset for the generic tool. */
  readonly operation?: string | undefined;
  readonly threadId: string;
  readonly runId: string;
}

/** A token or an API key; user and password for the scheme `basic`; or how to get an OAuth token. */
export type Credential = string | { readonly username: string; readonly password: string } | TokenGrant;

/**
 * Returns the credential for a request. It is called on the worker for each request, so each thread or user can have credentials of its own.
 * They are sent only to `server`, and are never recorded. `undefined`: there is none. `ctx` gives access to the worker's dependencies.
 */
export type Credentials = (request: CredentialRequest, ctx: ToolContext) => Credential | undefined | Promise<Credential | undefined>;

export interface Security {
  schemes: Readonly<Record<string, unknown>>;
  /** Without it, requests are sent without credentials. */
  credentials?: Credentials;
}

/** What was added to a request. */
export interface Authentication {
  /** What must not be shown of a response. */
  secrets: string[];
  /** Forgets the OAuth tokens, which the server has rejected. Returns whether others may help. Unset if there are none. */
  reject?(): boolean;
}

/**
 * Adds credentials to a request: those of the first requirement for which there are all. Throws `ToolFailure` if there is none, and `Error` if a
 * credential can't be used. Messages contain no credentials.
 */
export async function authenticate(
  request: ApiRequest,
  requirements: readonly SecurityRequirement[],
  { schemes, credentials }: Security,
  about: Pick<CredentialRequest, 'operation'>,
  ctx: ToolContext,
): Promise<Authentication> {
  if (!credentials || requirements.length === 0) return { secrets: [] };
  for (const requirement of requirements) {
    const found: { scheme: SecurityScheme; credential: Credential }[] = [];
    for (const [name, scopes] of Object.entries(requirement)) {
      const scheme = schemeOf(schemes[name]);
      const { threadId, runId } = ctx;
      const wanted = scheme && { scheme: name, type: scheme.type, scopes, server: request.url.origin, threadId, runId, ...about };
      const credential = wanted && (await ask(credentials, wanted, ctx));
      if (!scheme || credential === undefined) break;
      found.push({ scheme, credential });
    }
    if (found.length < Object.keys(requirement).length) continue;
    const added = await Promise.all(found.map(({ scheme, credential }) => addCredential(request, scheme, credential, ctx.signal)));
    const rejects = added.flatMap(({ reject }) => reject ?? []);
    return {
      secrets: added.flatMap(({ secrets }) => secrets),
      // Each of them, because any may be the one that was rejected.
      ...(rejects.length > 0 && { reject: () => rejects.map((reject) => reject()).includes(true) }),
    };
  }
  const names = [...new Set(requirements.flatMap((requirement) => Object.keys(requirement)))].join(', ');
  throw new ToolFailure(`Error: the operation needs credentials (${names}), and the worker has none for this thread.`, {
    name: 'CredentialsMissingError',
  });
}

/** An error of the user's function may contain what it looked up, so its message is not shown. */
async function ask(credentials: Credentials, wanted: CredentialRequest, ctx: ToolContext): Promise<Credential | undefined> {
  try {
    return await credentials(wanted, ctx);
  } catch (error) {
    const name = error instanceof Error ? error.name : 'a value';
    throw new CredentialError(`The credentials function of the worker threw ${name} for the scheme '${wanted.scheme}'.`);
  }
}

export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

function schemeOf(value: unknown): SecurityScheme | undefined {
  if (!isObject(value)) return undefined;
  const { type, scheme, in: place, name } = value;
  if (type === 'http' && typeof scheme === 'string') return { type, scheme };
  if (type === 'apiKey' && typeof name === 'string' && (place === 'header' || place === 'query' || place === 'cookie')) {
    return { type, in: place, name };
  }
  return type === 'oauth2' || type === 'openIdConnect' ? { type } : undefined;
}

async function addCredential(request: ApiRequest, scheme: SecurityScheme, given: Credential, signal: AbortSignal): Promise<Authentication> {
  if (isGrant(given)) {
    const token = await tokens.get(given, signal);
    authorize(request, `Bearer ${token}`);
    return { secrets: [token], reject: () => tokens.forget(given, token) };
  }
  if (typeof given !== 'string') {
    const { username, password } = given;
    const basic = Buffer.from(`${username}:${password}`).toString('base64');
    authorize(request, `Basic ${basic}`);
    return { secrets: [password, basic] };
  }
  if (scheme.type === 'apiKey') addKey(request, scheme, given);
  else authorize(request, `${scheme.type === 'http' && scheme.scheme.toLowerCase() !== 'bearer' ? scheme.scheme : 'Bearer'} ${given}`);
  return { secrets: [given] };
}

function addKey(request: ApiRequest, { in: place, name }: { in: string; name: string }, key: string): void {
  if (place === 'header') setHeader(request.headers, name, key);
  else if (place === 'cookie') request.cookies.push(`${encode(name)}=${encode(key)}`);
  else request.url.searchParams.set(name, key);
}

function authorize({ headers }: ApiRequest, value: string): void {
  setHeader(headers, 'authorization', value);
}
