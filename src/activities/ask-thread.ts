import { Context } from '@temporalio/activity';
import type { QueryDefinition } from '@temporalio/common';
import { queries } from '../contract/requests';
import type { DurableEvent } from '../core/event';
import type { AskThread } from './transcript-cache';

const deadlineMs = 5_000;
const tries = 3;

/** Threads that are being asked right now: the server keeps a single query waiting while a workflow task is open, and refuses a second. */
const asking = new Map<string, Promise<unknown>>();

/** Asks one execution of a thread, and no later one: one query of the thread at a time, in several tries. */
async function query<T, Args extends unknown[]>(
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

/** Asks the execution that scheduled this activity for the transcript. */
export function askThread(threadId: string, execution: string): AskThread {
  return (request) => query(threadId, execution, queries.transcript, request);
}

/**
 * The events with the numbers `from` to `to`, oldest first: of the execution that scheduled this activity, and of those before it where
 * the log began earlier. Rejects where one of them can't be asked.
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
