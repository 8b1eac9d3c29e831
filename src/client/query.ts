import type { Client, QueryDefinition } from '@temporalio/client';
import { grpc, grpcCode } from './errors';
import { persist } from './persist';
import { isNoWorker, noWorker } from './thread-errors';

interface Asked<T, Args extends unknown[]> {
  threadId: string;
  /** Temporal's run id; the newest execution where it is not given. */
  execution?: string;
  query: QueryDefinition<T, Args>;
  args: Args;
  /** What it is for, for the error. */
  what: string;
  /** How long a worker may be away. */
  patienceMs: number;
}

/** The first try; a worker that holds the thread answers in a few milliseconds, one that must replay it in some hundred. */
const firstDeadlineMs = 1_500;

/**
 * Asks a thread's workflow, in several tries: the server keeps only one query waiting, and a worker that puts a thread away just then
 * loses the one it was given, which nobody would ever answer.
 */
export async function askWorkflow<T, Args extends unknown[]>(client: Client, asked: Asked<T, Args>): Promise<T> {
  const { threadId, execution, query, args, what, patienceMs } = asked;
  const handle = client.workflow.getHandle(threadId, execution);
  const until = Date.now() + patienceMs;
  for (let deadlineMs = firstDeadlineMs; ; deadlineMs *= 2) {
    const leftMs = Math.max(until - Date.now(), 100);
    try {
      return await persist(client.connection, what, () => handle.query(query, ...args), Math.min(deadlineMs, leftMs));
    } catch (error) {
      // Failed precondition, beside "no poller": the workflow's task fails at the moment, or its history is not there yet.
      const later: unknown[] = [grpc.resourceExhausted, grpc.failedPrecondition];
      if (!later.includes(grpcCode(error)) && !isNoWorker(error)) throw error;
      if (Date.now() >= until) throw noWorker(threadId, what, error);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
