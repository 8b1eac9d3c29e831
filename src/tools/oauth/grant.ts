import type { TokenStore } from './token-store';

/** How to get an access token: by the client's own rights, or with a refresh token that a user's authorization gave. */
export interface TokenGrant {
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Unset for a public client. */
  readonly clientSecret?: string | undefined;
  /** Where the server expects the client's secret. Default `header` (HTTP Basic). */
  readonly secretIn?: 'header' | 'body' | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** With it, the token is that of the user who authorized the client. */
  readonly refreshToken?: string | undefined;
  /** Where tokens are kept. Default: in the memory of the process. */
  readonly storage?: TokenStorage | undefined;
  /** Is given each new token, so that a refresh token that replaces the old one can be stored. Not needed with `storage`. */
  readonly onTokens?: ((tokens: OAuthTokens) => void | Promise<void>) | undefined;
}

/** The place of one user's tokens in a store. */
export interface TokenStorage {
  readonly store: TokenStore;
  /** A name for the OAuth client, such as `github`. Another client needs another name. */
  readonly connector: string;
  /** Who authorized the client. Unset for the tokens of the client itself. */
  readonly user?: string | undefined;
}

export interface OAuthTokens {
  accessToken: string;
  refreshToken?: string;
  /** When the access token expires, in milliseconds since 1970; unset if the server does not say. */
  expiresAt?: number;
}

export function isGrant(value: unknown): value is TokenGrant {
  return typeof value === 'object' && value !== null && 'tokenUrl' in value;
}
