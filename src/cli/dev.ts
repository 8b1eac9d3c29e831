import { resolve } from 'node:path';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { readConfig } from '../config';
import { inProcessBus } from '../stream/stream-bus';
import { createWorker, type DecisionVerifier } from '../worker';
import { type ConfiguredAgents, configuredAgents } from '../worker/agents-file';
import { logOptions } from '../worker/log';
import { endSoon, signersOf } from '../worker/process';
import { shellWord } from './answer-hint';
import { withClient } from './connect';
import { type DevServer, startDevServer, usualPort } from './dev-server';
import { UsageError } from './exit';
import { givenText } from './given-text';
import { watch } from './run';
import { type Part, paint, Styled, styled } from './styled';
import { note } from './terminal';

export interface DevOptions {
  agents?: string;
  mode?: string;
  taskQueue?: string;
  data: string;
  memory?: boolean;
  yes?: boolean;
  /** `false` with --no-worker. */
  worker?: boolean;
}

/**
 * A server and a worker in this process, until Ctrl-C. With an input also a run of the first agent, followed here to its rest: worker and
 * reader share a bus, so that its words come as the model says them. Then everything ends. It also ends, with an error, when the server
 * can't be kept up or the worker fails.
 */
export async function dev(task: string | undefined, options: DevOptions): Promise<void> {
  const withWorker = options.worker !== false;
  if (!withWorker) refuseWithoutWorker(task);
  // Before anything is started, so that a wrong file costs nothing.
  const input = task === undefined ? undefined : await givenText(task, 'the task');
  const configured = withWorker ? configuredAgents({ file: options.agents, mode: options.mode }) : undefined;
  const server = await startDevServer(options);
  // What a worker says of a server that was stopped under it would stand after the reason.
  let over = false;
  const log = (line: string) => {
    if (!over) note(paint.dim(line));
  };
  try {
    await Promise.race([server.failed, configured ? work(server, configured, input, { ...options, log }) : serveOnly(server, options)]);
  } finally {
    over = true;
    await server.stop();
    endSoon();
  }
}

function refuseWithoutWorker(input: string | undefined): void {
  if (input !== undefined) {
    throw new UsageError(
      '--no-worker has nobody to do a task. Start it without one, then a worker of your own, then: longhaul run --agent NAME "…".',
    );
  }
  if (readConfig().temporalAddress) {
    throw new UsageError('TEMPORAL_ADDRESS names a server, and --no-worker wants no worker: there is nothing to start.');
  }
}

async function work(
  server: DevServer,
  { agents, dependencies }: ConfiguredAgents,
  input: string | undefined,
  { log, ...options }: DevOptions & { log: (line: string) => void },
): Promise<void> {
  // Not sooner: it takes Ctrl-C over, for workers to drain, and getting Temporal may take minutes that should be easy to end. Without
  // it Ctrl-C ends this process at once, and the server with it.
  Runtime.install({
    ...logOptions(log),
    // Whoever follows a run is asked what Ctrl-C means.
    ...(input !== undefined && { shutdownSignals: [] }),
  });
  // A server that the environment names is reached as the environment says, with its TLS and its key.
  const connection = server.ownServer ? await NativeConnection.connect({ address: server.address }) : undefined;
  const bus = inProcessBus();
  const worker = await createWorker({
    agents,
    dependencies,
    bus,
    drainMs: 2_000,
    // For whoever follows a run from another terminal. Nobody bills the heartbeats of one's own machine.
    liveTextMs: readConfig().liveTextMs ?? 500,
    ...(connection && { connection, namespace: server.namespace }),
    ...(options.taskQueue && { taskQueue: options.taskQueue }),
  });
  const names = agents.map((agent) => agent.name);
  note(
    announcement(server, {
      ...options,
      file: options.agents,
      ...(input !== undefined && { input }),
      agents: names,
      taskQueue: worker.taskQueue,
      verifier: worker.verifier,
    }),
  );
  const working = worker.run();
  if (input !== undefined) {
    const place = connection ? { connection: { address: server.address }, namespace: server.namespace } : {};
    const followed = withClient({ bus, taskQueue: worker.taskQueue, ...place }, async (client) => {
      const thread = await client.start(names[0] ?? '', input);
      process.exitCode = await watch(client, thread, { yes: options.yes });
    });
    // The worker ends by itself only when it fails.
    await Promise.race([followed, working]);
    worker.shutdown();
  }
  await working;
  await connection?.close();
}

