import { bounds } from '../../core/bounds';
import { fewAtOnce } from '../running/few-at-once';
import type { McpConnection } from './connection';

/** A connection that no call needs any more is closed after this time, except the first. */
const idleMs = 60_000;

/** Connections to one server that each have one call at a time, so that a question of the server belongs to the call that runs. */
export class ExclusiveConnections {
  readonly #free: McpConnection[];
  readonly #all: McpConnection[];
  readonly #idle = new Map<McpConnection, NodeJS.Timeout>();
  readonly #oneOf = fewAtOnce(bounds.mcpConnections);

  constructor(
    private readonly first: McpConnection,
    private readonly create: () => McpConnection,
  ) {
    this.#free = [first];
    this.#all = [first];
  }

  /** Does the work with a connection of its own. Waits for one if there are as many as there may be. */
  use<T>(work: (connection: McpConnection) => Promise<T>): Promise<T> {
    return this.#oneOf(async () => {
      const connection = this.#take();
      try {
        return await work(connection);
      } finally {
        this.#giveBack(connection);
      }
    });
  }

  async close(): Promise<void> {
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    await Promise.all(this.#all.map((connection) => connection.close()));
  }

  #take(): McpConnection {
    const connection = this.#free.shift() ?? this.create();
    if (!this.#all.includes(connection)) this.#all.push(connection);
    clearTimeout(this.#idle.get(connection));
    this.#idle.delete(connection);
    return connection;
  }

  /** The first connection is used first, so that the others can be closed. */
  #giveBack(connection: McpConnection): void {
    if (connection === this.first) {
      this.#free.unshift(connection);
      return;
    }
    this.#free.push(connection);
    this.#idle.set(
      connection,
      setTimeout(() => {
        this.#idle.delete(connection);
        void connection.close();
      }, idleMs).unref(),
    );
  }
}
