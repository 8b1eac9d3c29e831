import type { Client, QueryDefinition } from '@temporalio/client';
import { type Answerable, persistForWorker } from './persist';
import { passesByItself } from './thread-errors';

interface Asked<T, Args extends unknown[]> extends Omit<Answerable, 'passes'> {
  threadId: string;
  /** Temporal's run id; the newest execution where it is not given. */
  execution?: string;
  query: QueryDefinition<T, Args>;
  args: Args;
  /** What it is for, for the error. */
  what: string;
}

/**
 * Asks a thread's workflow, in several tries: the server keeps only one query waiting, and a worker that puts a thread away just then
 * loses the one it was given, which nobody would ever answer.
 */
export function askWorkflow<T, Args extends unknown[]>(client: Client, asked: Asked<T, Args>): Promise<T> {
  const { threadId, execution, query, args, what, ...patience } = asked;
  const handle = client.workflow.getHandle(threadId, execution);
  return persistForWorker(client.connection, what, () => handle.query(query, ...args), { ...patience, passes: passesByItself });
}
