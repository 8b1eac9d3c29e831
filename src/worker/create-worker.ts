import { resolve } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { bundleWorkflowCode, NativeConnection, Runtime, type WorkerOptions as TemporalWorkerOptions } from '@temporalio/worker';
import { createActivities, type DecisionVerifier, TranscriptCache } from '../activities';
import { registerSearchAttributes } from '../activities/register-search-attributes';
import { threadSinks } from '../activities/steps/running-steps';
import type { Agent } from '../agents/define-agent';
import { createAgents } from '../agents/registry';
import type { ArtifactStore } from '../artifacts';
import { readConfig } from '../config';
import type { Activities } from '../contract/activities';
import { defaultTaskQueue } from '../contract/thread';
import type { Limits } from '../core/agent';
import { bounds } from '../core/bounds';
import { unknownFields } from '../core/closest';
import { defaultTakeoverMs } from '../core/takeover';
import { messageOfThrown } from '../core/thrown';
import { configuredEncoding, type Encoding, type EncodingOptions, startEncoding } from '../encoding/encoding';
import { createModelCatalog, type ModelCatalog } from '../models/catalog/model-catalog';
import type { ModelProvider } from '../models/model';
import { defaultModels, type Models, type VendorOptions } from '../models/registry';
import { inProcessBus, type StreamBus } from '../stream/stream-bus';
import { makeWorkspace } from '../tools/built-in/open-workspace';
import { createOutputTools } from '../tools/built-in/output-tools';
import { backgroundTasks } from '../tools/built-in/tasks/tasks';
import { threadOf, withinNamespace } from '../tools/built-in/tasks/thread-key';
import { fixedPart, problemOfWorkspacePath } from '../tools/built-in/thread-workspace';
import type { Dependencies } from '../tools/defining/define-tool';
import { buildIdOf, dataConverter, packagedBundle, withEncodedFailures, workflowBundleOptions } from '../workflow-bundle';
import { defaultRetentionMs, sweepArtifacts, workerArtifacts } from './artifacts';
import { checkDependencies, checkProviders } from './check-exports';
import { compactionWarnings } from './compaction-warnings';
import { statusWords } from './log';
import { isThreadOpen, namespaceIdOf } from './open-threads';
import { runToEnd } from './run-to-end';
import { sandboxesOf } from './sandboxes';
import { UnwatchedWorker } from './unwatched-worker';
import { verifierOf } from './verifier';

