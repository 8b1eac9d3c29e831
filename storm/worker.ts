import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { defaultModels } from '../src/models/registry';
import { createWorker } from '../src/worker';
import { stormAgents } from './agents';
import { speak } from './talk';

/** What a worker process is told when it is to begin. Until then it waits with its code loaded, so that it takes over at once. */
export interface WorkerArguments {
  slot: number;
  version: 1 | 2;
  address: string;
  taskQueue: string;
  modelUrl: string;
  codePath: string;
  folder: string;
  /** Workflows kept in memory. */
  cached: number;
  /** Characters of transcripts kept in memory. */
  transcripts: number;
  events: number;
}

Runtime.install({ logger: new DefaultLogger('ERROR') });

async function begin({
  slot,
  version,
  address,
  taskQueue,
  modelUrl,
  codePath,
  folder,
  cached,
  transcripts,
  events,
}: WorkerArguments): Promise<void> {
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: stormAgents(folder, version),
    connection,
    taskQueue,
    // The provider learns from the key who asks.
    models: defaultModels({
      openai: { baseUrl: modelUrl, apiKey: `w${slot}.${process.pid}`, idleTimeoutMs: 3_000, firstByteTimeoutMs: 10_000 },
    }),
    workflowBundle: { codePath },
    workspace: folder,
    transcriptCacheSize: transcripts,
    continueAsNewAfter: { events, bytes: 200_000 },
    drainMs: 3_000,
    temporal: { maxCachedWorkflows: cached, identity: `storm-${process.pid}` },
  });
  // Ends of its own accord where it is told to stop by a signal.
  worker.run().then(
    () => process.exit(0),
    (error: Error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

speak({
  ready: () => true,
  begin: async (given: WorkerArguments) => {
    try {
      await begin(given);
    } catch (error) {
      console.error(error);
      process.exit(1);
    }
  },
});
