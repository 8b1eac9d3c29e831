import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { type Ended, startTemporal, type TemporalServer } from '../../../scripts/temporal.js';
import { paint } from '../views/styled';
import { note, noteLines } from '../views/terminal';
import { type DevLock, lockFolder } from './dev-lock';

export interface DevServer extends Omit<TemporalServer, 'kill' | 'ended' | 'pid'> {
  /** Rejects when the server has ended and is not restarted. */
  failed: Promise<never>;
}

/** The port that Temporal's own tools, and `longhaul run` in another terminal, use by default. */
export const usualPort = 7233;
const usualUiPort = 8233;

/** A server that ends this often, each time within a minute of its start, is not restarted again. */
const mostDeaths = 4;
const shortLifeMs = 60_000;

/**
 * Returns the server that the environment names, or starts one and restarts it with the same port and file when it dies. A server in memory is not
 * restarted: its threads are lost, and a new one would only look like the old one.
 */
export async function startDevServer({ data, memory }: { data: string; memory?: boolean | undefined }): Promise<DevServer> {
  const lock = memory ? undefined : await lockFolder(data);
  try {
    const [port, uiPort] = await Promise.all([usualPort, usualUiPort].map(async (usual) => ((await isFree(usual)) ? usual : undefined)));
    const dbFilename = memory ? undefined : resolve(data, 'temporal.db');
    const start = (ports: { port?: number | undefined; uiPort?: number | undefined }) =>
      startTemporal({
        ui: true,
        log: noteLines,
        ...(ports.port && { port: ports.port }),
        ...(ports.uiPort && { uiPort: ports.uiPort }),
        ...(dbFilename && { dbFilename }),
      });
    const first = await start({ port, uiPort });
    const again = dbFilename === undefined ? undefined : () => start({ port: portOf(first.address), uiPort: portOf(first.uiUrl) });
    return keepUp(first, again, lock);
  } catch (error) {
    lock?.release();
    throw error;
  }
}

function keepUp(first: TemporalServer, again: (() => Promise<TemporalServer>) | undefined, lock: DevLock | undefined): DevServer {
  let server = first;
  let starting: Promise<void> | undefined;
  let stopping = false;
  let deaths = 0;
  let startedAt = Date.now();

  const watch = async (): Promise<void> => {
    while (server.ended !== undefined) {
      const ended = await server.ended;
      if (stopping) return;
      lock?.serves();
      deaths = Date.now() - startedAt < shortLifeMs ? deaths + 1 : 1;
      if (!again) throw new Error(`The Temporal server has ended (${how(ended)}). Its threads were in memory and are gone.`);
      if (deaths >= mostDeaths) throw new Error(`The Temporal server has ended ${deaths} times in a row (${how(ended)}).`);
      starting = again().then((started) => {
        server = started;
      });
      await starting;
      startedAt = Date.now();
      lock?.serves(server);
      if (!stopping) note(paint.yellow(`The Temporal server ended (${how(ended)}) and was started again, with its threads.`));
    }
  };
  if (first.ownServer) lock?.serves(first);
  const failed = new Promise<never>((_, reject) => {
    watch().catch(reject);
  });
  // Callers that wait handle the rejection. A failure during shutdown must not become an unhandled rejection.
  failed.catch(() => undefined);

  return {
    address: first.address,
    namespace: first.namespace,
    ownServer: first.ownServer,
    ...(first.uiUrl && { uiUrl: first.uiUrl }),
    ...(first.binary && { binary: first.binary }),
    failed,
    async stop() {
      stopping = true;
      await starting?.catch(() => undefined);
      await server.stop();
      lock?.release();
    },
  };
}

function how({ code, signal, output }: Ended): string {
  const last = output.trimEnd().split('\n').at(-1);
  return [signal ?? `exit code ${code}`, ...(last ? [last.slice(0, 300)] : [])].join(': ');
}

function portOf(address = ''): number | undefined {
  return Number(/:(\d+)$/.exec(address)?.[1]) || undefined;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once('error', () => done(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
  });
}
