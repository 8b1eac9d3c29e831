import type { WorkflowUpdateFailedError } from '@temporalio/client';
import type { Thread } from '../../src/client';
import type { Receipt, RequestName } from '../../src/contract/requests';
import type { AgentEvent, DurableEvent } from '../../src/core/event';
import type { MessageReceipt } from '../../src/core/state';
import { until } from '../support/rig';
import { thrownBy } from './scenes';

/** Asks a thread as any Temporal client would: an update of this name, with plain JSON. */
export function ask(thread: Thread, name: RequestName, payload?: unknown): Promise<Receipt> {
  return handleOf(thread).executeUpdate<Receipt, [unknown]>(name, { args: [payload] });
}

/** The words with which a request is refused. */
export async function refusal(asked: Promise<unknown>): Promise<string> {
  const error = (await thrownBy(asked)) as WorkflowUpdateFailedError;
  return error.cause?.message ?? error.message;
}

export function handleOf(thread: Thread) {
  return thread.client.temporal.workflow.getHandle(thread.id);
}

export function receiptOf(thread: Thread, id: string): Promise<MessageReceipt | null> {
  return handleOf(thread).query('receipt', { id });
}

/** The log as it is now, of a thread that may not be over. */
export async function logOf(thread: Thread): Promise<DurableEvent[]> {
  const all: DurableEvent[] = [];
  for (let from = 1; ; ) {
    const page = await handleOf(thread).query<{ events: DurableEvent[]; next: number; more: boolean }, [unknown]>('events', { from });
    all.push(...page.events);
    if (!page.more) return all;
    from = page.next;
  }
}

/** Waits until an event of this type is in the log, `count` times. */
export async function happened(thread: Thread, type: AgentEvent['type'], count = 1): Promise<DurableEvent[]> {
  return until(
    () => logOf(thread),
    (log) => log.filter((event) => event.type === type).length >= count,
  );
}

/** Waits until the thread has this status; of one that waits for people, until it waits for so many. */
export async function reaches(thread: Thread, wanted: string, pending?: number) {
  return until(
    () => thread.status(),
    (status) => status.status === wanted && (pending === undefined || status.pending.length === pending),
  );
}

/**
 * Waits until the thread does nothing by itself: no workflow task and no activity of it is open. From then on only a request or a timer moves it,
 * so what has not happened by then does not happen, however slow the machine is.
 */
export async function standsStill(thread: Thread): Promise<void> {
  await until(
    async () => {
      const { raw } = await handleOf(thread).describe();
      return { task: raw.pendingWorkflowTask ?? null, activities: raw.pendingActivities?.length ?? 0 };
    },
    ({ task, activities }) => task === null && activities === 0,
  );
}

/** The executions of a thread, newest first. */
export async function executionsOf(thread: Thread): Promise<string[]> {
  const { workflow } = thread.client.temporal;
  const ids: string[] = [];
  let runId: string | undefined = (await handleOf(thread).describe()).runId;
  while (runId) {
    ids.push(runId);
    const { events } = await workflow.getHandle(thread.id, runId).fetchHistory();
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
  return ids;
}

/**
 * Sends so many invalid requests that the thread continues as new; it still waits for the same, in the same state. The thread's worker must have a
 * threshold of at most 200 events.
 */
export async function pester(thread: Thread): Promise<void> {
  const before = await thread.status();
  await flood(thread);
  const after = await thread.status();
  // Results that were recorded already are added to the transcript during continue-as-new.
  const moves = { seq: 0, remaining: 0, messages: 0 };
  expect({ ...after, ...moves }).toEqual({ ...before, ...moves });
}

/** As `pester`, for a thread whose transcript is shortened by it. */
export async function flood(thread: Thread): Promise<void> {
  const executions = (await executionsOf(thread)).length;
  await Promise.all(Array.from({ length: 60 }, () => handleOf(thread).signal('approve', { toolCallId: 'no such call' })));
  await until(
    async () => (await executionsOf(thread)).length,
    (count) => count > executions,
  );
}
