import { randomUUID } from 'node:crypto';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { guarded } from '../../scripts/guarded.js';
import type { Agent } from '../../src/agents';
import { LonghaulClient } from '../../src/client';
import type { AgentEvent } from '../../src/core/event';
import { defaultModels } from '../../src/models/registry';
import { inProcessBus } from '../../src/stream/stream-bus';
import { type ModelServer, type Script, startModelServer } from '../../src/testing/model-server';
import { type AgentWorker, createWorker, type WorkerOptions } from '../../src/worker';
import { inPackage } from './in-package';
import { closeBeforeServers, sharedServer, workflowBundlePath } from './temporal';

export interface Rig {
  client: LonghaulClient;
  model: ModelServer;
  taskQueue: string;
  address: string;
  /** Another worker on the same task queue. */
  addWorker(options?: Partial<WorkerOptions>): Promise<RunningWorker>;
  workers: RunningWorker[];
}

export interface RunningWorker {
  worker: AgentWorker;
  /** Shuts the workers down and waits for them. */
  stop(): Promise<void>;
}

export interface RigOptions {
  script: Script;
  agents: Agent[];
  /** Default: the shared server. */
  address?: string;
  worker?: Partial<WorkerOptions>;
  client?: Parameters<typeof LonghaulClient.connect>[0];
  /** Send deltas over a stream bus that worker and client share. */
  bus?: boolean;
  /** How many workers to start; 0 starts none yet. Default 1. */
  workers?: number;
}

/** A real worker on the test server, on a task queue of its own, with a scripted model behind real HTTP. Stopped after the file's tests. */
export async function startRig({
  script,
  agents,
  address = sharedServer().address,
  worker = {},
  client,
  bus,
  workers = 1,
}: RigOptions): Promise<Rig> {
  quiet();
  const taskQueue = `test-${randomUUID()}`;
  const model = await startModelServer(script);
  const shared = bus ? inProcessBus() : undefined;
  const temporal = await LonghaulClient.connect({ connection: { address }, taskQueue, ...(shared && { bus: shared }), ...client });
  const rig: Rig = {
    client: temporal,
    model,
    taskQueue,
    address,
    workers: [],
    async addWorker(options = {}) {
      const connection = await NativeConnection.connect({ address });
      const created = await createWorker({
        agents,
        connection,
        taskQueue,
        models: defaultModels({ openai: { baseUrl: model.url, apiKey: 'test' } }),
        workflowBundle: { codePath: workflowBundlePath() },
        drainMs: 500,
        ...(shared && { bus: shared }),
        ...worker,
        ...options,
      });
      const running = created.run();
      // Checked in `stop`; until then a failure must not end the test process.
      running.catch(() => undefined);
      let stopped: Promise<void> | undefined;
      const handle: RunningWorker = {
        worker: created,
        stop: () => {
          stopped ??= (async () => {
            created.shutdown();
            await running;
            await connection.close();
          })();
          return stopped;
        },
      };
      rig.workers.push(handle);
      return handle;
    },
  };
  closeBeforeServers(async () => {
    await Promise.all(rig.workers.map((running) => running.stop().catch(() => undefined)));
    await temporal.close();
    await model.stop();
  });
  for (let i = 0; i < workers; i++) await rig.addWorker();
  return rig;
}

export interface WorkerProcess {
  pid: number;
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  exited: Promise<number | null>;
  log(): string;
}

/** Starts a worker of the compiled package in a process of its own, which can be killed. Resolves when it polls. `agentsFile` exports agents. */
export async function startWorkerProcess(options: {
  address: string;
  taskQueue: string;
  agentsFile: string;
  modelUrl: string;
  env?: Record<string, string>;
}): Promise<WorkerProcess> {
  let log = '';
  let ready = () => {};
  const polls = new Promise<void>((resolve) => {
    ready = resolve;
  });
  // Guarded, so that it can't outlive the test run.
  const child = guarded(process.execPath, [inPackage('dist/worker.js')], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: options.address,
      LONGHAUL_TASK_QUEUE: options.taskQueue,
      LONGHAUL_AGENTS: options.agentsFile,
      OPENAI_BASE_URL: options.modelUrl,
      OPENAI_API_KEY: 'test',
      ...options.env,
    },
    onLine(line) {
      log += `${line}\n`;
      if (line.includes('longhaul worker:')) ready();
    },
  });
  const exited = child.ended.then(({ code }) => code);
  const pid = await child.pid;
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(pid, name);
    } catch {
      // It has already exited.
    }
  };
  const kill = async () => {
    signal('SIGKILL');
    await exited;
  };
  closeBeforeServers(kill);
  const failed = exited.then((code) => Promise.reject(new Error(`the worker process ended with ${code}:\n${log}`)));
  await Promise.race([polls, failed]);
  failed.catch(() => undefined);
  return { pid, kill, signal, exited, log: () => log };
}

/** Collects all items until the iteration ends. */
export async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Retries until the condition is true. Fails with the last value. */
export async function until<T>(look: () => Promise<T> | T, isSo: (value: T) => boolean, ms = 60_000): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    const value = await look();
    if (isSo(value)) return value;
    if (Date.now() > deadline) throw new Error(`still not true after ${ms} ms; last value: ${JSON.stringify(value)?.slice(0, 2_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

let isQuiet = false;
function quiet(): void {
  if (isQuiet) return;
  isQuiet = true;
  const filter = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
}
