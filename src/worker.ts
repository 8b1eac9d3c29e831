import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime, type WorkerOptions as TemporalWorkerOptions, Worker } from '@temporalio/worker';
import { createActivities, TranscriptCache } from './activities';
import { registerSearchAttributes } from './activities/register-search-attributes';
import { createCoder } from './agents/coder';
import type { Agent } from './agents/define-agent';
import { createAgents } from './agents/registry';
import { readConfig } from './config';
import { defaultTaskQueue } from './contract/thread';
import type { Limits } from './core/agent';
import { createPrices, type Prices } from './models/prices';
import { defaultModels, type Models } from './models/registry';
import { inProcessBus, type StreamBus } from './stream/stream-bus';
import type { Dependencies } from './tools/define-tool';
import { workflowBundleOptions } from './workflow-bundle';

export interface WorkerOptions {
  /** What this worker can run. Threads name them. */
  agents: readonly Agent[];
  /** Default: where the standard Temporal environment (TEMPORAL_ADDRESS, …) points, else localhost:7233. Closed by whoever made it. */
  connection?: NativeConnection;
  /** Default: the environment's, else `default`. */
  namespace?: string;
  /** Default `longhaul`. */
  taskQueue?: string;
  /** Default: OpenAI and whatever speaks its API, from OPENAI_API_KEY and OPENAI_BASE_URL. */
  models?: Models;
  /** What models cost. Default: the list that comes with the package, with the file that LONGHAUL_PRICES names over it. */
  prices?: Prices;
  /** Of a run, for agents that set none of a kind themselves. Default: `costUsd` from LLM_COST_LIMIT. */
  limits?: Limits;
  /** Where token deltas and progress go. Share it with a client in this process to see them live. */
  bus?: StreamBus;
  /** The folder that tools work in. Default: LONGHAUL_WORKSPACE, else the current folder. Made if absent. */
  workspace?: string;
  /** What tools reach through `ctx.resolve(name)`. */
  dependencies?: Dependencies;
  /** Model and tool calls at once; they mostly wait. Default 200. */
  maxConcurrentSteps?: number;
  /** Characters of message text kept for warm model calls. Default 256 million; 0 keeps none. */
  transcriptCacheSize?: number;
  /** How long steps may go on after a shutdown is asked for, milliseconds. Then another worker takes over. Default 10,000. */
  drainMs?: number;
  /** Made ahead with Temporal's `bundleWorkflowCode`; otherwise made at start, in about half a second. */
  workflowBundle?: { codePath: string } | { code: string };
  /** Anything else of Temporal's worker, at your own risk; what the engine relies on wins. */
  temporal?: Partial<TemporalWorkerOptions>;
}

export interface AgentWorker {
  taskQueue: string;
  bus: StreamBus;
  /** Works until `shutdown` is called or the process is told to stop. Rejects when the worker fails. */
  run(): Promise<void>;
  /** Takes no new work, lets steps finish for `drainMs`, then hands them to other workers. */
  shutdown(): void;
}

/** A worker for agent threads. Rejects when Temporal can't be reached, saying where it looked. */
export async function createWorker(options: WorkerOptions): Promise<AgentWorker> {
  const { taskQueue = defaultTaskQueue, bus = inProcessBus(), drainMs = 10_000 } = options;
  const agents = createAgents(options.agents);
  const config = readConfig();
  const workspace = resolve(options.workspace ?? config.workspace ?? '.');
  mkdirSync(workspace, { recursive: true });
  const { connection, namespace, ours } = await connect(options);
  const { registered, why } = await registerSearchAttributes(connection, namespace);
  if (!registered) {
    Runtime.instance().logger.warn(`Search attributes are not registered in namespace "${namespace}" (${why}); threads run without them.`);
  }
  const activities = createActivities({
    agents,
    models: options.models ?? defaultModels(config),
    prices: options.prices ?? createPrices(config.pricesFile === undefined ? {} : { overrides: config.pricesFile }),
    limits: options.limits ?? (config.costLimitUsd === undefined ? {} : { costUsd: config.costLimitUsd }),
    bus,
    transcripts: new TranscriptCache(options.transcriptCacheSize),
    workspace,
    dependencies: options.dependencies ?? {},
    searchAttributes: registered,
  });
  const { workflowsPath, preloadModules, payloadConverterPath, webpackConfigHook } = workflowBundleOptions();
  const worker = await Worker.create({
    maxConcurrentActivityTaskExecutions: options.maxConcurrentSteps ?? 200,
    shutdownGraceTime: drainMs,
    shutdownForceTime: drainMs + 10_000,
    ...options.temporal,
    connection,
    namespace,
    taskQueue,
    activities: { ...activities },
    ...(options.workflowBundle
      ? { workflowBundle: options.workflowBundle }
      : { workflowsPath, bundlerOptions: { preloadModules, webpackConfigHook } }),
    dataConverter: { ...options.temporal?.dataConverter, payloadConverterPath },
    // A killed worker's threads wait this long for it before another takes them.
    stickyQueueScheduleToStartTimeout: options.temporal?.stickyQueueScheduleToStartTimeout ?? '1s',
    // Bounds how long a cancel takes to reach a model call, and how old the growing text is that other processes see.
    maxHeartbeatThrottleInterval: options.temporal?.maxHeartbeatThrottleInterval ?? '300ms',
  });
  return {
    taskQueue,
    bus,
    run: async () => {
      try {
        await worker.run();
      } finally {
        if (ours) await connection.close();
      }
    },
    shutdown: () => worker.shutdown(),
  };
}

