import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Runtime, type WorkerOptions as TemporalWorkerOptions, Worker } from '@temporalio/worker';
import { createActivities, type DecisionVerifier, TranscriptCache } from '../activities';
import { registerSearchAttributes } from '../activities/register-search-attributes';
import { threadSinks } from '../activities/running-steps';
import type { Agent } from '../agents/define-agent';
import { createAgents } from '../agents/registry';
import { readConfig } from '../config';
import { defaultTaskQueue } from '../contract/thread';
import type { Limits } from '../core/agent';
import { defaultTakeoverMs } from '../core/takeover';
import { createPrices, type Prices } from '../models/prices';
import { defaultModels, type Models } from '../models/registry';
import { inProcessBus, type StreamBus } from '../stream/stream-bus';
import type { Dependencies } from '../tools/define-tool';
import { dataConverter, workflowBundleOptions } from '../workflow-bundle';
import { checkDependencies } from './check-dependencies';
import { statusWords } from './log';
import { runToEnd } from './run-to-end';
import { verifierOf } from './verifier';

export interface WorkerOptions {
  /** What this worker can run. Threads name them. */
  agents: readonly Agent[];
  /** Default: where the standard Temporal environment (TEMPORAL_ADDRESS, …) points, else localhost:7233. Closed by whoever made it. */
  connection?: NativeConnection;
  /** Default: the environment's, else `default`. */
  namespace?: string;
  /** Default LONGHAUL_TASK_QUEUE, as for clients, else `longhaul`. */
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
  /**
   * Whose decisions, outputs and answers count: with it, only those that are signed as it has it, in every run that this worker begins.
   * Give all workers of an agent the same. Default: the people of the file that LONGHAUL_SIGNERS names, else anybody, unsigned.
   */
  verifier?: DecisionVerifier;
  /** Model and tool calls at once; they mostly wait. Default 200. */
  maxConcurrentSteps?: number;
  /** Characters of message text kept for warm model calls. Default 256 million; 0 keeps none. */
  transcriptCacheSize?: number;
  /** How long steps may go on after a shutdown is asked for, milliseconds. Then another worker takes over. Default 10,000. */
  drainMs?: number;
  /**
   * How soon after the death of a worker another has taken its steps over, milliseconds. Default 5,000, at least 3,000. More saves
   * heartbeats, which Temporal Cloud bills: a model call of ten seconds sends 4 of them, and 2 with 8,000. A cancel takes as long to reach
   * a step in another process than its thread's.
   */
  takeoverMs?: number;
  /**
   * How often the growing text of an answer goes into heartbeats, milliseconds, at least 100: readers in other processes see it grow where no
   * other bus connects them. Each is billed by Temporal Cloud. Default: LONGHAUL_LIVE_TEXT_MS, else never.
   */
  liveTextMs?: number;
  /**
   * The history after which a thread continues as new, as the thread itself counts it; at least 20 events. Default 2,000 events or 4,000,000
   * bytes, a fraction of what the server allows. Tests lower it.
   */
  continueAsNewAfter?: { events: number; bytes: number };
  /**
   * The version of the code and the agents that this worker has, for Temporal's worker versioning: the server then decides which threads
   * it is given. Default: none, and it takes whatever is on its task queue.
   */
  deployment?: Deployment;
  /** Made ahead with Temporal's `bundleWorkflowCode`; otherwise made at start, in about half a second. */
  workflowBundle?: { codePath: string } | { code: string };
  /** Anything else of Temporal's worker, at your own risk; what the engine relies on wins. */
  temporal?: Partial<TemporalWorkerOptions>;
}

export interface Deployment {
  /** Of the service, the same for all its versions. */
  name: string;
  /** Of this version: an image's tag, a commit. */
  buildId: string;
  /**
   * `auto-upgrade` (default): threads go on with the version that is current. `pinned`: a thread stays with the version that it began
   * with, also when it continues as new, so that version's workers must stay until its threads have ended.
   */
  behavior?: 'auto-upgrade' | 'pinned';
}

