import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type OAuthTokens, requestTokens, type TokenGrant } from './oauth-tokens';

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
  scopes?: readonly string[];
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
 * Exchanges the code of the URL to which the user returned for tokens. Keep the refresh token, encrypted and per user: it is what the worker's
 * `credentials` function returns. Throws `Error` if the user refused, or if the state is not the one that the authorization began with.
 */
export async function finishAuthorization(
  options: Pick<TokenGrant, 'tokenUrl' | 'clientId' | 'clientSecret' | 'secretIn'> &
    Pick<Authorization, 'state' | 'codeVerifier'> & { redirectUri: string; returnedUrl: string },
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
  const { redirectUri, codeVerifier } = options;
  return requestTokens(options, { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier });
}

function isEqual(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
