import type { Client, QueryDefinition } from '@temporalio/client';
import { type Answerable, persistForWorker } from './persist';
import { passesByItself } from './thread-errors';

interface Asked<T, Args extends unknown[]> extends Omit<Answerable, 'passes'> {
  threadId: string;
  /** Temporal's run id of the execution to query. Default: the newest execution. */
  execution?: string;
  query: QueryDefinition<T, Args>;
  args: Args;
  /** The purpose of the query, for error messages. */
  what: string;
}

/**
 * Queries a thread's workflow, in several tries: the server keeps only one query waiting, and a worker that evicts the thread from its cache at that
 * moment loses the query, which is then never answered.
 */
export function askWorkflow<T, Args extends unknown[]>(client: Client, asked: Asked<T, Args>): Promise<T> {
  const { threadId, execution, query, args, what, ...patience } = asked;
  const handle = client.workflow.getHandle(threadId, execution);
  return persistForWorker(client.connection, what, () => handle.query(query, ...args), { ...patience, passes: passesByItself });
}
