import type { Sinks } from '@temporalio/workflow';

/** Which steps of a run a cancel is meant for: those of its model calls, or all. */
export type StoppedSteps = 'model-calls' | 'all';

/** What workflow code tells the process that it runs in. Nothing of it is in the history. */
export interface ThreadSinks extends Sinks {
  longhaul: {
    /** Steps of a run were cancelled. Those that run in this process need not wait to hear it from the server. */
    stopSteps(runId: string, which: StoppedSteps): void;
  };
}
