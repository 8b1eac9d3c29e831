import { withinPatience } from '../defining/within';
import { SecretMask } from '../running/secret-mask';
import type { McpCredentials } from './options';

/** The headers that authenticate requests to one server. Kept until the server refuses them. */
export class Credentials {
  readonly canRefresh: boolean;
  #held: Promise<Record<string, string>> | undefined;
  #secrets: string[] = [];
  #mask = new SecretMask([]);
  #errorMask: SecretMask;

  constructor(
    private readonly give: McpCredentials | undefined,
    /** Other values that the server knows and no message may show. */
    private readonly others: readonly string[] = [],
  ) {
    this.#errorMask = new SecretMask(others);
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

  /** Removes the credentials from what the server returns. */
  get mask(): SecretMask {
    return this.#mask;
  }

  /** Removes the credentials, and the other values, from the message of an error. */
  safeMessage(text: string): string {
    return this.#errorMask.text(text);
  }

  #ask(refresh: boolean): Promise<Record<string, string>> {
    const { give } = this;
    const asked = give ? withinPatience(() => give({ refresh })) : Promise.resolve({});
    return asked.then(
      (headers) => {
        this.#secrets = [...secretsIn(headers), ...this.#secrets].slice(0, keptSecrets);
        this.#mask = new SecretMask(this.#secrets);
        this.#errorMask = new SecretMask([...this.#secrets, ...this.others]);
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
/** The values, and the parts of `Bearer …` and `Basic …` that a server may repeat alone. */
function secretsIn(headers: Record<string, string>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...(/^\S+\s+(\S+)$/.exec(value.trim())?.slice(1) ?? [])]);
}
