import { createServer, connect as dial, type Socket } from 'node:net';

/** A proxy that simulates the network between client and server. It delays bytes, and loses them only with `swallow` and `cut`. */
export interface NetworkProxy {
  /** Host and port to connect to instead of the server. */
  address: string;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Each way, in milliseconds. 0: none. */
  delay(ms: number): void;
  /** Drops every byte in both directions, as a connection that died silently. New connections are accepted and get no bytes, either. */
  swallow(): void;
  /** As `swallow`, but only for connections that are open now; new ones work. */
  orphan(): void;
  /** Closes all connections with a reset. New ones are accepted. */
  cut(): void;
  /** Closes all connections and accepts no new ones, as if the server were down. */
  refuse(): Promise<void>;
  /** Forwards everything again. Connections that were swallowed stay dead; new ones work. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

interface Link {
  near: Socket;
  far: Socket;
  dead: boolean;
}

export async function startProxy(target: string): Promise<NetworkProxy> {
  const [host = '127.0.0.1', port = ''] = target.split(':');
  const links = new Set<Link>();
  let delayMs = 0;
  let mute = false;
  let connections = 0;

  const accept = (near: Socket) => {
    connections += 1;
    const far = dial({ host, port: Number(port) });
    const link: Link = { near, far, dead: mute };
    links.add(link);
    const end = () => {
      links.delete(link);
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (bytes) => {
        if (link.dead) return;
        if (delayMs === 0) to.write(bytes);
        else setTimeout(() => link.dead || to.destroyed || to.write(bytes), delayMs);
      });
      from.on('error', end);
      from.on('close', () => {
        // A swallowed connection does not see the other side close.
        if (!link.dead || from === near) end();
      });
    }
  };

  let server = createServer(accept);
  const listen = (at: number) =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
  const own = await listen(0);
  const kill = (link: Link) => {
    links.delete(link);
    link.near.resetAndDestroy();
    link.far.destroy();
  };
  const stop = () => new Promise<void>((resolve) => (server.listening ? server.close(() => resolve()) : resolve()));
  const die = () => {
    for (const link of links) link.dead = true;
  };
  return {
    address: `127.0.0.1:${own}`,
    get connections() {
      return connections;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    swallow: () => {
      mute = true;
      die();
    },
    orphan: die,
    cut: () => [...links].forEach(kill),
    async refuse() {
      const stopped = stop();
      [...links].forEach(kill);
      await stopped;
    },
    async heal() {
      mute = false;
      if (server.listening) return;
      server = createServer(accept);
      await listen(own);
    },
    async close() {
      const stopped = stop();
      [...links].forEach(kill);
      await stopped;
    },
  };
}
