import { Context } from '@temporalio/activity';
import type { QueryDefinition } from '@temporalio/common';
import { queries } from '../../contract/requests';
import type { DurableEvent } from '../../core/event';
import type { AskThread } from './transcript-cache';

const deadlineMs = 5_000;
const tries = 3;

/** Queries in progress, by thread. While a workflow task is open, the server buffers only one query of a workflow and rejects others. */
const asking = new Map<string, Promise<unknown>>();

/** Queries one execution of a thread, and no later one. Runs one query per thread at a time, with up to three tries. */
export async function query<T, Args extends unknown[]>(
  threadId: string,
  execution: string,
  definition: QueryDefinition<T, Args>,
  ...args: Args
): Promise<T> {
  const { client } = Context.current();
  const handle = client.workflow.getHandle(threadId, execution);
  const ask = async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await client.connection.withDeadline(Date.now() + deadlineMs, () => handle.query(definition, ...args));
      } catch (error) {
        if (attempt === tries) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80 * attempt));
      }
    }
  };
  while (asking.has(threadId)) await asking.get(threadId)?.catch(() => undefined);
  const asked = ask();
  asking.set(threadId, asked);
  try {
    return await asked;
  } finally {
    asking.delete(threadId);
  }
}

/** Returns a function that queries the transcript from the execution that scheduled this activity. */
export function askThread(threadId: string, execution: string): AskThread {
  return (request) => query(threadId, execution, queries.transcript, request);
}

/**
 * Returns the events with `seq` from `from` to `to`, oldest first, from the execution that scheduled this activity and, if needed, from earlier
 * ones. Rejects if one of them can't be queried.
 */
export async function eventsOf(threadId: string, execution: string, from: number, to: number): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  let next = from;
  while (next <= to) {
    const page = await query(threadId, execution, queries.events, { from: next, limit: to - next + 1 });
    if (page.earlier) {
      const { execution: before, before: bound } = page.earlier;
      events.push(...(await eventsOf(threadId, before, next, Math.min(to, bound - 1))));
      next = Math.max(next, bound);
      continue;
    }
    events.push(...page.events.filter(({ seq }) => seq <= to));
    if (!page.more || page.next <= next) break;
    next = page.next;
  }
  return events;
}
