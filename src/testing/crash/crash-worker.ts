import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { openAi } from '../../models/openai/client';
import { type AgentWorker, createWorker } from '../../worker';
import { configuredAgents } from '../../worker/agents-file';
import { answerParent } from './channel';
import { openLedger } from './ledger';
import { createMarks, type Stops } from './marks';
import { watchedAgent, watchedModels } from './watched';

/** A worker of one task queue. */
export interface WorkerArguments {
  address: string;
  namespace: string;
  taskQueue: string;
  agentsFile: string;
  modelUrl: string;
  codePath: string;
  ledger: string;
  workspace: string;
  /** The threads that stop in this process. */
  stops: Stops;
}

/**
 * The heartbeat timeout of all steps, so that another worker takes over soon. The event loop of a process with a dozen threads on a busy machine is
 * sometimes late by half a second, and a heartbeat that is too late would be a fault that nobody asked for.
 */
const heartbeatMs = 2_000;
/** With it, the engine's heartbeat timeout of steps that may run again is `heartbeatMs`. */
const takeoverMs = heartbeatMs + 2_000;

const calls = { running: 0 };
const workers = new Map<string, { worker: AgentWorker; ended: Promise<void> }>();

const report = answerParent({
  begin,
  release: () => marks.release(),
  /** Resolves when no call of a tool is under way. */
  async settle() {
    while (calls.running > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  },
  async end(taskQueue: string) {
    const ending = workers.get(taskQueue);
    workers.delete(taskQueue);
    ending?.worker.shutdown();
    await ending?.ended;
  },
});
const marks = createMarks({
  reached: (threadId, key) => report('reached', { threadId, key }),
  arrived: (threadId) => report('arrived', threadId),
});

const filter = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } }, shutdownSignals: [] });

/** Starts a worker. Resolves with the names of its agents when it polls. */
async function begin(given: WorkerArguments): Promise<string[]> {
  const { address, namespace, taskQueue, agentsFile, modelUrl, codePath, workspace } = given;
  openLedger(given.ledger);
  marks.add(given.stops);
  const { agents, dependencies } = await configuredAgents({ file: agentsFile });
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: agents.map((agent) => watchedAgent(agent, marks.mark, calls)),
    models: watchedModels(openAi({ baseUrl: modelUrl, apiKey: 'scripted' }), marks.mark),
    dependencies,
    connection,
    namespace,
    taskQueue,
    workspace,
    takeoverMs,
    drainMs: 0,
    workflowBundle: { codePath },
    temporal: {
      // The polls of a frozen process may still take tasks, which are late by a timeout then: as few as possible.
      workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
      // A thread that stands still while an event is recorded keeps its slot.
      maxConcurrentWorkflowTaskExecutions: 1_000,
      maxConcurrentActivityTaskExecutions: 1_000,
      workflowThreadPoolSize: 1,
      sinks: {
        longhaulEvents: { recorded: { fn: ({ workflowId }, seq: number) => marks.mark(workflowId, `event ${seq}`) } },
      },
      interceptors: { activity: [({ info }) => ({ inbound: { execute: (input, next) => shortened(info.activityType, next(input)) } })] },
    },
  });
  const ended = worker.run().finally(() => connection.close());
  ended.catch((error: Error) => report('failed', error.message));
  workers.set(taskQueue, { worker, ended: ended.catch(() => undefined) });
  return agents.map(({ name }) => name);
}

/** Puts into the run's facts that a silent worker is soon lost for calls that must not run twice, too. */
async function shortened(activityType: string, result: Promise<unknown>): Promise<unknown> {
  if (activityType !== 'resolveAgent') return result;
  return { ...((await result) as object), lostAfterMs: heartbeatMs };
}
