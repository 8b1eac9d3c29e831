import type { Sinks } from '@temporalio/workflow';

/** Which steps of a run a cancel applies to: its model calls, or all. */
export type StoppedSteps = 'model-calls' | 'all';

/** Calls from workflow code to its process. They are not in the history. */
export interface ThreadSinks extends Sinks {
  longhaul: {
    /** Stops cancelled steps of a run that run in this process, without waiting for the server. */
    stopSteps(runId: string, which: StoppedSteps): void;
  };
}
