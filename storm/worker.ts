import { join } from 'node:path';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { folderArtifacts } from '../src/artifacts';
import { defaultModels } from '../src/models/registry';
import { createWorker } from '../src/worker';
import { stormAgents } from './agents';
import { encodingIn } from './keys';
import { speak } from './talk';

/** Arguments with which a worker process begins. Until then it waits with its code loaded, so that it can take over immediately. */
export interface WorkerArguments {
  slot: number;
  version: 1 | 2;
  address: string;
  taskQueue: string;
  modelUrl: string;
  codePath: string;
  folder: string;
  /** Size of the workflow cache. */
  cached: number;
  /** Size of the transcript cache, in characters. */
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
    // The API key tells the model server which worker sends the request.
    models: defaultModels({
      openai: { baseUrl: modelUrl, apiKey: `w${slot}.${process.pid}`, idleTimeoutMs: 3_000, firstByteTimeoutMs: 10_000 },
    }),
    workflowBundle: { codePath },
    workspace: folder,
    encoding: encodingIn(folder),
    artifacts: folderArtifacts({ path: join(folder, 'outputs') }),
    transcriptCacheSize: transcripts,
    continueAsNewAfter: { events, bytes: 200_000 },
    drainMs: 3_000,
    temporal: { maxCachedWorkflows: cached, identity: `storm-${process.pid}` },
  });
  // `run` resolves after a signal has asked the worker to stop.
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
