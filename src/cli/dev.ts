import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { DefaultLogger, type LogEntry, NativeConnection, Runtime } from '@temporalio/worker';
import pc from 'picocolors';
import { startTemporal, type TemporalServer } from '../../scripts/temporal.js';
import { readConfig } from '../config';
import { inProcessBus } from '../stream/stream-bus';
import { configuredAgents, createWorker } from '../worker';
import { withClient } from './connect';
import { lineOf } from './exit';
import { note } from './output';
import { watch } from './run';

export interface DevOptions {
  agents?: string;
  taskQueue?: string;
  data: string;
  memory?: boolean;
  yes?: boolean;
}

/** Where Temporal's own tools, and `longhaul run` in another terminal, look by themselves. */
const usualPort = 7233;
const usualUiPort = 8233;

/**
 * A server and a worker in this process, until Ctrl-C. With an input also a run of the first agent, followed here to its rest: worker and
 * reader share a bus, so that its words come as the model says them. Then everything ends.
 */
export async function dev(input: string | undefined, options: DevOptions): Promise<void> {
  // Before anything is started, so that a wrong file costs nothing.
  const agents = await configuredAgents(options.agents);
  const release = options.memory ? () => undefined : claim(options.data);
  let server: TemporalServer | undefined;
  try {
    server = await provide(options);
    // Not sooner: it takes Ctrl-C over, for workers to drain, and getting Temporal may take minutes that should be easy to end. Without
    // it Ctrl-C ends this process at once, and the server with it.
    Runtime.install({
      logger: new DefaultLogger('WARN', (entry) => note(logLine(entry))),
      // Whoever follows a run is asked what Ctrl-C means.
      ...(input !== undefined && { shutdownSignals: [] }),
    });
    // A server that the environment names is reached as the environment says, with its TLS and its key.
    const connection = server.ownServer ? await NativeConnection.connect({ address: server.address }) : undefined;
    const taskQueue = options.taskQueue ?? readConfig().taskQueue;
    const bus = inProcessBus();
    const worker = await createWorker({
      agents,
      bus,
      drainMs: 2_000,
      ...(connection && { connection, namespace: server.namespace }),
      ...(taskQueue && { taskQueue }),
    });
    const names = agents.map((agent) => agent.name);
    announce(server, worker.taskQueue, names, { ...options, input });
    const working = worker.run();
    if (input !== undefined) {
      const place = connection ? { connection: { address: server.address }, namespace: server.namespace } : {};
      try {
        await withClient({ bus, taskQueue: worker.taskQueue, ...place }, async (client) => {
          const thread = await client.start(agents[0]?.name ?? '', input);
          process.exitCode = await watch(client, thread, { yes: options.yes });
        });
      } finally {
        worker.shutdown();
      }
    }
    await working;
    await connection?.close();
  } finally {
    await server?.stop();
    release();
  }
}

async function provide({ data, memory }: DevOptions): Promise<TemporalServer> {
  const [port, uiPort] = await Promise.all([usualPort, usualUiPort].map(async (usual) => ((await isFree(usual)) ? usual : undefined)));
  return startTemporal({
    ui: true,
    log: note,
    ...(port && { port }),
    ...(uiPort && { uiPort }),
    ...(!memory && { dbFilename: resolve(data, 'temporal.db') }),
  });
}

/** Two servers on one file would destroy it. Returns how to give it back. */
function claim(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  const lock = join(folder, 'dev.pid');
  const holder = holderOf(lock);
  if (holder) {
    throw new Error(
      `"longhaul dev" runs in this folder already (process ${holder}, see ${lock}). Use that one, or start with --data FOLDER or --memory.`,
    );
  }
  writeFileSync(lock, String(process.pid));
  return () => rmSync(lock, { force: true });
}

function holderOf(lock: string): number | undefined {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    // Alive, and somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? Number(readFileSync(lock, 'utf8')) : undefined;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once('error', () => done(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
  });
}

/** A failed step is told where the run is watched, and in the Web UI with its stack: here a line is enough. */
function logLine({ level, message, meta = {} }: LogEntry): string {
  const { workflowId, activityType, error } = meta as { workflowId?: string; activityType?: string; error?: unknown };
  const about = [workflowId, activityType, error && lineOf(error)].filter(Boolean).join(' · ');
  return pc.dim(`${new Date().toISOString().slice(11, 19)} ${level.toLowerCase()}: ${message}${about && ` · ${about}`}`);
}

function announce(
  server: TemporalServer,
  taskQueue: string,
  agents: string[],
  { data, memory, input }: DevOptions & { input: string | undefined },
): void {
  const { openai, workspace } = readConfig();
  const there = server.address.endsWith(`:${usualPort}`) ? '' : `TEMPORAL_ADDRESS=${server.address} `;
  const kept = !server.ownServer
    ? 'by the server that TEMPORAL_ADDRESS names'
    : memory
      ? 'in memory: they end with this process'
      : `in ${resolve(data)}, also for the next start`;
  const row = (name: string, value: string) => `  ${pc.dim(name.padEnd(10))} ${value}`;
  note(
    [
      pc.bold('longhaul dev'),
      row('temporal', server.address),
      ...(server.uiUrl ? [row('web ui', pc.cyan(server.uiUrl))] : []),
      row('agents', `${agents.join(', ')} on task queue ${taskQueue}`),
      row('workspace', resolve(workspace ?? '.')),
      row('threads', `kept ${kept}`),
      ...(input === undefined
        ? [
            '',
            'In another terminal:',
            pc.green(`  ${there}npx longhaul run${agents.includes('coder') ? '' : ` --agent ${agents[0]}`} "What is in this folder?"`),
          ]
        : []),
      ...(openai.apiKey || openai.baseUrl
        ? []
        : ['', pc.yellow('OPENAI_API_KEY is not set: runs will fail until it is, or OPENAI_BASE_URL names a server that needs none.')]),
      '',
      pc.dim(input === undefined ? 'Ctrl-C stops it all.' : 'Everything stops with the run.'),
    ].join('\n'),
  );
}
