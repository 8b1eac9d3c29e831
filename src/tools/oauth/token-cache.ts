import { createHash, randomUUID } from 'node:crypto';
import { oneAtATime } from '../built-in/one-at-a-time';
import type { OAuthTokens, TokenGrant, TokenStorage } from './grant';
import { requestTokens, TokenError } from './request-tokens';
import { type StoredTokens, storeProblem, type TokenStore, tokenKey, toStore } from './token-store';

const maxCached = 1_000;
/** When a store is read again for a token that has no known end and can't be renewed. */
const lookAgainMs = 300_000;
/** A token that replaced a refused one is not replaced within this time: the server then refuses for another reason. */
const refusedAgainMs = 60_000;

interface Cached {
  tokens: Promise<OAuthTokens>;
  renewAt: number;
  accessToken?: string;
}

interface Newest {
  tokens: StoredTokens;
  /** What the store had instead, as JSON. */
  replaced: string | undefined;
}

/** Access tokens in memory. Each combination of client, user and scopes has its own; concurrent requests wait for the same one. */
export class TokenCache {
  readonly #cached = new Map<string, Cached>();
  /** What was received last, by client and user: its refresh token may have replaced that of the grant. With a store only if it could not be stored. */
  readonly #newest = new Map<string, Newest>();
  readonly #refused = new Map<string, { accessToken: string; at: number }>();

  constructor(readonly now: () => number = Date.now) {}

  /** Returns an access token. Rejects with a `TokenError`, whose message contains no secrets, or with the signal's reason. */
  async get(grant: TokenGrant, signal?: AbortSignal): Promise<string> {
    const key = keyOf(grant);
    const known = this.#cached.get(key);
    if (known && this.now() < known.renewAt) return withSignal(known.tokens, signal);
    const obtained = this.#obtain(key, grant);
    const entry: Cached = { tokens: obtained, renewAt: Number.POSITIVE_INFINITY };
    keep(this.#cached, key, entry);
    obtained.then(
      ({ accessToken, renewAt }) => Object.assign(entry, { accessToken, renewAt }),
      () => this.#drop(key, entry),
    );
    return withSignal(entry.tokens, signal);
  }

  /**
   * Forgets a token that a server has refused, unless it was replaced already. Returns false if another would not help: this one replaced a refused
   * token less than a minute ago.
   */
  forget(grant: TokenGrant, accessToken: string): boolean {
    const key = keyOf(grant);
    const entry = this.#cached.get(key);
    if (entry?.accessToken !== accessToken) return true;
    const last = this.#refused.get(key);
    if (last && this.now() - last.at < refusedAgainMs) return false;
    keep(this.#refused, key, { accessToken, at: this.now() });
    this.#drop(key, entry);
    return true;
  }

  #drop(key: string, entry: Cached): void {
    if (this.#cached.get(key) === entry) this.#cached.delete(key);
  }

  /** Two requests for tokens of one user, also for other scopes, are not made at the same time: a refresh token may be valid only once. */
  #obtain(key: string, grant: TokenGrant): Promise<StoredTokens> {
    const { storage } = grant;
    const owner = ownerOf(grant);
    return oneAtATime(`OAuth tokens ${owner}`, async () => {
      if (!storage) return this.#renewed(key, owner, grant);
      const name = tokenKey(storage);
      const work = () => this.#renewed(key, owner, grant);
      return storage.store.exclusively ? storage.store.exclusively(name, work) : work();
    });
  }

  async #renewed(key: string, owner: string, grant: TokenGrant): Promise<StoredTokens> {
    const { storage, scopes = [], onTokens } = grant;
    const inStore = storage && (await read(storage));
    const stored = this.#known(owner, storage, inStore);
    const ways = waysOf(grant, stored?.refreshToken);
    const usable = stored && this.#usable(key, stored, scopes, ways.length > 0);
    if (usable) {
      if (this.#newest.has(owner)) await this.#save(owner, usable, storage);
      return usable;
    }
    if (ways.length === 0) throw new TokenError(`This user has not authorized '${storage?.connector}', or not any more.`, false);
    const given = await this.#firstOf(ways, grant);
    const tokens = toStore({ ...(stored?.refreshToken && { refreshToken: stored.refreshToken }), ...given }, scopes, this.now());
    // First in memory: the old refresh token may be invalid now.
    keep(this.#newest, owner, { tokens, replaced: JSON.stringify(inStore) });
    await this.#save(owner, tokens, storage);
    await tell(onTokens, given);
    return tokens;
  }

  /** What could not be stored counts only as long as the store has what it replaced: tokens may have been deleted since, or others stored. */
  #known(owner: string, storage: TokenStorage | undefined, inStore: StoredTokens | undefined): StoredTokens | undefined {
    const newest = this.#newest.get(owner);
    if (!storage || !newest) return newest?.tokens ?? inStore;
    if (newest.replaced === JSON.stringify(inStore)) return newest.tokens;
    this.#newest.delete(owner);
    return inStore;
  }

  /** Returns the tokens if their access token can be used. One that can't be renewed is used as long as it is valid. */
  #usable(key: string, tokens: StoredTokens, scopes: readonly string[], canRenew: boolean): StoredTokens | undefined {
    const { accessToken, scope, renewAt, expiresAt = this.now() + lookAgainMs } = tokens;
    if (scope !== scopes.join(' ') || accessToken === this.#refused.get(key)?.accessToken) return undefined;
    if (this.now() < renewAt) return tokens;
    return canRenew || expiresAt <= this.now() ? undefined : { ...tokens, renewAt: expiresAt };
  }

  async #save(owner: string, tokens: StoredTokens, storage: TokenStorage | undefined): Promise<void> {
    if (!storage) return;
    await storage.store.set(tokenKey(storage), tokens).catch((error: unknown) => {
      throw new TokenError(`The OAuth tokens of '${storage.connector}' can't be stored: ${storeProblem(error)}`, true);
    });
    this.#newest.delete(owner);
  }

