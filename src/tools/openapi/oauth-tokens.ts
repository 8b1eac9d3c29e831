import { createHash } from 'node:crypto';
import { isObject, parseObject } from '../../core/json';
import { readBytes } from '../web/read-bytes';

/** How to get an access token: by the client's own rights, or with a refresh token that a user's authorization gave. */
export interface TokenGrant {
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Unset for a public client. */
  readonly clientSecret?: string;
  /** Where the server expects the client's secret. Default `header` (HTTP Basic). */
  readonly secretIn?: 'header' | 'body';
  readonly scopes?: readonly string[];
  /** With it, the token is that of the user who authorized the client. */
  readonly refreshToken?: string;
  /** Is given each new token, so that a refresh token that replaces the old one can be stored. */
  readonly onTokens?: (tokens: OAuthTokens) => void | Promise<void>;
}

export interface OAuthTokens {
  accessToken: string;
  refreshToken?: string;
  /** When the access token expires, in milliseconds since 1970; unset if the server does not say. */
  expiresAt?: number;
}

/** A token is replaced this long before it expires, but not in the first half of its life. */
const bufferMs = 300_000;
const unknownLifeMs = 300_000;
const maxCached = 1_000;
const requestMs = 20_000;
const maxAnswerBytes = 1_000_000;

interface Cached {
  tokens: Promise<OAuthTokens>;
  renewAt: number;
  accessToken?: string;
}

/** Access tokens in memory. Each combination of client, user and scopes has its own; concurrent requests wait for the same one. */
export class TokenCache {
  readonly #cached = new Map<string, Cached>();
  /** Refresh tokens that have replaced those of the grants. */
  readonly #replaced = new Map<string, string>();

  constructor(readonly now: () => number = Date.now) {}

  async get(grant: TokenGrant, signal: AbortSignal): Promise<string> {
    const key = keyOf(grant);
    const known = this.#cached.get(key);
    if (known && this.now() < known.renewAt) return withSignal(known.tokens, signal);
    const refreshToken = this.#replaced.get(key) ?? grant.refreshToken;
    const entry: Cached = {
      tokens: this.#request(key, { ...grant, ...(refreshToken !== undefined && { refreshToken }) }),
      renewAt: Number.POSITIVE_INFINITY,
    };
    keep(this.#cached, key, entry);
    entry.tokens.then(
      ({ accessToken, expiresAt }) => {
        const lifeMs = expiresAt === undefined ? unknownLifeMs + bufferMs : expiresAt - this.now();
        Object.assign(entry, { accessToken, renewAt: this.now() + Math.max(lifeMs - bufferMs, lifeMs / 2) });
      },
      () => this.#drop(key, entry),
    );
    return withSignal(entry.tokens, signal);
  }

  /** Forgets a token that a server has rejected, unless it was replaced already. */
  forget(grant: TokenGrant, accessToken: string): void {
    const key = keyOf(grant);
    const entry = this.#cached.get(key);
    if (entry?.accessToken === accessToken) this.#drop(key, entry);
  }

  #drop(key: string, entry: Cached): void {
    if (this.#cached.get(key) === entry) this.#cached.delete(key);
  }

  async #request(key: string, grant: TokenGrant): Promise<OAuthTokens> {
    const { refreshToken, scopes = [] } = grant;
    const fields: Record<string, string> =
      refreshToken === undefined ? { grant_type: 'client_credentials' } : { grant_type: 'refresh_token', refresh_token: refreshToken };
    if (scopes.length > 0) fields.scope = scopes.join(' ');
    const tokens = await requestTokens(grant, fields, this.now);
    if (tokens.refreshToken !== undefined) keep(this.#replaced, key, tokens.refreshToken);
    await grant.onTokens?.(tokens);
    return tokens;
  }
}

/** The tokens of this process. */
export const tokens = new TokenCache();

type Client = Pick<TokenGrant, 'tokenUrl' | 'clientId' | 'clientSecret' | 'secretIn'>;

/** Asks an OAuth server for tokens. Errors contain the server's error code, and nothing of what was sent. */
export async function requestTokens(client: Client, fields: Record<string, string>, now: () => number = Date.now): Promise<OAuthTokens> {
  const { tokenUrl, clientId, clientSecret, secretIn = 'header' } = client;
  const inHeader = clientSecret !== undefined && secretIn === 'header';
  const body = new URLSearchParams({
    ...fields,
    ...(!inHeader && { client_id: clientId }),
    ...(clientSecret !== undefined && !inHeader && { client_secret: clientSecret }),
  });
  const basic = () => Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret ?? '')}`).toString('base64');
  const { host } = new URL(tokenUrl);
  let response: Response;
  let answer: Record<string, unknown> | undefined;
  try {
    response = await fetch(tokenUrl, {
      method: 'POST',
      body,
      headers: { accept: 'application/json', ...(inHeader && { authorization: `Basic ${basic()}` }) },
      // A redirect would carry the client's secret to another place.
      redirect: 'error',
      signal: AbortSignal.timeout(requestMs),
    });
    answer = parseObject((await readBytes(response, maxAnswerBytes)).bytes.toString('utf8'));
  } catch {
    throw new TokenError(`The OAuth server ${host} could not be reached.`);
  }
  if (response.ok && isObject(answer) && typeof answer.access_token === 'string') return tokensOf(answer, now());
  const code = typeof answer?.error === 'string' && /^[a-z_]{1,60}$/.test(answer.error) ? ` (${answer.error})` : '';
  throw new TokenError(`The OAuth server ${host} gave no token: status ${response.status}${code}.`);
}

export class TokenError extends Error {
  override readonly name = 'TokenError';
}

function tokensOf({ access_token, refresh_token, expires_in }: Record<string, unknown>, now: number): OAuthTokens {
  const seconds = Number(expires_in);
  return {
    accessToken: String(access_token),
    ...(typeof refresh_token === 'string' && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && Number.isFinite(seconds) && { expiresAt: now + seconds * 1_000 }),
  };
}

/** A digest, so that the cache's keys are not secrets. */
function keyOf({ tokenUrl, clientId, clientSecret, scopes, refreshToken }: TokenGrant): string {
  return createHash('sha256')
    .update(JSON.stringify([tokenUrl, clientId, clientSecret, scopes, refreshToken]))
    .digest('base64');
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= maxCached) break;
    map.delete(oldest);
  }
}

/** The request for a token is shared, so it does not end with the call that began it. */
async function withSignal(tokens: Promise<OAuthTokens>, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort, { once: true });
  try {
    return (await Promise.race([tokens, aborted])).accessToken;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length);
}
