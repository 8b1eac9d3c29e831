import { constants } from 'node:os';
import { Runtime } from '@temporalio/worker';
import type { DecisionVerifier } from '../activities';
import { readConfig, readDeployment } from '../config';
import { configuredAgents } from './agents-file';
import { type AgentWorker, createWorker } from './create-worker';
import { logOptions } from './log';

export interface WorkerProcessOptions {
  /** A module that exports agents. Default LONGHAUL_AGENTS, else the built-in coder. */
  agentsFile?: string;
  /** What the built-in coder may do without asking. Default LONGHAUL_MODE, else `minimal`. */
  mode?: string;
  /** Default LONGHAUL_TASK_QUEUE, else `longhaul`. */
  taskQueue?: string;
  announce?: (line: string) => void;
}

/** For what an error has left open: connections, the native half of the worker. */
const lastWordsMs = 1_000;

/**
 * A worker as a process: the agents of a file, or the built-in coder. Ends, drained, on SIGTERM or SIGINT, and at once on a second one.
 * Rejects when the worker fails. Either way the process ends soon after, with the exit code set by then, whatever is still open:
 * a process that no longer polls looks healthy to whoever would restart it.
 */
export async function runWorkerProcess({
  announce = console.error,
  agentsFile,
  mode,
  taskQueue,
}: WorkerProcessOptions = {}): Promise<void> {
  const stop = onStopSignal(announce);
  try {
    // The signals are handled here, where the second one can be told from the first.
    Runtime.install({ ...logOptions(announce), shutdownSignals: [] });
    const { agents, dependencies } = configuredAgents({ file: agentsFile, mode });
    // Of processes that do nothing else: elsewhere the environment must not decide whether a worker is given work at all.
    const deployment = readDeployment();
    const { drainMs } = readConfig();
    const worker = await createWorker({
      agents,
      dependencies,
      ...(taskQueue && { taskQueue }),
      ...(deployment && { deployment }),
      ...(drainMs !== undefined && { drainMs }),
    });
    const version = deployment ? `, version ${deployment.buildId} of ${deployment.name}` : '';
    const signed = worker.verifier ? `; decisions count only if signed${signersOf(worker.verifier)}` : '';
    announce(
      `longhaul worker: agents ${agents.map((agent) => agent.name).join(', ')} on task queue ${worker.taskQueue}${version}${signed}`,
    );
    stop.worker = worker;
    await worker.run();
    if (!stop.asked) throw new Error(`The worker on task queue "${worker.taskQueue}" polls no more, though nobody told it to stop.`);
  } finally {
    endSoon();
  }
}

/** As words of a sentence; nothing where the verifier does not say whom it knows. */
export function signersOf({ names = [] }: DecisionVerifier): string {
  return names.length > 0 ? ` by ${names.join(', ')}` : '';
}

/** Ends the process with the exit code that is set by then. Where nothing is open it ends sooner, by itself. */
export function endSoon(): void {
  setTimeout(() => process.exit(), lastWordsMs).unref();
}

interface Stop {
  /** Shut down at the first signal; before there is one, the process just ends. */
  worker?: AgentWorker;
  asked: boolean;
}

function onStopSignal(announce: (line: string) => void): Stop {
  const stop: Stop = { asked: false };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGUSR2'] as const) {
    process.on(signal, () => {
      if (stop.asked) {
        announce(`longhaul worker: ${signal} again: stopped with steps under way, which other workers take over`);
        process.exit(128 + constants.signals[signal]);
      }
      stop.asked = true;
      if (!stop.worker) process.exit(0);
      announce(`longhaul worker: ${signal}: takes nothing new, and ends when its steps have`);
      stop.worker.shutdown();
    });
  }
  return stop;
}
