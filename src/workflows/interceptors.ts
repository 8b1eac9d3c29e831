import type { WorkflowInterceptorsFactory, WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { replayFirst } from '../contract/replay-first';
import { accountForEvents, eventTeller } from './account-for-events';
import { boundedTasks } from './bounded-tasks';

/**
 * Drops all other commands from an activation that answers queries. If an earlier activation was interrupted (on a machine so busy that the
 * isolate's timeout passed), its commands are still present when a waiting query is answered, and the SDK's core shuts the worker down for
 * such a completion. The commands are useless: their task has failed, and the thread is about to be replayed.
 */
export const answersAlone: WorkflowInternalsInterceptor = {
  concludeActivation(input, next) {
    const { commands } = next(input);
    const answers = commands.filter(({ respondToQuery }) => respondToQuery);
    return { commands: answers.length > 0 ? answers : commands };
  },
};

/**
 * A query may reach a worker with a history that extends beyond the last workflow task: an activity has completed, and no worker has taken the
 * task for it yet. The SDK's core applies these events for the query, with the clock of the previous task. That state is ahead of history:
 * its events have times that no replay repeats, and if the task arrives together with a signal, a replay will see the two in another order.
 *
 * No query may read this state and no task may continue from it. So the next activation fails, core evicts the thread from its cache, and the
 * next worker replays it. Such an activation is recognized by its clock, because each workflow task has a time of its own. (If a server's clock
 * was set back, two tasks may have the same time. The thread then fails one task too many and goes on, because a replay is never failed.)
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
 * Makes each workflow task write at least one event of its own. If a task writes none, and an update begins the next task, a worker that must
 * replay the thread merges the two, if a query made it begin before the second was over. Its clock and the order of its commands then differ
 * from any later replay, and the thread diverges permanently. test/replay/update-after-empty-task.ts reproduces this without the engine. The event
 * is the marker of a deprecated patch, whose presence or absence never fails a replay, so threads that began before this code continue.
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

/** Whether the job comes from an event in the history, and so from each replay too. An update is in the history only once it is accepted. */
function isChange(job: Jobs[number]): boolean {
  return !job.queryWorkflow && !job.doUpdate && !job.notifyHasPatch && !job.updateRandomSeed && !job.removeFromCache;
}

export const interceptors: WorkflowInterceptorsFactory = () => {
  const { internals, outbound } = boundedTasks();
  return { internals: [answersAlone, neverAhead(), accountForEvents(), markedTasks(), ...internals], outbound };
};