export interface WorkerOptions {
  /** The agents that this worker can run. Threads refer to them by name. */
  agents: readonly Agent[];
  /**
   * The connection to Temporal. You must close it yourself. Default: a connection to the server that the standard Temporal environment variables
   * (TEMPORAL_ADDRESS, …) name, or else localhost:7233.
   */
  connection?: NativeConnection | undefined;
  /** The Temporal namespace. Default: the environment's, or else `default`. */
  namespace?: string | undefined;
  /** The task queue to poll. Default: LONGHAUL_TASK_QUEUE, as for clients, or else `longhaul`. */
  taskQueue?: string | undefined;
  /**
   * Model providers by name, in addition to `openai`, `openai-responses`, `anthropic` and `google` (which take their keys and addresses from the
   * environment), or as a replacement for one of them. With `{ groq: aiSdk(createGroq()) }` you can use the model `groq/llama-3.3-70b`.
   */
  providers?: Readonly<Record<string, ModelProvider>> | undefined;
  /** The models of `createModels`. The worker then has only these, and ignores `providers`. */
  models?: Models | undefined;
  /** Windows, limits, capabilities and prices of models. Default: the lists of the package, overridden by the file that LONGHAUL_MODELS names. */
  catalog?: ModelCatalog | undefined;
  /** Limits of a run. Each applies to agents that do not set that limit themselves. Default: `costUsd` from LLM_COST_LIMIT. */
  limits?: Limits | undefined;
  /** The bus for token deltas and progress. Share it with a client in this process to receive them live. */
  bus?: StreamBus | undefined;
  /**
   * The folder that tools work in, created if it does not exist; with `{threadId}` as the name of a folder in the path, one for each thread. Default:
   * LONGHAUL_WORKSPACE, or else the current folder.
   */
  workspace?: string | undefined;
  /**
   * Keeps long outputs of tools, large images and files: `folderArtifacts({ path })`, for example. Workers of one task queue must share it. Null:
   * none, so that such outputs are cut for good. Default: the store that LONGHAUL_ARTIFACTS names, or else none.
   */
  artifacts?: ArtifactStore | null | undefined;
  /** How long the outputs of a thread are kept after its last one, in milliseconds. Default 30 days. */
  artifactRetentionMs?: number | undefined;
  /** Functions that create what tools get through `ctx.resolve(name)`. */
  dependencies?: Dependencies | undefined;
  /**
   * Checks signatures. With a verifier, decisions, outputs and answers count only with a signature that it accepts, in every run that this worker
   * begins. Give all workers of an agent the same verifier. Default: the people of the file that LONGHAUL_SIGNERS names; without that file anyone
   * may decide, without a signature.
   */
  verifier?: DecisionVerifier | undefined;
  /**
   * How payloads are compressed and encrypted. Give the same keys to all workers and clients of a namespace. Default: as LONGHAUL_ENCRYPTION_KEYS_FILE,
   * LONGHAUL_ENCRYPTION_KEYS and LONGHAUL_COMPRESSION define.
   */
  encoding?: EncodingOptions | undefined;
  /** The maximum number of concurrent model and tool calls, which mostly wait. Default 200. */
  maxConcurrentSteps?: number | undefined;
  /** The size of the cache of message text for model calls, in characters. Default 256 million; 0 turns the cache off. */
  transcriptCacheSize?: number | undefined;
  /** How long running steps may continue after `shutdown`, in milliseconds, before other workers take them over. Default 10,000. */
  drainMs?: number | undefined;
  /**
   * The time after a worker's death within which another worker takes over its steps, in milliseconds. Default 5,000, at least 3,000. A higher value
   * saves heartbeats, which Temporal Cloud bills: a model call of ten seconds sends 4 of them, and 2 with 8,000. A cancel may take as long to reach a
   * step that runs in another process than its thread.
   */
  takeoverMs?: number | undefined;
  /**
   * The interval at which the growing text of an answer is put into heartbeats, in milliseconds, at least 100. Readers in other processes, without a
   * shared bus, then see the text grow. Temporal Cloud bills each heartbeat. Default: LONGHAUL_LIVE_TEXT_MS, or else never.
   */
  liveTextMs?: number | undefined;
  /**
   * The size of history after which a thread continues as new, as the thread itself counts it; at least 20 events and 1,000 bytes. Default 2,500
   * events or 4,000,000 bytes, a fraction of what the server allows. Tests lower it.
   */
  continueAsNewAfter?: { events: number; bytes: number } | undefined;
  /**
   * The version of this worker's code and agents, for Temporal's worker versioning: the server then decides which threads the worker gets. Default:
   * no version; the worker takes every task on its task queue.
   */
  deployment?: Deployment | undefined;
  /**
   * A bundle built ahead of time with Temporal's `bundleWorkflowCode`. Default: the bundle of the package. If you use your own workflow interceptors,
   * failure converter or version of Temporal's SDK, a bundle is built at start instead.
   */
  workflowBundle?: { codePath: string } | { code: string } | undefined;
  /** Other options of Temporal's worker, at your own risk. They can't override the options that the engine relies on. */
  temporal?: Partial<TemporalWorkerOptions> | undefined;
}

/** Every option, to detect misspelt ones. The compiler rejects missing and unknown ones here. */
const workerOptions: Record<keyof WorkerOptions, true> = {
  agents: true,
  connection: true,
  namespace: true,
  taskQueue: true,
  providers: true,
  models: true,
  catalog: true,
  limits: true,
  bus: true,
  workspace: true,
  artifacts: true,
  artifactRetentionMs: true,
  dependencies: true,
  verifier: true,
  encoding: true,
  maxConcurrentSteps: true,
  transcriptCacheSize: true,
  drainMs: true,
  takeoverMs: true,
  liveTextMs: true,
  continueAsNewAfter: true,
  deployment: true,
  workflowBundle: true,
  temporal: true,
};

export interface Deployment {
  /** The deployment's name, the same for all versions. */
  name: string;
  /** Identifies this version, for example an image's tag or a commit. */
  buildId: string;
  /**
   * `auto-upgrade` (default): threads move to the current version. `pinned`: a thread stays with the version that it began with, also when it
   * continues as new, so workers of that version must run until its threads have ended.
   */
  behavior?: 'auto-upgrade' | 'pinned' | undefined;
}

export interface AgentWorker {
  taskQueue: string;
  /** The verifier, if decisions count only with a signature. */
  verifier?: DecisionVerifier;
  /** How the commands of its agents run, one sentence for each agent that sets a sandbox. */
  sandboxes: readonly string[];
  bus: StreamBus;
  /**
   * Runs until `shutdown` is called or the process receives a shutdown signal. Rejects with the cause when the worker fails, or when it does not end
   * in time after a shutdown. It then polls no more, so end the process.
   */
  run(): Promise<void>;
  /** Stops taking new work, lets running steps finish for `drainMs`, then leaves them to other workers. */
  shutdown(): void;
}

