import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { Activities } from '../contract/activities';

export interface Closed {
  status: WorkflowExecutionDescription['status']['name'];
  at: Date;
}

/** What the server tells of a thread without asking its worker. */
export interface Seen {
  /** Temporal's run id of the execution that has the newest of the log; empty where nothing was ever recorded. */
  execution: string;
  /** Completed workflow tasks, over all executions that were followed. Only they can have recorded events. */
  tasks: number;
  /** A workflow task waits for a worker, or is with one. `since`: when this was noticed, in milliseconds since 1970. */
  task?: { state: 'scheduled' | 'started'; since: number; failure?: string };
  /**
   * An activity is under way or about to be. `since`: when the newest was scheduled; 0 for one from before the watching.
   * `preparing`: nothing but the facts about the agent are being fetched, which precedes a run's first step.
   */
  working?: { since: number; preparing?: true };
  closed?: Closed;
}

type Page = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>;
type HistoryEvent = NonNullable<NonNullable<Page['history']>['events']>[number];

const preparing: keyof Activities = 'resolveAgent';

/** What the history of a chain of executions says about its log: that it may have grown, and what the thread is doing. */
export class HistoryView {
  /** Temporal's run id of the execution that is being read. */
  execution = '';
  /** The execution before that, if it continues one. */
  before: string | undefined;
  /** The execution that continues this one. */
  continuedAs: string | undefined;
  /** This execution's last event was read. */
  isOver = false;
  /** Something was read. */
  begun = false;
  /** A workflow task of this execution was completed. */
  worked = false;
  #grown = 0;
  #last = 0;
  /** By the event that scheduled them, their names. */
  readonly #activities = new Map<string, string>();
  #began = 0;
  #task: Seen['task'];
  #startedAt: number | undefined;
  /** When the completed workflow tasks of this execution began: the times of the events that they recorded. Milliseconds since 1970. */
  readonly recordedAt = new Set<number>();
  /** What the execution's log begins with may have been recorded by the one before, on its way out. Milliseconds since 1970. */
  startedAt = Number.POSITIVE_INFINITY;

  /** `known`: of the first execution so many events were known before, and what they have recorded is in the log. */
  constructor(private known: number) {}

  begin(execution: string): void {
    if (this.begun) this.known = 0;
    Object.assign(this, { execution, before: undefined, continuedAs: undefined, isOver: false, worked: false });
    this.#last = 0;
    this.#activities.clear();
    this.#task = undefined;
    this.recordedAt.clear();
    this.startedAt = Number.POSITIVE_INFINITY;
  }

  /** Returns whether there is something to tell. */
  take(events: readonly HistoryEvent[]): boolean {
    for (const event of events) this.#take(event);
    if (events.length > 0) this.begun = true;
    return this.isOver || (events.length > 0 && this.#last > this.known);
  }

  seen(tasks: number): Seen {
    const grown = this.#grown;
    this.#grown = 0;
    return {
      execution: this.execution,
      tasks: tasks + grown,
      ...(this.#task && { task: this.#task }),
      ...(this.#activities.size > 0 && {
        working: { since: this.#began, ...([...this.#activities.values()].every((name) => name === preparing) && { preparing: true }) },
      }),
    };
  }

  #take(event: HistoryEvent): void {
    const id = Number(event.eventId ?? 0);
    if (id <= this.#last) return;
    this.#last = id;
    if (event.workflowExecutionStartedEventAttributes) this.startedAt = timeOf(event);
    this.#takeActivity(event);
    if (this.#takeTask(event) && id > this.known) this.#grown += 1;
    this.before ??= event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
    this.continuedAs ??= event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId || undefined;
    this.isOver ||= Boolean(
      event.workflowExecutionCompletedEventAttributes ??
        event.workflowExecutionFailedEventAttributes ??
        event.workflowExecutionCanceledEventAttributes ??
        event.workflowExecutionTerminatedEventAttributes ??
        event.workflowExecutionTimedOutEventAttributes,
    );
  }

  /** Returns whether a task was completed. */
  #takeTask(event: HistoryEvent): boolean {
    const failed = event.workflowTaskFailedEventAttributes;
    const { since } = this.#task ?? { since: Date.now() };
    if (event.workflowTaskScheduledEventAttributes) this.#task = { ...this.#task, state: 'scheduled', since };
    else if (event.workflowTaskStartedEventAttributes) {
      this.#task = { ...this.#task, state: 'started', since };
      this.#startedAt = timeOf(event);
    } else if (failed || event.workflowTaskTimedOutEventAttributes) {
      // The next attempts stand in the history once one of them has succeeded.
      this.#task = { state: 'scheduled', since, ...(failed?.failure?.message && { failure: failed.failure.message }) };
    } else if (event.workflowTaskCompletedEventAttributes) {
      this.#task = undefined;
      this.worked = true;
      if (this.#startedAt !== undefined) this.recordedAt.add(this.#startedAt);
      return true;
    }
    return false;
  }

  #takeActivity(event: HistoryEvent): void {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      this.#activities.set(String(event.eventId), scheduled.activityType?.name ?? '');
      this.#began = this.#last > this.known ? Date.now() : 0;
    }
    const ended =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes;
    if (ended) this.#activities.delete(String(ended.scheduledEventId));
  }
}

/** As workflow code sees it: without the part below a millisecond. */
function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + Math.floor(Number(eventTime?.nanos ?? 0) / 1_000_000);
}
