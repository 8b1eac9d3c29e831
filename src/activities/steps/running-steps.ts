import type { StoppedSteps } from '../../contract/sinks';

/** A step that runs in this process. */
export interface RunningStep {
  runId: string;
  isModelCall: boolean;
  /** Called when the workflow cancelled the step. The server may not know of it yet, and never will if the workflow task is lost. */
  stop(): void;
}

/** Running steps by the execution that scheduled them. Process-wide: the worker that runs a step need not be the one that holds its thread. */
const running = new Map<string, Set<RunningStep>>();

/** Registers a running step. Returns a function that removes it. */
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

/** The sinks of every worker that runs threads and of every replayer. A missing sink would be reported as an error. */
export const threadSinks = {
  longhaul: {
    stopSteps: { fn: ({ runId }: { runId: string }, run: string, which: StoppedSteps) => stopSteps(runId, run, which) },
  },
};