/** Creates a worker for agent threads. Rejects if Temporal can't be reached, with an error that names the address. */
export async function createWorker(options: WorkerOptions): Promise<AgentWorker> {
  const [unknown] = unknownFields(options, Object.keys(workerOptions));
  if (unknown) throw new TypeError(`createWorker: ${unknown}`);
  const config = readConfig();
  const { taskQueue = config.taskQueue ?? defaultTaskQueue, bus = inProcessBus(), drainMs = 10_000 } = options;
  const { takeoverMs = defaultTakeoverMs, liveTextMs = config.liveTextMs, maxConcurrentSteps = 200 } = options;
  const { artifactRetentionMs = defaultRetentionMs, transcriptCacheSize } = options;
  checkNumbers({ takeoverMs, liveTextMs, drainMs, maxConcurrentSteps, transcriptCacheSize, artifactRetentionMs });
  if (options.agents.length === 0) throw new TypeError('createWorker: agents is empty; a worker needs at least one agent to run.');
  const agents = createAgents(options.agents);
  const verifier = options.verifier ?? (config.signersFile === undefined ? undefined : verifierOf(config.signersFile));
  const sandboxes = sandboxesOf(options.agents);
  const { dependencies = {} } = options;
  const wrong = checkDependencies(dependencies) ?? checkProviders(options.providers);
  if (wrong) throw new TypeError(`createWorker: ${wrong}.`);
  const encodingOptions = options.encoding ?? configuredEncoding();
  const encoding = await startEncoding(encodingOptions);
  const artifacts = workerArtifacts(options.artifacts, config.artifacts, encodingOptions);
  const wanted = options.workspace ?? config.workspace ?? '.';
  const wrongPath = problemOfWorkspacePath(wanted);
  if (wrongPath) throw new TypeError(`createWorker: workspace: ${wrongPath}.`);
  const workspace = resolve(wanted);
  await makeWorkspace(fixedPart(workspace));
  const { connection, namespace, ours } = await connect(options);
  const closeOurs = async () => {
    if (ours) await connection.close();
  };
  const namespaceId = await namespaceIdOf(connection, namespace).catch(async (error: unknown) => {
    await closeOurs();
    throw error;
  });
  const { registered, why } = await registerSearchAttributes(connection, namespace);
  const models = options.models ?? defaultModels(config satisfies Required<VendorOptions>, options.providers);
  const activities = createActivities({
    agents,
    models,
    catalog: options.catalog ?? createModelCatalog(config.modelsFile === undefined ? {} : { overrides: config.modelsFile }),
    limits: options.limits ?? (config.costLimitUsd === undefined ? {} : { costUsd: config.costLimitUsd }),
    bus,
    transcripts: new TranscriptCache(transcriptCacheSize),
    workspace,
    dependencies,
    ...(artifacts && { artifacts, outputTools: createOutputTools((...asked) => artifacts.use(...asked)) }),
    takeoverMs,
    ...(liveTextMs !== undefined && { liveTextMs }),
    searchAttributes: registered,
    ...(verifier && { verifier }),
    ...(options.continueAsNewAfter && { carryAfter: checkCarryAfter(options.continueAsNewAfter) }),
  });
  const worker = await UnwatchedWorker.create({
    maxConcurrentActivityTaskExecutions: maxConcurrentSteps,
    shutdownGraceTime: drainMs,
    shutdownForceTime: drainMs + 10_000,
    ...options.temporal,
    ...(options.deployment && { workerDeploymentOptions: versionOf(options.deployment) }),
    connection,
    namespace,
    taskQueue,
    activities: withinItsNamespace(activities, namespaceId),
    ...(await workflowCode(options, encoding)),
    dataConverter: dataConverter(encoding, options.temporal?.dataConverter),
    // After a worker is killed, its threads wait this long before another worker takes them.
    stickyQueueScheduleToStartTimeout: options.temporal?.stickyQueueScheduleToStartTimeout ?? '1s',
    // The steps decide themselves when to send a heartbeat. This option limits how fast a step can check for its cancellation.
    maxHeartbeatThrottleInterval: '20ms',
    sinks: { ...options.temporal?.sinks, ...threadSinks },
  }).catch(async (error: unknown) => {
    await closeOurs();
    throw namespaceError(error, namespace);
  });
  for (const words of compactionWarnings(options.agents, models)) Runtime.instance().logger.warn(words);
  if (!registered) {
    Runtime.instance().logger.warn(`Search attributes are not registered in namespace "${namespace}" (${why}); threads run without them.`);
  }
  for (const warning of sandboxes.warnings) Runtime.instance().logger.warn(`The ${warning}.`);
  return {
    taskQueue,
    ...(verifier && { verifier }),
    sandboxes: sandboxes.words,
    bus,
    run: async () => {
      const stopSweeping = artifacts && sweepArtifacts(artifacts, artifactRetentionMs);
      const { logger } = Runtime.instance();
      const held = options.agents.flatMap(({ providers }) =>
        providers.map((provider) => provider.hold({ warn: (text) => logger.warn(text) })),
      );
      const endTasks = backgroundTasks.hold(
        (key) => isThreadOpen(connection, namespace, threadOf(key, namespaceId) ?? key),
        (key) => threadOf(key, namespaceId) !== undefined,
      );
      try {
        await runToEnd(worker);
      } finally {
        stopSweeping?.();
        await endTasks();
        await Promise.all(held.map((release) => release()));
        // The caller closes the models that it passed: other workers may use them.
        if (!options.models)
          await models.close?.().catch((error: unknown) => logger.warn(`A model provider was not closed: ${messageOfThrown(error)}`));
        // An error from closing must not hide why the worker failed.
        await closeOurs().catch(() => undefined);
      }
    },
    shutdown: () => worker.shutdown(),
  };
}