export interface AgentWorker {
  taskQueue: string;
  /** Where decisions count only when they are signed: whose verifier it is. */
  verifier?: DecisionVerifier;
  bus: StreamBus;
  /**
   * Works until `shutdown` is called or the process is told to stop. Rejects when the worker fails, with what it failed of, or does not
   * end in time after a shutdown; it polls no more then, so end the process.
   */
  run(): Promise<void>;
  /** Takes no new work, lets steps finish for `drainMs`, then hands them to other workers. */
  shutdown(): void;
}

/** A worker for agent threads. Rejects when Temporal can't be reached, saying where it looked. */
export async function createWorker(options: WorkerOptions): Promise<AgentWorker> {
  const config = readConfig();
  const { taskQueue = config.taskQueue ?? defaultTaskQueue, bus = inProcessBus(), drainMs = 10_000 } = options;
  const { takeoverMs = defaultTakeoverMs, liveTextMs = config.liveTextMs, maxConcurrentSteps = 200 } = options;
  checkNumbers({ takeoverMs, liveTextMs, drainMs, maxConcurrentSteps, transcriptCacheSize: options.transcriptCacheSize });
  if (options.agents.length === 0) throw new TypeError('createWorker: agents is empty; a worker needs at least one agent to run.');
  const agents = createAgents(options.agents);
  const verifier = options.verifier ?? (config.signersFile === undefined ? undefined : verifierOf(config.signersFile));
  const { dependencies = {} } = options;
  const wrong = checkDependencies(dependencies);
  if (wrong) throw new TypeError(`createWorker: ${wrong}.`);
  const workspace = resolve(options.workspace ?? config.workspace ?? '.');
  mkdirSync(workspace, { recursive: true });
  const { connection, namespace, ours } = await connect(options);
  const { registered, why } = await registerSearchAttributes(connection, namespace);
  const activities = createActivities({
    agents,
    models: options.models ?? defaultModels(config),
    prices: options.prices ?? createPrices(config.pricesFile === undefined ? {} : { overrides: config.pricesFile }),
    limits: options.limits ?? (config.costLimitUsd === undefined ? {} : { costUsd: config.costLimitUsd }),
    bus,
    transcripts: new TranscriptCache(options.transcriptCacheSize),
    workspace,
    dependencies,
    takeoverMs,
    ...(liveTextMs !== undefined && { liveTextMs }),
    searchAttributes: registered,
    ...(verifier && { verifier }),
    ...(options.continueAsNewAfter && { carryAfter: checkCarryAfter(options.continueAsNewAfter) }),
  });
  const { workflowsPath, workflowInterceptorModules = [], preloadModules, webpackConfigHook } = workflowBundleOptions();
  const worker = await Worker.create({
    maxConcurrentActivityTaskExecutions: maxConcurrentSteps,
    shutdownGraceTime: drainMs,
    shutdownForceTime: drainMs + 10_000,
    ...options.temporal,
    ...(options.deployment && { workerDeploymentOptions: versionOf(options.deployment) }),
    connection,
    namespace,
    taskQueue,
    activities: { ...activities },
    ...(options.workflowBundle
      ? { workflowBundle: options.workflowBundle }
      : {
          workflowsPath,
          bundlerOptions: { preloadModules, webpackConfigHook },
          interceptors: {
            ...options.temporal?.interceptors,
            workflowModules: [...workflowInterceptorModules, ...(options.temporal?.interceptors?.workflowModules ?? [])],
          },
        }),
    dataConverter: dataConverter(options.temporal?.dataConverter),
    // A killed worker's threads wait this long for it before another takes them.
    stickyQueueScheduleToStartTimeout: options.temporal?.stickyQueueScheduleToStartTimeout ?? '1s',
    // The steps know themselves when a heartbeat is due. This one bounds how fast a step may ask about its cancel.
    maxHeartbeatThrottleInterval: '20ms',
    sinks: { ...options.temporal?.sinks, ...threadSinks },
  }).catch(async (error: unknown) => {
    if (ours) await connection.close();
    throw namespaceError(error, namespace);
  });
  if (!registered) {
    Runtime.instance().logger.warn(`Search attributes are not registered in namespace "${namespace}" (${why}); threads run without them.`);
  }
  return {
    taskQueue,
    ...(verifier && { verifier }),
    bus,
    run: async () => {
      try {
        await runToEnd(worker);
      } finally {
        // What closing says of a worker that failed would cover why it failed.
        if (ours) await connection.close().catch(() => undefined);
      }
    },
    shutdown: () => worker.shutdown(),
  };
}

