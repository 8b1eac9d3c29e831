import { Context } from '@temporalio/activity';
import { queries } from '../contract/requests';
import type { AskThread } from './transcript-cache';

const deadlineMs = 5_000;
const tries = 3;

/** Threads that are being asked right now: the server keeps a single query waiting while a workflow task is open, and refuses a second. */
const asking = new Map<string, Promise<unknown>>();

/** Asks the execution that scheduled this activity, and no later one of the same thread. */
export function askThread(threadId: string, execution: string): AskThread {
  const { client } = Context.current();
  const handle = client.workflow.getHandle(threadId, execution);
  const ask: AskThread = async (request) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await client.connection.withDeadline(Date.now() + deadlineMs, () => handle.query(queries.transcript, request));
      } catch (error) {
        if (attempt === tries) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80 * attempt));
      }
    }
  };
  return async (request) => {
    while (asking.has(threadId)) await asking.get(threadId)?.catch(() => undefined);
    const asked = ask(request);
    asking.set(threadId, asked);
    try {
      return await asked;
    } finally {
      asking.delete(threadId);
    }
  };
}
