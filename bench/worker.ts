import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { defaultModels } from '../src/models/registry';
import { createWorker } from '../src/worker';
import { floorActivities } from './contenders/floor-activities';
import { naiveActivities } from './contenders/naive-activities';
import { type EncodingName, encodings } from './encodings';
import { answer } from './link';
import { agent, askingAgent, callsBegun, fillingAgent, readingAgent } from './workload';

/** Arguments of a contender's worker process. All contenders use the same provider, the same HTTP client and the same Temporal worker options. */
export interface WorkerArguments {
  contender: 'longhaul' | 'floor' | 'naive';
  address: string;
  modelUrl: string;
  taskQueue: string;
  codePath: string;
  options?: LonghaulOptions;
}

/** Options of the engine's worker that differ from its defaults. */
export interface LonghaulOptions {
  takeoverMs?: number;
  /** The worker runs threads only; other workers run their steps. */
  stepsElsewhere?: boolean;
  continueAsNewAfter?: { events: number; bytes: number };
  /** Default: payloads are not encoded. */
  encoding?: EncodingName;
}

/** CPU of the whole process, all threads, in milliseconds; memory in bytes. */
export interface Spent {
  cpuMs: number;
  rss: number;
}

async function start({ contender, address, modelUrl, taskQueue, codePath, options = {} }: WorkerArguments): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address });
  const models = defaultModels({ openai: { baseUrl: modelUrl, apiKey: 'bench' } });
  const workflowBundle = { codePath };
  if (contender === 'longhaul') {
    const { stepsElsewhere, encoding = 'plain', ...more } = options;
    const temporal = stepsElsewhere ? { temporal: { enableNonLocalActivities: false } } : {};
    const worker = await createWorker({
      agents: [agent, askingAgent, readingAgent, fillingAgent],
      encoding: encodings[encoding],
      connection,
      taskQueue,
      models,
      workflowBundle,
      ...more,
      ...temporal,
    });
    return void worker.run().catch(fail);
  }
  const { provider } = models.resolve(agent.model);
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle,
    activities: contender === 'floor' ? floorActivities(provider) : naiveActivities(provider),
    maxConcurrentActivityTaskExecutions: 200,
    stickyQueueScheduleToStartTimeout: '1s',
  });
  void worker.run().catch(fail);
}

function fail(error: Error): void {
  console.error(error);
  process.exit(1);
}

const started = start(JSON.parse(process.argv[3] ?? '{}'));
answer({
  ready: () => started,
  spent: (): Spent => {
    const { user, system } = process.cpuUsage();
    return { cpuMs: (user + system) / 1_000, rss: process.memoryUsage.rss() };
  },
  begun: (threadId: string) => callsBegun.get(threadId),
  exit: () => void setImmediate(() => process.exit(0)),
});
