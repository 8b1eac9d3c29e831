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

/**
 * The name of a global variable of the workflow sandbox. If it is true, a thread tells its process of each event that it records. `crashEverywhere`
 * sets it in front of the bundle, to stop the process at an event.
 */
export const tellEvents = '__longhaulTellEvents';

export interface EventSinks extends Sinks {
  longhaulEvents: { recorded(seq: number): void };
}
