import type { TokenGrant } from './grant';
import { tokens } from './token-cache';

/** Access tokens of a grant, for the option `credentials` of a model provider. All uses of equal grants in a process share them. */
export interface OAuth {
  /** Returns a token, which is renewed before it expires. Rejects with an error whose message contains no secrets. */
  token(signal?: AbortSignal): Promise<string>;
  /** Forgets a token that was refused. Returns whether another one may help. */
  refuse(token: string): boolean;
}

/** Makes an OAuth grant usable by model providers, and by code of your own. */
export function oauth(grant: TokenGrant): OAuth {
  return Object.freeze({
    token: (signal?: AbortSignal) => tokens.get(grant, signal),
    refuse: (token: string) => tokens.forget(grant, token),
  });
}
