import { runWorkerProcess } from './worker/process';

/** A worker for agent threads: create one with `createWorker`, or run one as a process with `node dist/worker.js`. */
export type { DecisionVerifier, Signatory } from './activities';
export { type AgentWorker, createWorker, type Deployment, type WorkerOptions } from './worker/create-worker';
export { createVerifier, type SignerKeys } from './worker/verifier';

if (require.main === module) {
  runWorkerProcess().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
