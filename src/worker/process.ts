import { constants } from 'node:os';
import { Runtime } from '@temporalio/worker';
import type { DecisionVerifier } from '../activities';
import { artifactsAt } from '../artifacts';
import { readConfig, readDeployment } from '../config';
import { configuredAgents } from './agents-file';
import { type AgentWorker, createWorker } from './create-worker';
import { logOptions } from './log';

export interface WorkerProcessOptions {
  /** A module that exports agents. Default: LONGHAUL_AGENTS, or else the built-in coder. */
  agentsFile?: string | undefined;
  /** What the built-in coder may do without asking. Default: LONGHAUL_MODE, or else `minimal`. */
  mode?: string | undefined;
  /** Whether commands of the built-in coder run in a sandbox. Default: LONGHAUL_SANDBOX, or else `off`. */
  sandbox?: string | undefined;
  /** Default: LONGHAUL_TASK_QUEUE, or else `longhaul`. */
  taskQueue?: string | undefined;
  /** Where long outputs are kept if LONGHAUL_ARTIFACTS is not set: the path of a folder, or a `postgres://` or `s3://` URL. Default: nowhere. */
  artifacts?: string | undefined;
  announce?: ((line: string) => void) | undefined;
}

/** The time to close what an error has left open: connections, the native half of the worker. */
const lastWordsMs = 1_000;

/**
 * Runs a worker as a process, with the agents of a file or the built-in coder. Drains and ends on SIGTERM or SIGINT, and ends immediately on a second
 * signal. Rejects when the worker fails. In both cases the process ends soon after, with the exit code that is set by then, even if handles are still
 * open: a process that no longer polls would look healthy to its supervisor.
 */
export async function runWorkerProcess({
  announce = console.error,
  agentsFile,
  mode,
  sandbox,
  taskQueue,
  artifacts,
}: WorkerProcessOptions = {}): Promise<void> {
  const stop = onStopSignal(announce);
  try {
    // The signals are handled here, to distinguish the second one from the first.
    Runtime.install({ ...logOptions(announce), shutdownSignals: [] });
    const { agents, dependencies, providers } = await configuredAgents({ file: agentsFile, mode, sandbox });
    // Only for worker processes: in an embedding program the environment must not decide whether a worker gets work.
    const deployment = readDeployment();
    const { drainMs, artifacts: place = artifacts } = readConfig();
    const worker = await createWorker({
      agents,
      dependencies,
      providers,
      ...(taskQueue && { taskQueue }),
      ...(place && { artifacts: artifactsAt(place) }),
      ...(deployment && { deployment }),
      ...(drainMs !== undefined && { drainMs }),
    });
    const version = deployment ? `, version ${deployment.buildId} of ${deployment.name}` : '';
    const signed = worker.verifier ? `; decisions count only if signed${signersOf(worker.verifier)}` : '';
    const sandboxes = worker.sandboxes.map((sentence) => `; ${sentence}`).join('');
    announce(
      `longhaul worker: agents ${agents.map((agent) => agent.name).join(', ')} on task queue ${worker.taskQueue}${version}${signed}${sandboxes}`,
    );
    stop.worker = worker;
    await worker.run();
    if (!stop.asked) throw new Error(`The worker on task queue "${worker.taskQueue}" stopped polling without a shutdown request.`);
  } finally {
    endSoon();
  }
}

/** The end of a sentence that lists the signers. Empty if the verifier does not name them. */
export function signersOf({ names = [] }: DecisionVerifier): string {
  return names.length > 0 ? ` by ${names.join(', ')}` : '';
}

/** Ends the process with the exit code that is set by then. If no handle is open, the process ends sooner by itself. */
export function endSoon(): void {
  setTimeout(() => process.exit(), lastWordsMs).unref();
}

interface Stop {
  /** The worker to shut down at the first signal. Before it is set, the process just ends. */
  worker?: AgentWorker;
  asked: boolean;
}

function onStopSignal(announce: (line: string) => void): Stop {
  const stop: Stop = { asked: false };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGUSR2'] as const) {
    process.on(signal, () => {
      if (stop.asked) {
        announce(`longhaul worker: ${signal} again: stopped while steps were running; other workers take them over`);
        process.exit(128 + constants.signals[signal]);
      }
      stop.asked = true;
      if (!stop.worker) process.exit(0);
      announce(`longhaul worker: ${signal}: takes no new work, and ends when its running steps have ended`);
      stop.worker.shutdown();
    });
  }
  return stop;
}
