import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { LonghaulClient } from '../../src/client';
import { readConfig } from '../../src/config';
import { startModelServer } from '../../src/testing/model-server';
import { startTemporal } from '../temporal.js';
import { createProject, type Project } from './project';
import { scriptedModel } from './script';
import { startWorker, type WorkerProcess } from './worker-process';

/** Everything that the demo needs around the run. */
export interface Stage {
  client: LonghaulClient;
  project: Project;
  /** The address of the Web UI, if the demo started it. */
  uiUrl?: string;
  namespace: string;
  address: string;
  /** A description of the model. */
  model: string;
  startWorker(): Promise<WorkerProcess>;
  /** Ends every process and removes all files. May be called twice, and before the stage is complete. */
  clear(): Promise<void>;
}

export async function setStage(say: (text: string) => void): Promise<Stage> {
  const closers: (() => unknown)[] = [];
  const clear = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const temporal = await startTemporal({ ui: true, log: say });
    closers.push(() => temporal.stop());
    const project = createProject();
    closers.push(() => project.remove());
    const { openai, model } = readConfig();
    const real = openai.apiKey !== undefined || openai.baseUrl !== undefined;
    const scripted = real ? undefined : await startModelServer(scriptedModel);
    if (scripted) closers.push(() => scripted.stop());
    // A task queue of its own, so that on an existing server no other worker takes over the run.
    const taskQueue = `longhaul-demo-${randomUUID().slice(0, 8)}`;
    const client = await LonghaulClient.connect({ connection: { address: temporal.address }, namespace: temporal.namespace, taskQueue });
    closers.push(() => client.close());
    const env = {
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      LONGHAUL_TASK_QUEUE: taskQueue,
      LONGHAUL_AGENTS: join(__dirname, 'agents.ts'),
      LONGHAUL_WORKSPACE: project.folder,
      ...(scripted && { OPENAI_BASE_URL: scripted.url, OPENAI_API_KEY: '', LONGHAUL_MODEL: 'openai/scripted' }),
    };
    return {
      client,
      project,
      namespace: temporal.namespace,
      address: temporal.address,
      ...(temporal.uiUrl && { uiUrl: temporal.uiUrl }),
      model: scripted
        ? 'scripted (OPENAI_API_KEY is not set); its text is fixed, but the files, commands and failures are real'
        : (model ?? 'openai/gpt-5'),
      async startWorker() {
        const worker = await startWorker(env);
        closers.push(() => worker.kill());
        return worker;
      },
      clear,
    };
  } catch (error) {
    await clear();
    throw error;
  }
}