const longestMs = 24 * 60 * 60 * 1_000;

/** What each number counts, its least and its greatest value. */
const ranges = {
  takeoverMs: ['milliseconds', 3_000, longestMs],
  liveTextMs: ['milliseconds', 100, longestMs],
  drainMs: ['milliseconds', 0, longestMs],
  maxConcurrentSteps: ['steps', 1, 100_000],
  transcriptCacheSize: ['characters', 0, Number.MAX_SAFE_INTEGER],
} as const;

function checkNumbers(numbers: Record<keyof typeof ranges, number | undefined>): void {
  for (const [option, [what, least, most]] of Object.entries(ranges)) {
    const value = numbers[option as keyof typeof ranges];
    if (value === undefined || (Number.isFinite(value) && value >= least && value <= most)) continue;
    throw new TypeError(`createWorker: ${option} is ${value}; it must be a number of ${what}, at least ${least} and at most ${most}.`);
  }
}

function checkCarryAfter({ events, bytes }: { events: number; bytes: number }): { events: number; bytes: number } {
  if (Number.isSafeInteger(events) && events >= 20 && Number.isSafeInteger(bytes) && bytes >= 1_000) return { events, bytes };
  throw new TypeError(
    `createWorker: continueAsNewAfter takes { events, bytes }, at least 20 and 1,000; it is ${JSON.stringify({ events, bytes })}`,
  );
}

function versionOf({ name, buildId, behavior = 'auto-upgrade' }: Deployment): TemporalWorkerOptions['workerDeploymentOptions'] {
  for (const [what, value] of Object.entries({ name, buildId })) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`deployment.${what} must be a text that is not empty.`);
  }
  const behaviors = { 'auto-upgrade': 'AUTO_UPGRADE', pinned: 'PINNED' } as const;
  if (!Object.hasOwn(behaviors, behavior))
    throw new TypeError(`deployment.behavior is "${behavior}"; it must be "auto-upgrade" or "pinned".`);
  return {
    version: { deploymentName: name, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: behaviors[behavior],
  };
}

async function connect(options: WorkerOptions): Promise<{ connection: NativeConnection; namespace: string; ours: boolean }> {
  const environment = loadClientConnectConfig();
  const namespace = options.namespace ?? environment.namespace ?? 'default';
  if (options.connection) return { connection: options.connection, namespace, ours: false };
  try {
    return { connection: await NativeConnection.connect(environment.connectionOptions), namespace, ours: true };
  } catch (cause) {
    const address = environment.connectionOptions.address ?? 'localhost:7233';
    const words = statusWords((cause as Error).message);
    if (/^(Unauthenticated|PermissionDenied)/.test(words)) {
      throw new Error(`Temporal at ${address} refuses this worker: ${words}. See TEMPORAL_API_KEY and TEMPORAL_TLS_*.`, { cause });
    }
    throw new Error(`Temporal can't be reached at ${address}: ${words}. Start one ("longhaul dev") or set TEMPORAL_ADDRESS.`, { cause });
  }
}

function namespaceError(error: unknown, namespace: string): unknown {
  const words = statusWords((error as Error).message);
  if (!/^NotFound: /.test(words)) return error;
  return new Error(
    `Temporal has no namespace "${namespace}". Create it ("temporal operator namespace create -n ${namespace}") or set TEMPORAL_NAMESPACE.`,
    { cause: error },
  );
}
