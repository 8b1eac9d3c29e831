import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { LonghaulClient, payloadCodecs } from '../../client';
import { tellEvents } from '../../contract/sinks';
import { configuredEncoding } from '../../encoding/encoding';
import { packagedBundle, workflowBundleOptions } from '../../workflow-bundle';
import { byTurn, type Script, startModelServer } from '../model-server';
import { type Child, startChild } from './channel';
import type { WorkerArguments } from './crash-worker';
import type { Stops } from './marks';
import { serverAt } from './server';

/** What the runs of one `crashEverywhere` share. */
export interface Stage {
  client: LonghaulClient;
  /** The file that the tools' effects are noted in. */
  ledger: string;
  /** The folder whose subfolder with a thread's id is the thread's workspace. */
  workspace: string;
  /** Why workers failed, if any did. */
  failures: string[];
  newTaskQueue(): string;
  /** A new process, with its code loaded. */
  newProcess(): Child;
  /** Starts a worker in a process. Resolves with the names of its agents. */
  beginWorker(child: Child, taskQueue: string, stops?: Stops): Promise<string[]>;
  stop(): Promise<void>;
}

/** How long a lost workflow task blocks its thread: longer than any workflow task of a short conversation takes. */
const workflowTaskTimeout = msToTs('2s');

export interface StageOptions {
  agentsFile: string;
  script: Script;
  address?: string | undefined;
  namespace?: string | undefined;
}

export async function setStage({ agentsFile, script, ...where }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-crash-'));
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const server = await serverAt(where);
    closing.push(() => server.stop());
    const { address, namespace } = server;
    const client = await connect(address, namespace);
    closing.push(() => client.close());
    const model = await startModelServer(Array.isArray(script) ? byTurn(script) : script);
    closing.push(() => model.stop());
    const codePath = await tellingBundle(folder);
    const [ledger, workspace] = [join(folder, 'ledger'), join(folder, 'workspace')];
    const name = `crash-${randomUUID().slice(0, 8)}`;
    const failures: string[] = [];
    let queues = 0;
    return {
      client,
      ledger,
      workspace,
      failures,
      newTaskQueue: () => `${name}-${++queues}`,
      newProcess() {
        const child = startChild(join(__dirname, `crash-worker${__filename.endsWith('.ts') ? '.ts' : '.js'}`));
        closing.push(() => child.kill());
        child.onReport('failed', (why) => failures.push(String(why)));
        return child;
      },
      beginWorker: (child, taskQueue, stops = {}) =>
        child.ask<string[]>('begin', {
          ...{ address, namespace, taskQueue, agentsFile, modelUrl: model.url, codePath, ledger, workspace, stops },
        } satisfies WorkerArguments),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function connect(address: string, namespace: string): Promise<LonghaulClient> {
  const { temporal, options } = await LonghaulClient.connect({ connection: { address }, namespace });
  const impatient = new Client({
    connection: temporal.connection,
    namespace,
    dataConverter: { payloadCodecs: payloadCodecs(configuredEncoding()) },
    interceptors: {
      workflow: [
        {
          startWithDetails: (input, next) => next({ ...input, options: { ...input.options, workflowTaskTimeout } }),
        },
      ],
    },
  });
  return new LonghaulClient(impatient, options);
}

/** The workflow bundle for workers whose threads tell them of each event. */
async function tellingBundle(folder: string): Promise<string> {
  const packaged = packagedBundle();
  const { code } = packaged
    ? { code: readFileSync(packaged.codePath, 'utf8') }
    : await bundleWorkflowCode({ ...workflowBundleOptions(), logger: new DefaultLogger('ERROR') });
  const codePath = join(folder, 'workflows.js');
  // On the first line, so that the source map still applies.
  writeFileSync(codePath, `globalThis.${tellEvents} = true; ${code}`);
  return codePath;
}