/** Until Ctrl-C. */
async function serveOnly(server: DevServer, options: DevOptions): Promise<void> {
  const stopped = new Promise((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  });
  note(announcement(server, { ...options, agents: [] }));
  // Neither a promise nor a server in the background keeps a process alive.
  const open = setInterval(() => undefined, 60_000);
  await stopped;
  clearInterval(open);
}

interface Announced extends Omit<DevOptions, 'agents' | 'taskQueue'> {
  input?: string;
  agents: string[];
  /** They come from. */
  file?: string | undefined;
  taskQueue?: string;
  verifier?: DecisionVerifier | undefined;
}

/** What the built-in coder asks a person about, by its mode. */
const asks: Record<string, string> = {
  minimal: 'before anything that does more than read; --mode trusted or --yes: less',
  trusted: 'before commands that do more than read, not before edits',
  'full-access': 'never: it may do all that you may',
};

function announcement(
  server: DevServer,
  { file, mode: given, data, memory, input, agents, taskQueue, worker, verifier }: Announced,
): Styled {
  const { openai, workspace, agentsFile, mode: usualMode = 'minimal' } = readConfig();
  const mode = given ?? usualMode;
  const agentsNamed = file ?? agentsFile;
  const there = server.address.endsWith(`:${usualPort}`) ? '' : `TEMPORAL_ADDRESS=${server.address} `;
  const kept = !server.ownServer
    ? 'by the server that TEMPORAL_ADDRESS names'
    : memory
      ? 'in memory: they end with this process'
      : `in ${resolve(data)}, also for the next start`;
  const row = (name: string, value: Part) => styled`  ${paint.dim(Styled.line(name).padEnd(10))} ${value}`;
  const place = [
    paint.bold('longhaul dev'),
    row('temporal', server.binary ? styled`${server.address} ${paint.dim(`(${server.binary})`)}` : server.address),
    ...(server.uiUrl ? [row('web ui', paint.cyan(server.uiUrl))] : []),
  ];
  if (worker === false) {
    return lines([
      ...place,
      row('worker', 'none here: threads wait for one of yours'),
      row('threads', `kept ${kept}`),
      '',
      'In another terminal, a worker and a run:',
      paint.green(styled`  ${there}npx longhaul worker --agents FILE`),
      paint.green(styled`  ${there}npx longhaul run --agent NAME "…"`),
      '',
      paint.dim('Ctrl-C stops it all.'),
    ]);
  }
  return lines([
    ...place,
    row('agents', `${agents.join(', ')} on task queue ${taskQueue}`),
    ...(agentsNamed ? [] : [row('asks', asks[mode] ?? '')]),
    ...(verifier ? [row('decisions', `count only if signed${signersOf(verifier)}`)] : []),
    row('workspace', resolve(workspace ?? '.')),
    row('threads', `kept ${kept}`),
    ...(input === undefined ? ['', 'In another terminal:', paint.green(styled`  ${there}npx longhaul run${tryOut(agents)}`)] : []),
    ...(openai.apiKey || openai.baseUrl
      ? []
      : ['', paint.yellow('OPENAI_API_KEY is not set: runs will fail until it is, or OPENAI_BASE_URL names a server that needs none.')]),
    '',
    paint.dim(input === undefined ? 'Ctrl-C stops it all.' : 'Everything stops with the run.'),
  ]);
}

/** What `longhaul run` may be given, to see something happen. Only of the coder it is known what it is for. */
function tryOut(agents: readonly string[]): string {
  return agents.includes('coder') ? ' "What is in this folder?"' : ` --agent ${shellWord(agents[0] ?? '')} "What can you do?"`;
}

function lines(parts: readonly Part[]): Styled {
  return Styled.join(parts, styled`\n`);
}
