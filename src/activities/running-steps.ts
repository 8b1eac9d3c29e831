import type { StoppedSteps } from '../contract/sinks';

/** A step that runs in this process. */
export interface RunningStep {
  runId: string;
  isModelCall: boolean;
  /** Its workflow cancelled it. The server may not know of it yet, and if the workflow task is lost, never will. */
  stop(): void;
}

/** By the execution that scheduled them. Of the whole process: the worker that runs a step need not be the one that holds its thread. */
const running = new Map<string, Set<RunningStep>>();

/** Returns how to take it off the list. */
export function listStep(execution: string, step: RunningStep): () => void {
  const steps = running.get(execution) ?? new Set();
  running.set(execution, steps.add(step));
  return () => {
    steps.delete(step);
    if (steps.size === 0) running.delete(execution);
  };
}

function stopSteps(execution: string, runId: string, which: StoppedSteps): void {
  for (const step of running.get(execution) ?? []) {
    if (step.runId === runId && (which === 'all' || step.isModelCall)) step.stop();
  }
}

/** For every worker that runs threads, and every replayer: a sink that is not there is reported as an error. */
export const threadSinks = {
  longhaul: {
    stopSteps: { fn: ({ runId }: { runId: string }, run: string, which: StoppedSteps) => stopSteps(runId, run, which) },
  },
};