async function connect(options: WorkerOptions): Promise<{ connection: NativeConnection; namespace: string; ours: boolean }> {
  const environment = loadClientConnectConfig();
  const namespace = options.namespace ?? environment.namespace ?? 'default';
  if (options.connection) return { connection: options.connection, namespace, ours: false };
  try {
    return { connection: await NativeConnection.connect(environment.connectionOptions), namespace, ours: true };
  } catch (error) {
    const address = environment.connectionOptions.address ?? 'localhost:7233';
    throw new Error(
      `Temporal can't be reached at ${address}: ${(error as Error).message}. Start one ("longhaul dev") or set TEMPORAL_ADDRESS.`,
      {
        cause: error,
      },
    );
  }
}

/** The agents that a module exports: by name, as a list, or as its default. Throws where it has none. */
export function loadAgents(file: string): Agent[] {
  const path = resolve(file);
  if (!existsSync(path)) throw new Error(`The agents' file ${path} does not exist. Give a module that exports agents made by defineAgent.`);
  // Node 20.19 and later load ES modules this way too.
  const module = required(path);
  const found = new Set(
    Object.values(module)
      .flatMap((value) => [value, ...Object.values((value as object) ?? {})])
      .flat()
      .filter(isAgent),
  );
  if (found.size === 0) throw new Error(`${path} exports no agent. Export what defineAgent returns.`);
  return [...found];
}

function required(path: string): Record<string, unknown> {
  try {
    return createRequire(__filename)(path);
  } catch (error) {
    const { name, message } = (error ?? {}) as Error;
    // Node 20 reads no types; where tsx is loaded, as in a checkout, this is a mistake in the file.
    const typed =
      name === 'SyntaxError' && /\.[cm]?ts$/.test(path) ? ' It is TypeScript: compile it, or set NODE_OPTIONS="--import tsx".' : '';
    throw new Error(`The agents' file ${path} can't be loaded: ${message ?? error}.${typed}`, { cause: error });
  }
}

function isAgent(value: unknown): value is Agent {
  return typeof (value as Agent | null)?.toolbox?.judge === 'function';
}

export interface WorkerProcessOptions {
  /** A module that exports agents. Default LONGHAUL_AGENTS, else the built-in coder. */
  agentsFile?: string;
  /** Default LONGHAUL_TASK_QUEUE, else `longhaul`. */
  taskQueue?: string;
  announce?: (line: string) => void;
}

/** A worker as a process: the agents of a file, or the built-in coder. Ends, drained, on SIGTERM or SIGINT. */
export async function runWorkerProcess({ announce = console.error, ...options }: WorkerProcessOptions = {}): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const agents = await configuredAgents(options.agentsFile);
  const taskQueue = options.taskQueue ?? readConfig().taskQueue;
  const worker = await createWorker({ agents, ...(taskQueue && { taskQueue }) });
  announce(`longhaul worker: agents ${agents.map((agent) => agent.name).join(', ')} on task queue ${worker.taskQueue}`);
  await worker.run();
}

/** The agents of a file, or of the one that LONGHAUL_AGENTS names, or the built-in coder with the model of LONGHAUL_MODEL. */
export async function configuredAgents(file?: string): Promise<Agent[]> {
  const { agentsFile, model, environment } = readConfig();
  const named = file ?? agentsFile;
  return named ? loadAgents(named) : [createCoder({ environment, ...(model && { model }) })];
}

if (require.main === module) {
  runWorkerProcess().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
