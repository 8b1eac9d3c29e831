import { isObject, parseObject } from '../../core/json';
import { readBytes } from '../web/read-bytes';
import type { OAuthTokens, TokenGrant } from './grant';

const requestMs = 20_000;
const maxAnswerBytes = 1_000_000;

/** There is no token. The message contains no secrets. */
export class TokenError extends Error {
  override readonly name = 'TokenError';

  constructor(
    message: string,
    /** Whether another attempt may succeed without anybody's help. */
    readonly isTemporary: boolean,
    /** The server's error code, such as `invalid_grant`. */
    readonly code?: string,
  ) {
    super(message);
  }
}

export type TokenClient = Pick<TokenGrant, 'tokenUrl' | 'clientId' | 'clientSecret' | 'secretIn'>;

/** Asks an OAuth server for tokens. Errors contain the server's error code, and nothing of what was sent. */
export async function requestTokens(
  client: TokenClient,
  fields: Record<string, string>,
  now: () => number = Date.now,
): Promise<OAuthTokens> {
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
    throw new TokenError(`The OAuth server ${host} could not be reached.`, true);
  }
  if (response.ok && isObject(answer) && isToken(answer.access_token)) return tokensOf(answer, now());
  const { status } = response;
  const code = typeof answer?.error === 'string' && /^[a-z_]{1,60}$/.test(answer.error) ? answer.error : undefined;
  const isTemporary = status >= 500 || status === 429 || status === 408;
  throw new TokenError(`The OAuth server ${host} gave no token: status ${status}${code ? ` (${code})` : ''}.`, isTemporary, code);
}

/** What can be sent in a header. */
function isToken(value: unknown): boolean {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}

/** Ten years: a date that JSON and `Date` can represent. */
const mostSeconds = 315_360_000;

function tokensOf({ access_token, refresh_token, expires_in }: Record<string, unknown>, now: number): OAuthTokens {
  const seconds = typeof expires_in === 'number' || (typeof expires_in === 'string' && /^\d+$/.test(expires_in)) ? Number(expires_in) : 0;
  return {
    accessToken: String(access_token),
    ...(typeof refresh_token === 'string' && { refreshToken: refresh_token }),
    // A life that is none says nothing about the token.
    ...(seconds > 0 && { expiresAt: now + Math.min(seconds, mostSeconds) * 1_000 }),
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length);
}
