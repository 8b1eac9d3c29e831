import { CancellationScope, sleep, type WorkflowInterceptors } from '@temporalio/workflow';
import { bytesOf } from '../core/context/carry';
import { weightOf } from './growth';

/**
 * The arguments of the activities and workflows that one workflow task starts, and the updates that it accepts, as JSON. A worker sends all commands of a task in one gRPC message, which
 * has at most 4 MB. A larger one is refused, and the task fails again and again. Codecs and the rest of each command need the remaining space.
 */
const taskBytes = 2_500_000;

/** Values up to this estimate are not measured exactly, but counted as if each character took the six bytes of an escaped one. */
const estimatedBytes = 30_000;

/** What the task under way has used. Each workflow has modules of its own. */
let used = 0;

const fits = (bytes: number) => used === 0 || used + bytes <= taskBytes;

/** Whether an update with this payload can be accepted in this task: the acceptance repeats the payload. */
export function fitsTask(payload: unknown): boolean {
  return fits(sizeOf([payload]));
}

/** Counts an accepted update. Not called by its validator, which does not run in a replay. */
export function useTask(payload: unknown): void {
  used += sizeOf([payload]);
}

/** Spreads activities and workflows whose arguments are large over several workflow tasks: a short timer ends a task that is full. */
export function boundedTasks(): Required<Pick<WorkflowInterceptors, 'internals' | 'outbound'>> {
  let nextTask: Promise<void> | undefined;

  const begin = <T>(bytes: number, start: () => Promise<T>) => {
    used += bytes;
    return start();
  };
  const later = async <T>(bytes: number, start: () => Promise<T>): Promise<T> => {
    do {
      nextTask ??= CancellationScope.nonCancellable(() => sleep(1)).finally(() => {
        nextTask = undefined;
      });
      await nextTask;
    } while (!fits(bytes));
    return begin(bytes, start);
  };
  // Not an async function: its promise would resolve later, and recorded histories would not replay.
  const inTurn = <T>(args: readonly unknown[], start: () => Promise<T>): Promise<T> => {
    const bytes = sizeOf(args);
    return fits(bytes) && !nextTask ? begin(bytes, start) : later(bytes, start);
  };

  return {
    internals: [
      {
        activate(input, next) {
          // The jobs of a task come in up to four batches.
          if (input.batchIndex === 0) used = 0;
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => inTurn(input.args, () => next(input)),
        startChildWorkflowExecution: (input, next) => inTurn(input.options.args ?? [], () => next(input)),
      },
    ],
  };
}

function sizeOf(args: readonly unknown[]): number {
  const estimate = weightOf(args);
  return estimate > estimatedBytes ? bytesOf(args) : estimate * 6;
}