  /** Tries refresh tokens until one is valid; undefined stands for the client's own rights. */
  async #firstOf([refreshToken, ...others]: readonly (string | undefined)[], grant: TokenGrant): Promise<OAuthTokens> {
    try {
      return await requestTokens(grant, fieldsOf(grant, refreshToken), this.now);
    } catch (error) {
      const isOver = error instanceof TokenError && error.code === 'invalid_grant';
      if (!isOver || others.length === 0) throw error;
      return this.#firstOf(others, grant);
    }
  }
}

/** The tokens of this process. */
export const tokens = new TokenCache();

/** Refresh tokens that may be valid, and undefined for the client's own rights, which never replace those of a user. */
function waysOf({ refreshToken: first, storage }: TokenGrant, newest: string | undefined): (string | undefined)[] {
  const isUser = first !== undefined || storage?.user !== undefined;
  return [...new Set(isUser ? [newest, first].filter((token) => token !== undefined) : [newest, undefined])];
}

function fieldsOf({ scopes = [] }: TokenGrant, refreshToken: string | undefined): Record<string, string> {
  return {
    ...(refreshToken === undefined ? { grant_type: 'client_credentials' } : { grant_type: 'refresh_token', refresh_token: refreshToken }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
}

async function read(storage: TokenStorage): Promise<StoredTokens | undefined> {
  try {
    return await storage.store.get(tokenKey(storage));
  } catch (error) {
    throw new TokenError(`The OAuth tokens of '${storage.connector}' can't be read: ${storeProblem(error)}`, true);
  }
}

/** The message of the user's function may contain what it was given. */
async function tell(onTokens: TokenGrant['onTokens'], tokens: OAuthTokens): Promise<void> {
  try {
    await onTokens?.(tokens);
  } catch (error) {
    throw new TokenError(`The function onTokens threw ${error instanceof Error ? error.name : 'a value'}.`, true);
  }
}

/** Digests, so that the keys of maps are not secrets. */
function keyOf(grant: TokenGrant): string {
  return digestOf([ownerOf(grant), grant.scopes]);
}

function ownerOf({ tokenUrl, clientId, clientSecret, refreshToken, storage }: TokenGrant): string {
  return digestOf([tokenUrl, clientId, clientSecret, refreshToken, storage && [idOf(storage.store), tokenKey(storage)]]);
}

const ids = new WeakMap<TokenStore, string>();

/** Tells stores apart, such as those of two tenants. */
function idOf(store: TokenStore): string {
  const id = store.id ?? ids.get(store) ?? randomUUID();
  ids.set(store, id);
  return id;
}

function digestOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
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
async function withSignal(tokens: Promise<OAuthTokens>, signal: AbortSignal | undefined): Promise<string> {
  if (!signal) return (await tokens).accessToken;
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
