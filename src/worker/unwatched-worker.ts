import { Worker } from '@temporalio/worker';
import type { CompiledWorkerOptions } from '@temporalio/worker/lib/worker-options';

/**
 * A worker without a time limit on each call into workflow code. Node.js enforces such a limit with a new thread for each call, which took a sixth of a
 * worker's CPU. A call that it interrupts, on a machine that is busy for the 5 s of the limit, may end the whole process: "async hook stack has become
 * corrupted". The server's timeout of workflow tasks still gives a slow thread to another worker.
 */
export class UnwatchedWorker extends Worker {
  protected static override createWorkflowCreator(...[bundle, options, logger]: Parameters<(typeof Worker)['createWorkflowCreator']>) {
    const unwatched = { ...options, isolateExecutionTimeoutMs: undefined } as unknown as CompiledWorkerOptions;
    return Worker.createWorkflowCreator(bundle, unwatched, logger);
  }
}
