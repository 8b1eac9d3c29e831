import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { defaultModels } from '../../src/models/registry';
import { createWorker } from '../../src/worker';
import { answer } from '../link';
import type { Spent } from '../worker';
import { agent } from './task';

export interface EndlessWorkerArguments {
  address: string;
  modelUrl: string;
  taskQueue: string;
  codePath: string;
}

async function start({ address, modelUrl, taskQueue, codePath }: EndlessWorkerArguments): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const worker = await createWorker({
    agents: [agent],
    connection: await NativeConnection.connect({ address }),
    taskQueue,
    models: defaultModels({ openai: { baseUrl: modelUrl, apiKey: 'endless' } }),
    workflowBundle: { codePath },
  });
  worker.run().catch((error: Error) => {
    console.error(error);
    process.exit(1);
  });
}

const started = start(JSON.parse(process.argv[2] ?? '{}'));
answer({
  ready: () => started,
  spent: (): Spent => {
    const { user, system } = process.cpuUsage();
    return { cpuMs: (user + system) / 1_000, rss: process.memoryUsage.rss() };
  },
});
