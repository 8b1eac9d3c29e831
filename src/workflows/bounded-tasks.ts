import { CancellationScope, sleep, type WorkflowInterceptors } from '@temporalio/workflow';
import { bytesOf } from '../core/context/carry';
import { weightOf } from './growth';

/**
 * The arguments of the activities and workflows that one workflow task starts, as JSON. A worker sends all commands of a task in one gRPC message, which
 * has at most 4 MB. A larger one is refused, and the task fails again and again. Accepted updates (`updateBytes`) and the rest of each command need the
 * remaining space.
 */
const taskBytes = 2_200_000;

/** The updates that one workflow task accepts, as JSON: its completion repeats them. */
const updateBytes = 1_600_000;

/** Values up to this estimate are not measured exactly, but counted as if each character took the six bytes of an escaped one. */
const estimatedBytes = 30_000;

/** Spreads activities and workflows whose arguments are large over several workflow tasks: a short timer ends a task that is full. */
export function boundedTasks(): Required<Pick<WorkflowInterceptors, 'internals' | 'outbound'>> {
  // Not at the top of the module: workflows share their modules.
  let used = 0;
  let nextTask: Promise<void> | undefined;

  const fits = (bytes: number) => used === 0 || used + bytes <= taskBytes;
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

/** The updates that the current workflow task has accepted. */
export interface AcceptedUpdates {
  /** When the task began: each task has a time of its own. */
  at: number;
  bytes: number;
}

/** Whether the task can accept another update. */
export function fitsTask(accepted: AcceptedUpdates, payload: unknown): boolean {
  return accepted.at !== Date.now() || accepted.bytes + sizeOf([payload]) <= updateBytes;
}

/** Counts an accepted update. Called by its handler: a validator does not run in a replay. */
export function countUpdate(accepted: AcceptedUpdates, payload: unknown): void {
  const now = Date.now();
  if (accepted.at !== now) Object.assign(accepted, { at: now, bytes: 0 });
  accepted.bytes += sizeOf([payload]);
}
