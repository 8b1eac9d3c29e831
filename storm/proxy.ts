import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import type { Wire } from './plan-faults';

export interface BadLine {
  port: number;
  address: string;
  /** Disturbs open connections and new ones until `heal`. `delayMs` applies to each direction. */
  disturb(how: Wire, delayMs?: number): void;
  heal(): void;
  connections(): number;
  stop(): Promise<void>;
}

/**
 * A TCP proxy that simulates a bad network.
 * - `delay`: every byte arrives later, in order.
 * - `hold`: nothing arrives until `heal`, then everything does: a network partition.
 * - `drop`: bytes are dropped silently; connections that were open then stay dead, and new ones work after `heal`.
 * - `cut`: open connections are reset. New ones work.
 * - `half-open`: the server's side is closed, and the client is not notified. New connections work.
 * - `refuse`: open connections are reset, and so are new ones until `heal`.
 */
export async function startProxy(target: number, port = 0): Promise<BadLine> {
  const lines = new Set<Line>();
  let how: Wire | undefined;
  let delayMs = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (how === 'refuse') return void client.resetAndDestroy();
    const line = openLine(client, target, () => lines.delete(line));
    lines.add(line);
    if (how === 'delay' || how === 'hold' || how === 'drop') line.set(how, delayMs);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    address: `127.0.0.1:${bound}`,
    disturb(next, ms = 0) {
      how = next === 'cut' || next === 'half-open' ? undefined : next;
      delayMs = ms;
      for (const line of [...lines]) line.set(next, ms);
    },
    heal() {
      how = undefined;
      for (const line of lines) line.heal();
    },
    connections: () => lines.size,
    stop: () =>
      new Promise((resolve) => {
        for (const line of [...lines]) line.set('cut', 0);
        server.close(() => resolve());
      }),
  };
}

interface Line {
  set(how: Wire, delayMs: number): void;
  heal(): void;
}

function openLine(client: Socket, target: number, over: () => void): Line {
  const server = connect({ host: '127.0.0.1', port: target, allowHalfOpen: true });
  const there = way(client, server);
  const back = way(server, client);
  let ended = false;
  let halfOpen = false;
  const end = (reset: boolean) => {
    if (ended) return;
    ended = true;
    over();
    for (const socket of [client, server]) reset ? socket.resetAndDestroy() : socket.destroy();
  };
  for (const socket of [client, server]) {
    socket.setNoDelay(true);
    socket.on('error', () => !halfOpen && end(true));
    socket.on('close', () => (halfOpen && socket === server ? undefined : end(false)));
  }
  return {
    set(how, delayMs) {
      if (how === 'cut' || how === 'refuse') return end(true);
      if (how === 'half-open') {
        halfOpen = true;
        there.drop();
        back.drop();
        return void server.destroy();
      }
      for (const one of [there, back]) {
        if (how === 'delay') one.delay(delayMs);
        else if (how === 'hold') one.hold();
        else one.drop();
      }
    },
    heal() {
      there.heal();
      back.heal();
    },
  };
}

/** One direction of a connection; it keeps the order of the data. */
function way(from: Socket, to: Socket) {
  let dead = false;
  let held = false;
  let delayMs = 0;
  const waiting: { piece: Buffer | null; due: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const send = (piece: Buffer | null) => {
    if (to.destroyed) return;
    if (piece === null) to.end();
    else if (!to.write(piece) && !from.isPaused()) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  };
  const flush = () => {
    timer = undefined;
    while (!held && waiting[0] && waiting[0].due <= Date.now()) send((waiting.shift() as { piece: Buffer | null }).piece);
    if (!held && waiting[0]) timer = setTimeout(flush, waiting[0].due - Date.now());
  };
  const take = (piece: Buffer | null) => {
    if (dead) return;
    if (!held && delayMs === 0 && waiting.length === 0) return send(piece);
    waiting.push({ piece, due: Date.now() + delayMs });
    if (!timer) flush();
  };
  from.on('data', take);
  from.on('end', () => take(null));
  return {
    delay(ms: number) {
      delayMs = ms;
    },
    hold() {
      held = true;
    },
    drop() {
      dead = true;
      waiting.length = 0;
    },
    heal() {
      held = false;
      delayMs = 0;
      if (!timer) flush();
    },
  };
}
