import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { ProtoFailure } from '@temporalio/common';
import type { Activities } from '../contract/activities';

export interface Closed {
  status: WorkflowExecutionDescription['status']['name'];
  at: Date;
}

/** What the server knows about a thread, without its worker. */
export interface Seen {
  /** Temporal's run id of the execution with the newest part of the log; empty if nothing was ever recorded. */
  execution: string;
  /** The number of completed workflow tasks, over all executions that were followed. Only completed tasks record events. */
  tasks: number;
  /** The workflow task that waits for a worker or runs on one. `since`: when this was noticed, in milliseconds since 1970. */
  task?: { state: 'scheduled' | 'started'; since: number; failure?: ProtoFailure };
  /**
   * An activity is scheduled or running. `since`: when the newest was scheduled; 0 if that was before the watch began.
   * `preparing`: the only activity fetches the facts about the agent, which precedes a run's first step.
   */
  working?: { since: number; preparing?: true };
  closed?: Closed;
}

type Page = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>;
type HistoryEvent = NonNullable<NonNullable<Page['history']>['events']>[number];

const preparing: keyof Activities = 'resolveAgent';

/** Derives from the history of a chain of executions whether the log may have grown, and what the thread is doing. */
export class HistoryView {
  /** Temporal's run id of the execution that is being read. */
  execution = '';
  /** The execution before that, if it continues one. */
  before: string | undefined;
  /** The execution that continues this one. */
  continuedAs: string | undefined;
  /** The last event of this execution was read. */
  isOver = false;
  /** Something was read. */
  begun = false;
  /** A workflow task of this execution was completed. */
  worked = false;
  #grown = 0;
  #last = 0;
  /** Names of activities, by the id of the event that scheduled them. */
  readonly #activities = new Map<string, string>();
  #began = 0;
  #task: Seen['task'];
  #startedAt: number | undefined;
  /**
   * Key: when a completed workflow task of this execution began, in milliseconds since 1970, which is the time of the events that it recorded.
   * Value: when this was learned, by `performance.now()`, or 0 if it was known before.
   */
  readonly #recordedAt = new Map<number, number>();
  /** When the execution began, in milliseconds since 1970. Its first log events may have been recorded by the previous execution before it ended. */
  startedAt = Number.POSITIVE_INFINITY;

  /** `known`: how many events of the first execution were already known; everything that they recorded is in the log. */
  constructor(private known: number) {}

  begin(execution: string): void {
    if (this.begun) this.known = 0;
    Object.assign(this, { execution, before: undefined, continuedAs: undefined, isOver: false, worked: false });
    this.#last = 0;
    this.#activities.clear();
    this.#task = undefined;
    this.#recordedAt.clear();
    this.startedAt = Number.POSITIVE_INFINITY;
  }

  /** Whether it was known at `moment` (by `performance.now()`) that the events of time `at` were recorded. */
  wasRecorded(at: number, moment: number): boolean {
    return at <= this.startedAt || (this.#recordedAt.get(at) ?? Number.POSITIVE_INFINITY) <= moment;
  }

  /** Returns whether something changed that readers need to know. */
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

  /** Returns whether a workflow task was completed. */
  #takeTask(event: HistoryEvent): boolean {
    const failed = event.workflowTaskFailedEventAttributes;
    const { since } = this.#task ?? { since: Date.now() };
    if (event.workflowTaskScheduledEventAttributes) this.#task = { ...this.#task, state: 'scheduled', since };
    else if (event.workflowTaskStartedEventAttributes) {
      this.#task = { ...this.#task, state: 'started', since };
      this.#startedAt = timeOf(event);
    } else if (failed || event.workflowTaskTimedOutEventAttributes) {
      // The next attempts are in the history only after one of them has succeeded.
      this.#task = { state: 'scheduled', since, ...(failed?.failure && { failure: failed.failure }) };
    } else if (event.workflowTaskCompletedEventAttributes) {
      this.#task = undefined;
      this.worked = true;
      if (this.#startedAt !== undefined) this.#recordedAt.set(this.#startedAt, this.#last > this.known ? performance.now() : 0);
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

/** The event's time as workflow code sees it, truncated to milliseconds. */
function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + Math.floor(Number(eventTime?.nanos ?? 0) / 1_000_000);
}
