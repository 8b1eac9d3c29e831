import { GracefulShutdownPeriodExpiredError, type Logger, type Worker } from '@temporalio/worker';

/** How often the worker's state is checked, and how long its native half has to end after a failure. */
const lookMs = 250;
const patienceMs = 2_000;

/**
 * Runs a Temporal worker to its end. Its own promise is not enough: when an activity's completion is refused, it rejects with an error of the clean-up
 * instead of the cause, and while the native half does not end it stays pending although the worker no longer polls.
 */
export async function runToEnd(worker: Worker): Promise<void> {
  const { taskQueue } = worker.options;
  const cause = fatalErrorOf(worker);
  const overdue = endsLate(worker, cause);
  try {
    await Promise.race([worker.run(), overdue.promise]);
  } catch (error) {
    const found = cause() ?? error;
    if (found instanceof GracefulShutdownPeriodExpiredError) return endedLate(worker);
    throw new Error(`The worker on task queue "${taskQueue}" has failed and polls no more: ${(found as Error)?.message ?? found}`, {
      cause: found,
    });
  } finally {
    overdue.stop();
  }
}

/**
 * The worker has not ended within its time after a shutdown. That is an error only if it was still working: a server may also fail to answer
 * a poll that began in the moment of the shutdown (https://github.com/temporalio/temporal/pull/11841).
 */
function endedLate(worker: Worker): void {
  const { numInFlightActivities: steps, numInFlightWorkflowActivations: tasks, ...status } = worker.getStatus();
  const { taskQueue, shutdownForceTimeMs = 0 } = worker.options;
  const late = `The worker on task queue "${taskQueue}" did not end within ${Math.round(shutdownForceTimeMs / 1_000)} s of its shutdown`;
  if (steps + tasks > 0) throw new Error(`${late}: steps still running: ${steps}, workflow tasks still running: ${tasks}`);
  (worker as unknown as { logger: Logger }).logger.warn(`${late}, although nothing was running`, { ...status });
}

/** Rejects when the worker has stopped polling but does not end. */
function endsLate(worker: Worker, cause: () => unknown): { promise: Promise<never>; stop: () => void } {
  const { shutdownGraceTimeMs, shutdownForceTimeMs = shutdownGraceTimeMs + 10_000 } = worker.options;
  let timer: NodeJS.Timeout | undefined;
  let stoppedAt: number | undefined;
  let failedAt: number | undefined;
  const promise = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const state = worker.getState();
      if (state === 'INITIALIZED' || state === 'RUNNING') return;
      const now = Date.now();
      stoppedAt ??= now;
      if (state === 'FAILED') failedAt ??= now;
      // After an error, running steps still have their time, but the worker is not expected to end by itself.
      const allowedMs = cause() === undefined ? shutdownForceTimeMs : shutdownGraceTimeMs;
      if (now > Math.min(failedAt ?? Number.POSITIVE_INFINITY, stoppedAt + allowedMs) + patienceMs) {
        reject(
          new Error(`it did not end within ${Math.round((now - stoppedAt) / 1_000)} s of its shutdown, because a step is still running`),
        );
      }
    }, lookMs);
  });
  return { promise, stop: () => clearInterval(timer) };
}

/** The error that the worker logs as the reason of its failure. It then often rejects with another error. */
function fatalErrorOf(worker: Worker): () => unknown {
  let found: unknown;
  const { logger } = worker as unknown as { logger: Logger };
  const log = logger.error.bind(logger);
  logger.error = (message, meta) => {
    if (/^(Worker failed|Core reported failure)/.test(message)) found ??= meta?.error;
    log(message, meta);
  };
  return () => found;
}
