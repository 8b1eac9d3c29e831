import { resolve } from 'node:path';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { folderArtifacts, memoryArtifacts } from '../../artifacts';
import { readConfig, usableVendors } from '../../config';
import type { PermissionMode } from '../../core/tool';
import { inProcessBus } from '../../stream/stream-bus';
import { createWorker, type DecisionVerifier } from '../../worker';
import { type ConfiguredAgents, coderMode, configuredAgents } from '../../worker/agents-file';
import { logOptions } from '../../worker/log';
import { endSoon, signersOf } from '../../worker/process';
import { exit, UsageError } from '../exit';
import { type Part, paint, Styled, styled } from '../views/styled';
import { note } from '../views/terminal';
import { shellWord } from './answer-hint';
import { askForMode } from './ask-for-mode';
import { withClient } from './connect';
import { broughtData, usualData, usualOutputs } from './data-folder';
import { type DevServer, startDevServer, usualPort } from './dev-server';
import { givenText } from './given-text';
import { watch } from './run';

export interface DevOptions {
  agents?: string;
  mode?: string;
  pickMode?: boolean;
  sandbox?: string;
  taskQueue?: string;
  data?: string;
  memory?: boolean;
  yes?: boolean;
  /** `false` with --no-worker. */
  worker?: boolean;
}

type Settled = DevOptions & { data: string };

/**
 * Runs a server and a worker in this process, until Ctrl-C. With an input it also starts a run of the first agent and follows it until it ends or
 * waits; worker and reader share a bus, so that the text is streamed. Then everything stops. It also stops, with an error, when the server can't be kept
 * running or the worker fails.
 */
export async function dev(task: string | undefined, given: DevOptions): Promise<void> {
  const options = { ...given, data: given.data ?? usualData() };
  const withWorker = options.worker !== false;
  if (!withWorker) refuseWithoutWorker(task);
  // Checked before anything is started, so that an invalid input fails early.
  const input = task === undefined ? undefined : await givenText(task, 'the task');
  const mode = withWorker ? await modeOf(options) : undefined;
  const configured = withWorker
    ? await configuredAgents({ file: options.agents, mode: options.mode, picked: mode, sandbox: options.sandbox })
    : undefined;
  const brought = given.data === undefined && !options.memory && !readConfig().temporalAddress ? broughtData() : undefined;
  if (brought) {
    note(
      paint.yellow(
        `This folder has threads in ${brought}, which are not used, because they may contain calls that somebody else approved. If they are yours, start with --data ${brought}`,
      ),
    );
  }
  const server = await startDevServer(options);
  // Set when everything stops: warnings of the worker about the stopped server would otherwise follow the error.
  let over = false;
  const log = (line: string) => {
    if (!over) note(paint.dim(line));
  };
  try {
    await Promise.race([
      server.failed,
      configured ? work(server, configured, input, { ...options, ...(mode && { mode }), log }) : serveOnly(server, options),
    ]);
  } finally {
    over = true;
    await server.stop();
    endSoon();
  }
}

/** The mode of the built-in coder; undefined if it is not used. */
async function modeOf({ agents, mode, pickMode }: DevOptions): Promise<PermissionMode | undefined> {
  if (agents ?? readConfig().agentsFile) return undefined;
  return coderMode(mode) ?? (pickMode ? askForMode() : 'minimal');
}

function refuseWithoutWorker(input: string | undefined): void {
  if (input !== undefined) {
    throw new UsageError(
      '--no-worker starts no worker that could run a task. Start it without a task, then your own worker, then: longhaul run --agent NAME "…".',
    );
  }
  if (readConfig().temporalAddress) {
    throw new UsageError(
      'TEMPORAL_ADDRESS names a server, and --no-worker starts no worker, so there is nothing to start. Leave one of them out.',
    );
  }
}

