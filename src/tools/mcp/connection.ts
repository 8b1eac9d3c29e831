import { setTimeout as sleep } from 'node:timers/promises';
import { shortText } from '../../core/text';
import { errorFacts } from '../defining/thrown';
import type { Credentials } from './credentials';
import { defaultStartTimeoutMs, type McpServer } from './options';
import type { McpSession } from './session';

/** After a failed attempt, the wait before the next one: doubled each time. */
const firstWaitMs = 500;
const longestWaitMs = 30_000;
/** A call waits this long for the next attempt, so that the death of a server fails only the call that it was in. */
const soonMs = 1_000;
/** A connection that ended earlier counts as a failed attempt, so that a server that dies at once is not started all the time. */
const shortLifeMs = 5_000;
const whyChars = 500;

/** A server can't be reached now. Its message is for the model, too. */
export class McpUnavailableError extends Error {
  override readonly name = 'McpUnavailableError';

  constructor(server: string, why: string, next: string) {
    super(`The MCP server '${server}' can't be reached: ${shortText(why, whyChars)}.${next === '' ? '' : ` ${next}`}`);
  }
}

/** The connection to one server: opened when it is needed, again after it was lost, and not more often than the server can bear. */
export class McpConnection {
  #session: Promise<McpSession> | undefined;
  #failures = 0;
  #notBefore = 0;
  #why = '';

  constructor(
    private readonly name: string,
    private readonly server: McpServer,
    private readonly credentials: Credentials,
    /** The list of tools is to be read again. */
    private readonly onChange: () => void,
  ) {}

  /** Returns the open session, or opens one. Rejects immediately if the next attempt is not due soon. */
  session(): Promise<McpSession> {
    const waitMs = Math.ceil(this.#notBefore - performance.now());
    if (!this.#session && waitMs > soonMs) {
      const next = `The next attempt is possible in ${Math.ceil(waitMs / 1_000)} s.`;
      return Promise.reject(new McpUnavailableError(this.name, this.#why, next));
    }
    this.#session ??= this.#open(Math.max(0, waitMs));
    return this.#session;
  }

  /** Closes the connection if it is still this one; the next call opens another. */
  async drop(session: McpSession): Promise<void> {
    if ((await this.#session?.catch(() => undefined)) === session) await this.close();
  }

  /** Closes the connection. It can be opened again. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.then(
      (open) => open.close(),
      () => undefined,
    );
  }

  async #open(waitMs: number): Promise<McpSession> {
    if (waitMs > 0) await sleep(waitMs);
    // Agents without servers don't load the SDK.
    const { openSession }: typeof import('./session') = require('./session');
    const opened = performance.now();
    const { startTimeoutMs = defaultStartTimeoutMs } = this.server;
    const { credentials, onChange } = this;
    let mine: Promise<McpSession> | undefined;
    const onClose = (why: string) => {
      if (this.#session !== mine) return;
      this.#session = undefined;
      if (performance.now() - opened < shortLifeMs) this.#failed(why || 'the connection was closed');
      else this.#failures = 0;
      onChange();
    };
    try {
      const session = await openSession(this.server, { startTimeoutMs, credentials, onChange, onClose });
      mine = this.#session;
      return session;
    } catch (error) {
      this.#session = undefined;
      this.#failed(errorFacts(error).message);
      throw new McpUnavailableError(this.name, this.#why, '');
    }
  }

  #failed(why: string): void {
    this.#failures += 1;
    this.#why = this.credentials.safeMessage(why);
    this.#notBefore = performance.now() + Math.min(longestWaitMs, firstWaitMs * 2 ** (this.#failures - 1));
  }
}
