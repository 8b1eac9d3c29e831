import { withinPatience } from '../defining/within';
import { isGrant, type TokenGrant } from '../oauth/grant';
import { TokenError } from '../oauth/request-tokens';
import { tokens } from '../oauth/token-cache';
import { SecretMask } from '../running/secret-mask';
import type { McpCredentials } from './options';

type Headers = Record<string, string>;
type Given = Headers | TokenGrant;

/** What authenticates a request. */
export interface Sent {
  readonly headers: Headers;
  /** What the headers were made of. */
  readonly from: Promise<Given>;
  /** The access token in them. */
  readonly token?: string;
}

/** There are no credentials, so a request was not sent. The message contains none. */
export class McpCredentialsError extends Error {
  override readonly name = 'McpCredentialsError';
}

/** Credentials that were renewed, and then refused without having been accepted, are not renewed again within this time. */
const renewedAgainMs = 60_000;

/** What authenticates requests to one server, of one user. Headers are kept until the server refuses them; OAuth tokens are also renewed before they expire. */
export class Credentials {
  readonly canRefresh: boolean;
  #held: Promise<Given> | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #wasAccepted = false;
  #secrets: string[] = [];
  #mask = new SecretMask([]);
  #errorMask: SecretMask;

  constructor(
    private readonly give: McpCredentials | undefined,
    /** Other values that the server knows and no message may show. */
    private readonly others: readonly string[] = [],
    private readonly user: string = '',
  ) {
    this.#errorMask = new SecretMask(others);
    this.canRefresh = give !== undefined;
  }

  /** Rejects with a `McpCredentialsError`. */
  async headers(): Promise<Sent> {
    this.#held ??= this.#ask(false);
    const from = this.#held;
    const given = await from;
    if (!isGrant(given)) return { headers: given, from };
    const token = await tokens.get(given).catch((error: unknown) => {
      // The function may have another one by now.
      if (this.#held === from) this.#held = undefined;
      throw new McpCredentialsError(error instanceof TokenError ? error.message : 'The OAuth credentials are not valid.');
    });
    const headers = { authorization: `Bearer ${token}` };
    this.#hide(headers);
    return { headers, from, token };
  }

  /**
   * Returns headers to send instead of those that were refused. Requests that were refused at the same time share them. Undefined if others would not
   * help: the server also refused the last ones, less than a minute ago.
   */
  async instead({ from, token }: Sent): Promise<Sent | undefined> {
    if (!this.canRefresh) return undefined;
    const given = await from;
    if (this.#held !== from) return this.headers();
    if (isGrant(given) && token !== undefined) {
      if (!tokens.forget(given, token)) return undefined;
    } else if (!this.#wasAccepted && performance.now() - this.#renewedAt < renewedAgainMs) return undefined;
    this.#renewedAt = performance.now();
    this.#wasAccepted = false;
    this.#held = this.#ask(true);
    return this.headers();
  }

  /** The server did not refuse these. */
  accepted({ from }: Sent): void {
    if (this.#held === from) this.#wasAccepted = true;
  }

  /** Removes the credentials from what the server returns. */
  get mask(): SecretMask {
    return this.#mask;
  }

  /** Removes the credentials, and the other values, from the message of an error. */
  safeMessage(text: string): string {
    return this.#errorMask.text(text);
  }

  async #ask(refresh: boolean): Promise<Given> {
    const { give, user } = this;
    if (typeof give !== 'function') return give ?? {};
    try {
      const given = await withinPatience(() => give({ refresh, user }));
      if (!isGrant(given)) this.#hide(given);
      return given;
    } catch {
      this.#held = undefined;
      // The message of the user's function may contain what it was about to return.
      throw new McpCredentialsError('Its credentials function failed.');
    }
  }

  #hide(headers: Headers): void {
    const secrets = secretsIn(headers);
    if (secrets.every((secret) => this.#secrets.includes(secret))) return;
    this.#secrets = [...new Set([...secrets, ...this.#secrets])].slice(0, keptSecrets);
    this.#mask = new SecretMask(this.#secrets);
    this.#errorMask = new SecretMask([...this.#secrets, ...this.others]);
  }
}

/** Servers may still repeat credentials that were replaced. */
const keptSecrets = 20;
/** The values, and the parts of `Bearer …` and `Basic …` that a server may repeat alone. */
function secretsIn(headers: Headers): string[] {
  return Object.values(headers).flatMap((value) => [value, ...(/^\S+\s+(\S+)$/.exec(value.trim())?.slice(1) ?? [])]);
}