async function work(
  server: DevServer,
  { agents, dependencies, providers }: ConfiguredAgents,
  input: string | undefined,
  { log, ...options }: Settled & { log: (line: string) => void },
): Promise<void> {
  // Not earlier: the runtime handles Ctrl-C, to drain workers. Getting Temporal may take minutes, and until then Ctrl-C must end this process, and the
  // server with it, immediately.
  Runtime.install({
    ...logOptions(log),
    // While a run is followed, a prompt asks what Ctrl-C should do.
    ...(input !== undefined && { shutdownSignals: [] }),
  });
  // A server that the environment names is connected to with the environment's TLS settings and API key.
  const connection = server.ownServer ? await NativeConnection.connect({ address: server.address }) : undefined;
  const bus = inProcessBus();
  const worker = await createWorker({
    agents,
    dependencies,
    providers,
    bus,
    drainMs: 2_000,
    // For readers in other terminals. Heartbeats to a local server are not billed.
    liveTextMs: readConfig().liveTextMs ?? 500,
    ...(readConfig().artifacts === undefined && {
      artifacts: options.memory ? memoryArtifacts() : folderArtifacts({ path: usualOutputs(options.data) }),
    }),
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
      sandboxes: worker.sandboxes,
    }),
  );
  const working = worker.run();
  if (input !== undefined) {
    const place = connection ? { connection: { address: server.address }, namespace: server.namespace } : {};
    const followed = withClient({ bus, taskQueue: worker.taskQueue, ...place }, async (client) => {
      const thread = await client.start(names[0] ?? '', input);
      process.exitCode = await watch(client, thread, { yes: options.yes });
      if (process.exitCode === exit.waits) note(paint.dim(stopWords(server, options)));
    });
    // The worker ends by itself only if it fails.
    await Promise.race([followed, working]);
    worker.shutdown();
  }
  await working;
  await connection?.close();
}

/** What must happen before the commands that were printed can continue a run that waits. */
function stopWords({ ownServer }: DevServer, { memory }: Settled): string {
  if (!ownServer) return 'The worker stops now: first start another.';
  return memory ? 'The server stops now, and with --memory the thread is lost.' : 'The server stops now: first start "longhaul dev" again.';
}

/** Runs only the server, until Ctrl-C. */
async function serveOnly(server: DevServer, options: Settled): Promise<void> {
  const stopped = new Promise((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  });
  note(announcement(server, { ...options, agents: [] }));
  // Neither a promise nor a background server keeps the process alive.
  const open = setInterval(() => undefined, 60_000);
  await stopped;
  clearInterval(open);
}

interface Announced extends Omit<Settled, 'agents' | 'taskQueue'> {
  input?: string;
  agents: string[];
  /** The file that the agents come from. */
  file?: string | undefined;
  taskQueue?: string;
  verifier?: DecisionVerifier | undefined;
  sandboxes?: readonly string[];
}

/** When the built-in coder asks for an approval, by mode. */
const asks: Record<string, string> = {
  minimal: 'before anything that does more than read; less often with --mode trusted or --yes',
  trusted: 'before commands that do more than read, not before edits',
  sandboxed: 'only before what does not run in the sandbox, such as pages of the web',
  'full-access': 'never: it has all your permissions',
};

const noKey =
  'OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY are not set: runs will fail until one is, or OPENAI_BASE_URL names a server that needs none.';

function announcement(
  server: DevServer,
  { file, mode = '', data, memory, input, agents, taskQueue, worker, verifier, sandboxes = [] }: Announced,
): Styled {
  const config = readConfig();
  const { workspace, agentsFile } = config;
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
      row('worker', 'none: threads wait for your own worker'),
      row('threads', `kept ${kept}`),
      '',
      'In another terminal, a worker and a run:',
      paint.green(styled`  ${there}npx longhaul worker --agents FILE`),
      paint.green(styled`  ${there}npx longhaul run --agent NAME "…"`),
      '',
      paint.dim('Ctrl-C stops everything.'),
    ]);
  }
  return lines([
    ...place,
    row('agents', `${agents.join(', ')} on task queue ${taskQueue}`),
    // The agents' module is code that has already run, so it is named.
    agentsNamed ? row('from', resolve(agentsNamed)) : row('asks', asks[mode] ?? ''),
    ...sandboxes.map((sentence) => row('sandbox', sentence)),
    ...(verifier ? [row('decisions', `count only if signed${signersOf(verifier)}`)] : []),
    row('workspace', resolve(workspace ?? '.')),
    row('threads', `kept ${kept}`),
    ...(input === undefined ? ['', 'In another terminal:', paint.green(styled`  ${there}npx longhaul run${tryOut(agents)}`)] : []),
    ...(usableVendors(config).length > 0 ? [] : ['', paint.yellow(noKey)]),
    '',
    paint.dim(input === undefined ? 'Ctrl-C stops everything.' : 'Everything stops with the run.'),
  ]);
}

/** Example arguments of `longhaul run`. Only the coder's purpose is known. */
function tryOut(agents: readonly string[]): string {
  return agents.includes('coder') ? ' "What is in this folder?"' : ` --agent ${shellWord(agents[0] ?? '')} "What can you do?"`;
}

function lines(parts: readonly Part[]): Styled {
  return Styled.join(parts, styled`\n`);
}
