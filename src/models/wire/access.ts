import { ModelFailure } from '../model';
import { type Callee, Trouble } from './failure';
import { secretsOf } from './secrets';

/** Gives access tokens. Made by `oauth(grant)`. */
export interface TokenSource {
  /** Returns a token that is valid for the next request. */
  token(signal: AbortSignal): Promise<string>;
  /** The provider has refused this token. Returns whether another one may help. */
  refuse(token: string): boolean;
}

/**
 * `oauth(grant)`, or a function that returns an access token. It is called for each model call, and again with `refresh: true` if the provider refused
 * the token.
 */
export type ModelCredentials = TokenSource | ((ctx: { refresh: boolean }) => string | Promise<string>);

interface Keys {
  apiKey?: string;
  credentials?: ModelCredentials;
  headers?: Record<string, string>;
}

/** How one model call authenticates. */
export interface Access {
  callee: Callee;
  /** Sends the request, with the header that authenticates it if the provider has `credentials`. After a 401, sends it once more with another token. */
  send(signal: AbortSignal, request: (authorization: Record<string, string>) => Promise<Response>): Promise<Response>;
}

export function accessOf(options: Keys, about: Pick<Callee, 'host' | 'model' | 'variables'>): Access {
  const { credentials } = options;
  const secrets = secretsOf(options);
  const callee = { ...about, secrets, usesToken: credentials !== undefined };
  return {
    callee,
    async send(signal, request) {
      if (!credentials) return request({});
      const withToken = async (token: string) => {
        secrets.push(token);
        return request({ authorization: `Bearer ${token}` });
      };
      const ask = (refresh: boolean) => tokenOf(credentials, { refresh, signal, host: about.host });
      const token = await ask(false);
      try {
        return await withToken(token);
      } catch (error) {
        if (statusOf(error) !== 401) throw error;
        if (typeof credentials !== 'function' && !credentials.refuse(token)) throw error;
      }
      return withToken(await ask(true));
    },
  };
}

async function tokenOf(
  credentials: ModelCredentials,
  { refresh, signal, host }: { refresh: boolean; signal: AbortSignal; host: string },
): Promise<string> {
  const ask = async () => (typeof credentials === 'function' ? credentials({ refresh }) : credentials.token(signal));
  let token: unknown;
  try {
    token = await untilAborted(ask(), signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw noToken(host, error);
  }
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new ModelFailure('auth', `There is no access token for ${host}: its credentials gave none that can be sent in a header.`);
}

/** Only the message of a `TokenError` is known to contain no secrets. */
function noToken(host: string, error: unknown): ModelFailure {
  const { name, message, isTemporary } = error instanceof Error ? (error as Error & { isTemporary?: unknown }) : { name: 'a value' };
  const why = name === 'TokenError' ? message : `its credentials function threw ${name}.`;
  return new ModelFailure(isTemporary === false ? 'auth' : 'connection', `There is no access token for ${host}: ${why}`);
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function statusOf(error: unknown): unknown {
  return error instanceof Trouble ? error.facts.status : (error as { status?: unknown }).status;
}
