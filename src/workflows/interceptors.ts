import type { WorkflowInterceptorsFactory, WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { replayFirst } from '../contract/replay-first';
import { accountForEvents, eventTeller } from './account-for-events';

/**
 * An activation that answers queries has no other commands. Where an earlier one was broken off in the middle (on a machine so busy that the
 * isolate's timeout passed), its commands are still there when a query that was waiting is answered, and the SDK's core ends the worker for
 * such a completion. They are of no use: the task they belong to has failed, and the thread is about to be replayed.
 */
export const answersAlone: WorkflowInternalsInterceptor = {
  concludeActivation(input, next) {
    const { commands } = next(input);
    const answers = commands.filter(({ respondToQuery }) => respondToQuery);
    return { commands: answers.length > 0 ? answers : commands };
  },
};

/**
 * A query may reach a worker with a history that goes on behind its last workflow task: an activity has completed, and nobody has taken the
 * task for it yet. The SDK's core applies these events for the query, with the clock of the task before. Such a state is ahead of history:
 * its events have times that no replay repeats, and when the task comes with a signal beside, a replay will see the two in another order.
 *
 * Nothing may be read of it and nothing may follow: the next activation fails, for which core puts the thread away, and whoever comes next
 * replays it. The events are told by the clock: each workflow task has its own. (A server whose clock was set back gives two tasks the same;
 * the thread then fails one task too many and goes on, because a replay is never taken for this.)
 */
export function neverAhead(): WorkflowInternalsInterceptor {
  let before: { length: number; at: string } | undefined;
  let isAhead = false;
  return {
    activate(input, next) {
      const { historyLength, timestamp, isReplaying, jobs } = input.activation;
      // The jobs of an activation come in up to four batches.
      if (input.batchIndex > 0) return next(input);
      if (isAhead) throw new Error(replayFirst);
      const now = { length: historyLength ?? 0, at: `${timestamp?.seconds}.${timestamp?.nanos}` };
      const answers = jobs?.some(({ queryWorkflow }) => queryWorkflow);
      if (!answers) {
        isAhead = before !== undefined && !isReplaying && now.length > before.length && now.at === before.at;
        before = now;
      }
      return next(input);
    },
  };
}

/**
 * No workflow task ends without an event of its own. Where one does, and an update begins the next, a worker that has to replay the thread
 * takes the two for one, if a query made it begin before the second was over: its clock and the order of its commands are then others than in any
 * later replay, and the thread diverges for good. test/replay/update-after-empty-task.ts shows it without this engine. The event is the marker of
 * a patch that is given up, which every worker may meet, or miss, in a replay: threads that began before this code go on.
 */
export function markedTasks(): WorkflowInternalsInterceptor {
  const leavesEvent = eventTeller();
  let changes = false;
  let marks = 0;
  return {
    activate(input, next) {
      // The jobs of a task come in up to four batches.
      if (input.batchIndex === 0) changes = false;
      changes ||= (input.activation.jobs ?? []).some(isChange);
      return next(input);
    },
    concludeActivation(input, next) {
      const { commands } = next(input);
      const isEmpty = commands.filter(leavesEvent).length === 0 && changes;
      changes = false;
      if (!isEmpty) return { commands };
      return { commands: [...commands, { setPatchMarker: { patchId: `longhaul-task-${++marks}`, deprecated: true } }] };
    },
  };
}

type Jobs = NonNullable<Parameters<NonNullable<WorkflowInternalsInterceptor['activate']>>[0]['activation']['jobs']>;

/** Whether it stands in the history, and so comes again in each replay. An update does once it is accepted, which is a command. */
function isChange(job: Jobs[number]): boolean {
  return !job.queryWorkflow && !job.doUpdate && !job.notifyHasPatch && !job.updateRandomSeed && !job.removeFromCache;
}

export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [answersAlone, neverAhead(), accountForEvents(), markedTasks()],
});
