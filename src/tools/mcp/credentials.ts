import { withinPatience } from '../defining/within';
import type { McpCredentials } from './options';

/** The headers that authenticate requests to one server. Kept until the server refuses them. */
export class Credentials {
  readonly canRefresh: boolean;
  #held: Promise<Record<string, string>> | undefined;
  /** The values that no message may show. */
  #secrets: string[] = [];

  constructor(
    private readonly give: McpCredentials | undefined,
    /** Other values that the server knows and no message may show. */
    private readonly others: readonly string[] = [],
  ) {
    this.canRefresh = give !== undefined;
  }

  headers(): Promise<Record<string, string>> {
    this.#held ??= this.#ask(false);
    return this.#held;
  }

  /** Replaces headers that were refused. Requests that were refused at the same time share the new ones. */
  async refreshed(refused: Record<string, string>): Promise<Record<string, string>> {
    const held = await this.headers();
    if (held === refused) this.#held = this.#ask(true);
    return this.headers();
  }

  /** Removes the credentials from a text of the server. */
  withoutSecrets(text: string): string {
    return redacted(text, this.#secrets);
  }

  /** As `withoutSecrets`, for messages of errors: also removes other values that only the server should know. */
  safeMessage(text: string): string {
    return redacted(text, [...this.#secrets, ...this.others]);
  }

  #ask(refresh: boolean): Promise<Record<string, string>> {
    const { give } = this;
    const asked = give ? withinPatience(() => give({ refresh })) : Promise.resolve({});
    return asked.then(
      (headers) => {
        this.#secrets = [...secretsIn(headers), ...this.#secrets].slice(0, keptSecrets);
        return headers;
      },
      () => {
        this.#held = undefined;
        // The message of the user's function may contain what it was about to return.
        throw new Error('its credentials function failed');
      },
    );
  }
}

/** Servers may still repeat credentials that were replaced. */
const keptSecrets = 20;
/** A shorter value is no secret, and removing it would destroy the text. */
const shortestSecret = 8;

/** The values, and the parts of `Bearer …` and `Basic …` that a server may repeat alone. */
function secretsIn(headers: Record<string, string>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...(/^\S+\s+(\S+)$/.exec(value.trim())?.slice(1) ?? [])]);
}

function redacted(text: string, secrets: readonly string[]): string {
  const found = secrets.filter((secret) => secret.length >= shortestSecret && text.includes(secret));
  // The longest first, because one may be the beginning of another.
  return found.sort((a, b) => b.length - a.length).reduce((shown, secret) => shown.replaceAll(secret, '[credential]'), text);
}
