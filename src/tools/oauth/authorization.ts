import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OAuthTokens, TokenStorage } from './grant';
import { requestTokens, type TokenClient } from './request-tokens';
import { type StoredTokens, storeProblem, tokenKey, toStore } from './token-store';

/** An authorization that a user has to confirm in a browser. */
export interface Authorization {
  /** Where to send the user. */
  url: string;
  /** Keep both until the user returns, with the user's session. */
  state: string;
  codeVerifier: string;
}

/** Begins an OAuth authorization with PKCE (S256). Nothing is sent: the application sends the user to `url`. */
export function beginAuthorization(options: {
  authorizationUrl: string;
  clientId: string;
  redirectUri: string;
  scopes?: readonly string[] | undefined;
}): Authorization {
  const codeVerifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const url = new URL(options.authorizationUrl);
  const fields = {
    response_type: 'code',
    client_id: options.clientId,
    redirect_uri: options.redirectUri,
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(options.scopes && options.scopes.length > 0 && { scope: options.scopes.join(' ') }),
  };
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return { url: url.href, state, codeVerifier };
}

/**
 * Exchanges the code of the URL to which the user returned for tokens. With `storage` they are kept for the workers, whose grants name the same place.
 * Without it, keep the refresh token, encrypted and per user, for the `credentials` function. Throws `Error` if the user refused, or if the state is not
 * the one that the authorization began with.
 */
export async function finishAuthorization(
  options: TokenClient &
    Pick<Authorization, 'state' | 'codeVerifier'> & {
      redirectUri: string;
      returnedUrl: string;
      /** The scopes that the authorization began with. */
      scopes?: readonly string[] | undefined;
      storage?: TokenStorage | undefined;
    },
): Promise<OAuthTokens> {
  const { searchParams } = new URL(options.returnedUrl);
  if (!isEqual(searchParams.get('state') ?? '', options.state)) {
    throw new Error('The authorization was not finished: its state is not the one that it began with. Begin again.');
  }
  const code = searchParams.get('code');
  if (code === null) {
    const error = searchParams.get('error') ?? '';
    throw new Error(`The authorization was not given${/^[a-z_]{1,60}$/.test(error) ? ` (${error})` : ''}.`);
  }
  const { redirectUri, codeVerifier, scopes, storage } = options;
  const key = storage && tokenKey(storage);
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier };
  const tokens = await requestTokens(options, fields);
  if (storage && key !== undefined) await store(storage, key, toStore(tokens, scopes));
  return tokens;
}

/** Waits for a worker that is renewing earlier tokens of the user: what it gets must not replace these. */
async function store({ store, connector }: TokenStorage, key: string, tokens: StoredTokens): Promise<void> {
  const work = () => store.set(key, tokens);
  try {
    await (store.exclusively ? store.exclusively(key, work) : work());
  } catch (error) {
    throw new Error(`The tokens of '${connector}' could not be stored: ${storeProblem(error)} The user must authorize it again.`);
  }
}

function isEqual(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
