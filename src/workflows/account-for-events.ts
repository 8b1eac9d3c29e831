import type { WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { replayFirst } from '../contract/replay-first';

type Activation = Parameters<NonNullable<WorkflowInternalsInterceptor['activate']>>[0]['activation'];
type Job = NonNullable<Activation['jobs']>[number];
type Command = Parameters<NonNullable<WorkflowInternalsInterceptor['concludeActivation']>>[0]['commands'][number];
type Resolution = NonNullable<NonNullable<Job['resolveActivity']>['result']>;

/** At least and at most. */
type Range = readonly [number, number];

/** `WorkflowTaskCompleted`, and then `WorkflowTaskScheduled` and `WorkflowTaskStarted` of the next task. */
const betweenTasks = 3;

/** Events that a job tells of. Where history may hold more than one form of it, a range. */
function eventsOfJob({ resolveActivity, fireTimer, signalWorkflow, cancelWorkflow }: Job): Range {
  if (fireTimer || signalWorkflow || cancelWorkflow) return [1, 1];
  return resolveActivity ? eventsOfResult(resolveActivity.result) : [0, 0];
}

/** `ActivityTaskStarted` is written with the result. A step that was cancelled or timed out may never have started. */
function eventsOfResult(result: Resolution | null | undefined): Range {
  const mayNotHaveStarted = result?.cancelled || result?.failed?.failure?.cause?.timeoutFailureInfo;
  return mayNotHaveStarted ? [1, 2] : [2, 2];
}

/** What a step or a timer is known by in the commands that begin and cancel it. */
function nameOf({ scheduleActivity, startTimer, requestCancelActivity, cancelTimer }: Command): string | undefined {
  const step = scheduleActivity ?? requestCancelActivity;
  const timer = startTimer ?? cancelTimer;
  return step ? `step ${step.seq}` : timer ? `timer ${timer.seq}` : undefined;
}

/**
 * Tells of a run's commands, in their order, whether they leave an event. A refused update leaves none. Once it is accepted, a refusal is its
 * outcome, which does.
 */
export function eventTeller(): (command: Command) => boolean {
  const accepted = new Set<string>();
  return ({ updateResponse }) => {
    const id = updateResponse?.protocolInstanceId ?? '';
    if (updateResponse?.accepted) accepted.add(id);
    return updateResponse?.rejected ? accepted.delete(id) : true;
  };
}

/** Events that a task's commands leave in history, of those that leave any. */
function eventsOfCommands(commands: readonly Command[]): Range {
  const begun = new Set<string>();
  let least = 0;
  let most = 0;
  for (const command of commands) {
    const name = nameOf(command);
    const begins = command.scheduleActivity || command.startTimer;
    // What one task begins and cancels leaves nothing.
    const change = name && !begins && begun.delete(name) ? -1 : 1;
    if (name && begins) begun.add(name);
    least += change;
    // With a patch's marker goes the search attribute `TemporalChangeVersion`, the first time.
    most += command.setPatchMarker ? 2 : change;
  }
  return [least, most];
}

interface Task {
  /** Events of history up to its start. */
  length: number;
  /** When it began; a task that only refused updates after it moves this on. */
  at: string;
  isReplaying: boolean;
  /** Those that leave events. */
  commands: Command[];
  /** Tasks after it that refused updates and did nothing else. The server keeps no events of such a task, or all three. */
  refusals: number;
}

/**
 * Fails a task whose history has grown by other events than the task before left and the jobs of this one tell of. The next worker then
 * replays the thread from its beginning.
 *
 * A query that has waited in the server's queue may reach a worker with a history that ends in a workflow task which another worker has
 * begun and will lose. The SDK's core takes that task for done. When the task comes again, with more events beside, it goes on from there: it
 * splits the jobs otherwise than any replay, and the thread diverges for good. The events between two tasks tell: `WorkflowTaskTimedOut`
 * stands where `WorkflowTaskCompleted` and the events of our commands would be. Where the task comes again with nothing beside, core has no
 * jobs for us, and what was recorded keeps the time of the lost task. Then the next query tells: core's clock has moved on without us.
 * A replay is never failed by this, so a thread goes on even where an event is counted wrongly: it costs one replay.
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