function withinItsNamespace(activities: Activities, namespaceId: string): Record<string, (...args: never[]) => unknown> {
  const entries = Object.entries(activities) as [string, (...args: never[]) => unknown][];
  return Object.fromEntries(entries.map(([name, run]) => [name, (...args: never[]) => withinNamespace(namespaceId, () => run(...args))]));
}

/** The options for a bundle that was built ahead of time, or for one that the SDK builds at start. */
async function workflowCode({ workflowBundle, temporal }: WorkerOptions, { encrypts }: Encoding): Promise<Partial<TemporalWorkerOptions>> {
  const workflowModules = temporal?.interceptors?.workflowModules ?? [];
  const { failureConverterPath } = temporal?.dataConverter ?? {};
  const isOurs = workflowModules.length === 0 && failureConverterPath === undefined;
  const bundle = workflowBundle ?? (isOurs ? packagedBundle() : undefined);
  if (bundle) return ahead(encrypts ? await withEncodedFailures(bundle) : bundle, temporal);
  const { workflowInterceptorModules = [], ...built } = workflowBundleOptions();
  const { workflowsPath, preloadModules, webpackConfigHook } = built;
  const modules = [...workflowInterceptorModules, ...workflowModules];
  if (encrypts) {
    const own = failureConverterPath === undefined ? {} : { failureConverterPath };
    const { logger } = Runtime.instance();
    return ahead(
      await withEncodedFailures(await bundleWorkflowCode({ ...built, ...own, workflowInterceptorModules: modules, logger })),
      temporal,
    );
  }
  return {
    workflowsPath,
    bundlerOptions: { preloadModules, webpackConfigHook },
    interceptors: { ...temporal?.interceptors, workflowModules: modules },
  };
}

async function ahead(
  workflowBundle: NonNullable<WorkerOptions['workflowBundle']>,
  temporal: WorkerOptions['temporal'],
): Promise<Partial<TemporalWorkerOptions>> {
  return { workflowBundle, buildId: temporal?.buildId ?? (await buildIdOf(workflowBundle)) };
}

const longestMs = 24 * 60 * 60 * 1_000;

/** The unit of each number, its minimum and its maximum. */
const ranges = {
  takeoverMs: ['milliseconds', 3_000, longestMs],
  liveTextMs: ['milliseconds', 100, longestMs],
  drainMs: ['milliseconds', 0, longestMs],
  maxConcurrentSteps: ['steps', 1, 100_000],
  artifactRetentionMs: ['milliseconds', 60_000, bounds.longestMs],
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
    `createWorker: continueAsNewAfter must be { events, bytes }, at least 20 and 1,000; it is ${JSON.stringify({ events, bytes })}`,
  );
}

function versionOf({ name, buildId, behavior = 'auto-upgrade' }: Deployment): TemporalWorkerOptions['workerDeploymentOptions'] {
  for (const [what, value] of Object.entries({ name, buildId })) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`deployment.${what} must be a non-empty string.`);
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
