import type { OAuthTokens } from './grant';

/** Keeps tokens, those of each connector and user under a key of their own (`tokenKey`). Implement it to use a database or a secret manager. */
export interface TokenStore {
  /** Two stores with the same id hold the same tokens. Default: each object is a store of its own. */
  readonly id?: string;
  /** Returns undefined if there are none. Rejects if they can't be read. */
  get(key: string): Promise<StoredTokens | undefined>;
  /** Replaces what is stored under the key. */
  set(key: string, tokens: StoredTokens): Promise<void>;
  delete(key: string): Promise<void>;
  /**
   * Runs the work while no other process runs any for the same key, so that no two processes use the same refresh token. Without it, only calls of the
   * same process wait for each other, which is enough for one worker.
   */
  exclusively?<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export interface StoredTokens extends OAuthTokens {
  /** The scopes that the access token was requested with, separated by blanks. */
  scope: string;
  /** From when on the access token is replaced, in milliseconds since 1970. */
  renewAt: number;
}

/** What is wrong with the stored tokens. Its message contains none. */
export class TokenStoreError extends Error {
  override readonly name = 'TokenStoreError';
}

/** The message of an error of a user's store may contain what was stored. */
export function storeProblem(error: unknown): string {
  if (error instanceof TokenStoreError) return error.message;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^\w{1,40}$/.test(code)) return `the store failed (${code}).`;
  return `the store threw ${error instanceof Error ? error.name : 'a value'}.`;
}

/** The key under which a store has the tokens of a user, or of the client itself: to delete them when the user leaves. */
export function tokenKey({ connector, user }: { readonly connector: string; readonly user?: string | undefined }): string {
  if (typeof connector !== 'string' || connector === '') throw new TypeError('OAuth storage: connector is empty; name the OAuth client.');
  if (user !== undefined && (typeof user !== 'string' || user === '')) {
    throw new TypeError(
      `OAuth storage of '${connector}': user is no text, or an empty one. Leave it out for the tokens of the client itself.`,
    );
  }
  return JSON.stringify(user === undefined ? [connector] : [connector, user]);
}

/** A token is replaced this long before it expires, but not in the first half of its life. */
const bufferMs = 300_000;
const unknownLifeMs = 300_000;

/** Adds what the next reader needs to know. */
export function toStore(tokens: OAuthTokens, scopes: readonly string[] = [], now: number = Date.now()): StoredTokens {
  const lifeMs = tokens.expiresAt === undefined ? unknownLifeMs + bufferMs : tokens.expiresAt - now;
  return { ...tokens, scope: scopes.join(' '), renewAt: now + Math.max(lifeMs - bufferMs, lifeMs / 2) };
}
