import type { WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { replayFirst } from '../contract/replay-first';

type Activation = Parameters<NonNullable<WorkflowInternalsInterceptor['activate']>>[0]['activation'];
type Job = NonNullable<Activation['jobs']>[number];
type Command = Parameters<NonNullable<WorkflowInternalsInterceptor['concludeActivation']>>[0]['commands'][number];
type Resolution = NonNullable<NonNullable<Job['resolveActivity']>['result']>;

/** Lowest and highest possible number of events. */
type Range = readonly [number, number];

/** `WorkflowTaskCompleted`, and then `WorkflowTaskScheduled` and `WorkflowTaskStarted` of the next task. */
const betweenTasks = 3;

/** Events in history that a job stands for: a range, if history may contain the job's cause in more than one form. */
function eventsOfJob(job: Job): Range {
  const { resolveActivity, fireTimer, signalWorkflow, cancelWorkflow } = job;
  const ofChild = job.resolveChildWorkflowExecutionStart ?? job.resolveChildWorkflowExecution ?? job.resolveRequestCancelExternalWorkflow;
  if (fireTimer || signalWorkflow || cancelWorkflow || ofChild) return [1, 1];
  return resolveActivity ? eventsOfResult(resolveActivity.result) : [0, 0];
}

/** `ActivityTaskStarted` is written together with the result. A step that was cancelled or timed out may never have started. */
function eventsOfResult(result: Resolution | null | undefined): Range {
  const mayNotHaveStarted = result?.cancelled || result?.failed?.failure?.cause?.timeoutFailureInfo;
  return mayNotHaveStarted ? [1, 2] : [2, 2];
}

/** The name of a step or a timer, the same for the commands that begin and cancel it. */
function nameOf({ scheduleActivity, startTimer, requestCancelActivity, cancelTimer }: Command): string | undefined {
  const step = scheduleActivity ?? requestCancelActivity;
  const timer = startTimer ?? cancelTimer;
  return step ? `step ${step.seq}` : timer ? `timer ${timer.seq}` : undefined;
}

/**
 * Returns a predicate that says whether a command writes an event to history. Call it with each command, in order. The rejection of an update
 * writes none, unless the update was accepted before: then the rejection is the update's outcome, which is an event.
 */
export function eventTeller(): (command: Command) => boolean {
  const accepted = new Set<string>();
  return ({ updateResponse }) => {
    const id = updateResponse?.protocolInstanceId ?? '';
    if (updateResponse?.accepted) accepted.add(id);
    return updateResponse?.rejected ? accepted.delete(id) : true;
  };
}

/** Number of events that a task's commands write to history. `commands` contains only those that write any. */
function eventsOfCommands(commands: readonly Command[]): Range {
  const begun = new Set<string>();
  let least = 0;
  let most = 0;
  for (const command of commands) {
    const name = nameOf(command);
    const begins = command.scheduleActivity || command.startTimer;
    // A step or timer that is begun and cancelled in the same task writes nothing.
    const change = name && !begins && begun.delete(name) ? -1 : 1;
    if (name && begins) begun.add(name);
    least += change;
    // The first marker of a patch is accompanied by an upsert of the search attribute `TemporalChangeVersion`.
    most += command.setPatchMarker ? 2 : change;
  }
  return [least, most];
}

interface Task {
  /** Number of events in history up to the task's start. */
  length: number;
  /** The task's clock. A later task that only rejected updates replaces it with its own. */
  at: string;
  isReplaying: boolean;
  /** The commands that write events. */
  commands: Command[];
  /** Number of tasks after it that only rejected updates. The server keeps either no events of such a task or all three. */
  refusals: number;
}

/**
 * Fails a task if the history has not grown by the events that the previous task's commands and this task's jobs account for. The next worker
 * then replays the thread from its beginning.
 *
 * A query that has waited in the server's queue may reach a worker with a history that ends in a workflow task which another worker has
 * started and will lose. The SDK's core treats that task as completed. When the task is dispatched again with further events, core continues
 * from there: it splits the jobs differently from any replay, and the thread diverges permanently. The number of events between the two tasks
 * shows this: `WorkflowTaskTimedOut` is in the place of `WorkflowTaskCompleted` and the events of our commands. If the task is dispatched again
 * with nothing new, core has no jobs for the workflow, and the recorded events keep the time of the lost task. The next query shows that:
 * core's clock has advanced without an activation. A replay is never failed, so a wrongly counted event costs one replay and the thread goes on.
 */
export function accountForEvents(): WorkflowInternalsInterceptor {
  const leavesEvent = eventTeller();
  let before: Task | undefined;
  let activation: Activation | undefined;
  let jobs: Job[] = [];
  return {
    activate(input, next) {
      // The jobs of an activation come in up to four batches.
      if (input.batchIndex === 0) jobs = [];
      activation = input.activation;
      jobs.push(...(input.activation.jobs ?? []));
      if (jobs.some(isQuery) && before && !before.isReplaying && before.at !== timeOf(activation)) throw new Error(replayFirst);
      return next(input);
    },
    concludeActivation(input, next) {
      const { commands } = next(input);
      if (!activation || jobs.some(isQuery)) return { commands };
      const { historyLength, isReplaying } = activation;
      const telling = commands.filter(leavesEvent);
      const task = { length: historyLength ?? 0, at: timeOf(activation), isReplaying: isReplaying === true };
      if (before && before.length === task.length) {
        before.commands.push(...telling);
        return { commands };
      }
      if (before && !before.isReplaying && before.at !== task.at) check(before, task.length, jobs);
      if (before && telling.length === 0 && jobs.every(({ doUpdate }) => doUpdate)) {
        before.refusals++;
        before.at = task.at;
      } else before = { ...task, commands: telling, refusals: 0 };
      return { commands };
    },
  };
}

function isQuery({ queryWorkflow }: Job): boolean {
  return Boolean(queryWorkflow);
}

function timeOf({ timestamp }: Activation): string {
  return `${timestamp?.seconds}.${timestamp?.nanos}`;
}

function check(before: Task, length: number, jobs: readonly Job[]): void {
  const ranges = [eventsOfCommands(before.commands), ...jobs.map(eventsOfJob)];
  const least = ranges.reduce((sum, [low]) => sum + low, betweenTasks);
  const most = ranges.reduce((sum, [, high]) => sum + high, betweenTasks * (1 + before.refusals));
  const grown = length - before.length;
  if (grown < least || grown > most) throw new Error(replayFirst);
}
