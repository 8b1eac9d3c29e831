import type { Client } from '@temporalio/client';
import { queries } from '../contract/requests';
import type { EventsPage } from '../contract/thread';
import type { DurableEvent } from '../core/event';
import { mustLead } from './checked-answers';
import { grpc, grpcCode } from './errors';
import { persist } from './persist';
import { askWorkflow } from './query';
import { explain } from './thread-errors';

/** How long a reader waits for a worker, in milliseconds during which the server is available. */
export const noWorkerMs = 30_000;

export interface Skipped {
  events: DurableEvent[];
  next: number;
  skipped: true;
}

/** Reads one page of an execution's log. */
export type AskPage = (execution: string, from: number) => Promise<EventsPage>;

/** Yields every page from a seq on, oldest execution of the thread first. */
export async function* pagesFrom(
  ask: AskPage,
  from: number,
  execution: string,
  later: readonly string[] = [],
): AsyncGenerator<EventsPage | Skipped> {
  let next = from;
  for (;;) {
    const page = await ask(execution, next);
    if (page.earlier) {
      // The beginning is in earlier executions, which still answer under their own ids.
      const { execution: before, before: bound } = page.earlier;
      const known = [...later, execution];
      if (known.includes(before)) throw new Error(`execution ${before} names itself, or a later one, as the one before it`);
      try {
        for await (const older of pagesFrom(ask, next, before, known)) {
          yield older;
          next = older.next;
        }
      } catch (error) {
        // It closed before the namespace's retention period: the thread continues without that part of its log.
        if (!isGone(error)) throw error;
        yield { events: [], next: bound, skipped: true };
      }
      next = Math.max(next, bound);
      continue;
    }
    yield page;
    next = page.next;
    if (!page.more) return;
  }
}

export function askPage(client: Client, threadId: string, awayMs: number | undefined): AskPage {
  return async (execution, from) => {
    const page = await askWorkflow(client, {
      threadId,
      execution,
      query: queries.events,
      args: [{ from }],
      what: 'reading events',
      patienceMs: noWorkerMs,
      awayMs,
    });
    mustLead(threadId, 'events', page, from);
    return page;
  };
}

/** Reads all durable events, oldest first. `missing`: the server has deleted the oldest ones. */
export async function readLog(client: Client, threadId: string, awayMs?: number): Promise<{ events: DurableEvent[]; missing: boolean }> {
  try {
    const events: DurableEvent[] = [];
    let missing = false;
    const describe = () => client.workflow.getHandle(threadId).describe();
    const { runId } = await persist(client.connection, 'reading events', describe, { awayMs });
    for await (const page of pagesFrom(askPage(client, threadId, awayMs), 1, runId)) {
      events.push(...page.events);
      missing ||= 'skipped' in page;
    }
    return { events, missing };
  } catch (error) {
    throw explain(threadId, 'reading events', error);
  }
}

function isGone(error: unknown): boolean {
  return (error as Error).name === 'WorkflowNotFoundError' || grpcCode(error) === grpc.notFound;
}
