import { createHash } from 'node:crypto';

/** How long a schema is rejected: repeated calls with it would delay other validations each time. */
const restMs = 60_000;
const mostKept = 1_000;

/** Schemas whose validation timed out, rejected for one minute each. Stored as digests, because their senders choose their length. */
export class LateSchemas {
  /** The time at which each may be tried again, the newest last. */
  readonly #until = new Map<string, number>();

  add(schema: string): void {
    const digest = digestOf(schema);
    this.#until.delete(digest);
    this.#until.set(digest, performance.now() + restMs);
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= mostKept) break;
      this.#until.delete(oldest);
    }
  }

  has(schema: string): boolean {
    const until = this.#until.get(digestOf(schema));
    return until !== undefined && performance.now() < until;
  }
}

function digestOf(schema: string): string {
  return createHash('sha256').update(schema).digest('base64');
}
