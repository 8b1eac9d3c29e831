import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { startTemporal, type TemporalServer } from '../scripts/temporal.js';
import { LonghaulClient } from '../src/client';
import { workflowBundleOptions } from '../src/workflow-bundle';
import { build, built } from './build';
import { type EncodingName, encodings } from './encodings';
import { type Link, startProcess } from './link';
import type { ModelRequest } from './model-server';
import type { LonghaulOptions, Spent, WorkerArguments } from './worker';
import { inputOf, type Session } from './workload';

export const contenders = ['longhaul', 'floor', 'naive'] as const;
export type Contender = (typeof contenders)[number];

/** Shared by all measurements of a run: one Temporal server, one model server, the bundles. */
export interface Rig {
  server: TemporalServer;
  client: LonghaulClient;
  modelPid: number;
  bundleBytes: Record<Contender | 'empty', number>;
  startWorker(contender: Contender, how?: { taskQueue?: string; nodeOptions?: string[]; options?: LonghaulOptions }): Promise<BenchWorker>;
  requests(key: string): Promise<ModelRequest[]>;
  /** Waits for the first request of a turn, or of a later one, after `since`. */
  arrived(key: string, turn: number, since?: number): Promise<ModelRequest>;
  /** When the client closed the connection of the answer that is held. */
  closed(key: string): Promise<number>;
  stop(): Promise<void>;
}

interface BeginOptions {
  callTimeoutMs?: number;
  agent?: 'bench' | 'bench-ask' | 'bench-text' | 'bench-window';
  mode?: 'one-shot' | 'conversation';
}

export interface BenchWorker {
  contender: Contender;
  pid: number;
  taskQueue: string;
  /** Starts a session; resolves with its workflow id. */
  begin(session: Omit<Session, 'key'>, options?: BeginOptions): Promise<string>;
  /** Starts a session and waits until it ends, or until the server terminates it. Resolves with its workflow id. */
  finish(session: Omit<Session, 'key'>, options?: BeginOptions): Promise<string>;
  spent(): Promise<Spent>;
  /** When the newest call of a thread of `bench-ask` began to run in this worker, in epoch milliseconds. */
  begun(threadId: string): Promise<number | undefined>;
  kill(): Promise<void>;
  /** Exits normally, so that Node writes the CPU profile. */
  exit(): Promise<void>;
}

export async function startRig(): Promise<Rig> {
  build();
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-bench-'));
  const links = new Set<Link>();
  const server = await startTemporal({ own: true, metrics: true, log: (line) => console.error(line) });
  // A thousand concurrent requests take long.
  const connect = (encoding: EncodingName) =>
    LonghaulClient.connect({
      connection: { address: server.address },
      namespace: server.namespace,
      requestTimeoutMs: 60_000,
      encoding: encodings[encoding],
    });
  const client = await connect('plain');
  const clients = new Map<EncodingName, LonghaulClient>([['plain', client]]);
  const stop = async () => {
    await Promise.all([...links].map((link) => link.kill()));
    await Promise.all([...clients.values()].map((each) => each.close()));
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const model = await startProcess(built('model-server'), []);
    links.add(model);
    const modelUrl = await model.ask<string>('url');
    const bundles = await makeBundles(folder);
    return {
      server,
      client,
      modelPid: model.pid,
      bundleBytes: bundles.bytes,
      async startWorker(contender, { taskQueue = `bench-${contender}-${randomUUID()}`, nodeOptions = [], options = {} } = {}) {
        const codePath = bundles.paths[contender];
        const asked: WorkerArguments = { contender, address: server.address, modelUrl, taskQueue, codePath, options };
        const link = await startProcess(built('worker'), [contender, JSON.stringify(asked)], nodeOptions);
        links.add(link);
        const { encoding = 'plain' } = options;
        const its = clients.get(encoding) ?? (await connect(encoding));
        clients.set(encoding, its);
        return benchWorker(its, contender, taskQueue, link);
      },
      requests: (key) => model.ask('requests', key),
      arrived: (key, turn, since) => model.ask('arrived', { key, turn, since }),
      closed: (key) => model.ask('closed', key),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function benchWorker(client: LonghaulClient, contender: Contender, taskQueue: string, link: Link): BenchWorker {
  async function begin(
    session: Omit<Session, 'key'>,
    { callTimeoutMs = 60_000, agent = 'bench', mode = 'one-shot' }: BeginOptions = {},
  ): Promise<string> {
    const id = `${contender}-${randomUUID()}`;
    const input = inputOf({ key: id, ...session });
    if (contender === 'longhaul') await client.start(agent, input, { id, taskQueue, mode });
    else
      await client.temporal.workflow.start(contender, {
        workflowId: id,
        taskQueue,
        args: contender === 'naive' ? [input, callTimeoutMs] : [input],
      });
    return id;
  }
  return {
    contender,
    pid: link.pid,
    taskQueue,
    begin,
    async finish(session, options) {
      const id = await begin(session, options);
      await client.temporal.workflow.getHandle(id).result().catch(mustBeTerminated);
      return id;
    },
    spent: () => link.ask('spent'),
    begun: (threadId) => link.ask('begun', threadId),
    kill: () => link.kill(),
    async exit() {
      await link.ask('exit').catch(() => undefined);
      await link.gone;
    },
  };
}

function mustBeTerminated(error: { cause?: Error }): void {
  if (error.cause?.name !== 'TerminatedFailure') throw error;
}

/** Builds the workflow bundles once, so that the start of a worker does not include it. */
async function makeBundles(folder: string) {
  const longhaul = workflowBundleOptions();
  const { webpackConfigHook } = longhaul;
  const sources = {
    longhaul,
    floor: { workflowsPath: join(__dirname, 'contenders/floor-workflow.ts'), webpackConfigHook },
    naive: { workflowsPath: join(__dirname, 'contenders/naive-workflow.ts'), webpackConfigHook },
    empty: { workflowsPath: join(__dirname, 'contenders/empty-workflow.ts'), webpackConfigHook },
  };
  const paths: Record<string, string> = {};
  const bytes: Record<string, number> = {};
  for (const [name, source] of Object.entries(sources)) {
    const { code } = await bundleWorkflowCode({ ...source, logger: new DefaultLogger('ERROR') });
    paths[name] = join(folder, `${name}.js`);
    bytes[name] = Buffer.byteLength(code);
    writeFileSync(paths[name], code);
  }
  return { paths: paths as Record<Contender, string>, bytes: bytes as Record<Contender | 'empty', number> };
}
