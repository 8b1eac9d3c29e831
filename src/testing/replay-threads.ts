import type { LonghaulClient } from '../client';
import { grpc, grpcCode } from '../client/errors';
import { explainList, ofThreads } from '../client/list-filter';
import { executions } from '../client/listed-threads';
import { persist } from '../client/persist';
import type { History } from './history-file';
import { type Replayable, type ReplayOptions, type ReplayReport, replayHistories } from './replay';

export interface Execution {
  workflowId: string;
  /** Temporal's run id of the execution. Default: the newest one. */
  runId?: string;
}

export interface Whose {
  client: LonghaulClient;
  /** A list filter of Temporal, such as `ExecutionStatus = 'Running'`. Default: every thread of the namespace, open or closed. */
  query?: string | undefined;
  /** Replays these executions instead of those in Temporal's index, which lags by a moment. */
  executions?: Iterable<Execution> | AsyncIterable<Execution> | undefined;
  /** The maximum number of histories. */
  limit?: number | undefined;
}

export interface ReplayThreadsOptions extends ReplayOptions, Whose {}

/** The number of histories that are read ahead while others are replayed. */
const fetchesAtOnce = 8;

/**
 * Replays the histories of threads from Temporal against the workflow code of this installation. If a thread continued as new, all executions of its
 * chain are replayed, and so are the workflows of its background calls.
 * @throws LonghaulError `invalid-input` (the server did not understand the query), `unreachable`, `namespace-not-found`
 */
export function replayThreads(options: ReplayThreadsOptions): Promise<ReplayReport> {
  return replayHistories(readHistories(options), options);
}

/** Yields the histories that `replayThreads` replays. */
export async function* readHistories({ client, query, executions, limit = Infinity }: Whose): AsyncGenerator<Replayable, void> {
  const named = iteratorOf(executions ?? listed(client, query));
  const ofChains: Execution[] = [];
  const seen = new Set<string>();
  const underWay: Promise<Replayable>[] = [];
  for (;;) {
    while (underWay.length < fetchesAtOnce && seen.size < limit) {
      const execution = ofChains.shift() ?? (await named.next()).value;
      if (!execution) break;
      const runId = execution.runId ?? (await newestOf(client, execution.workflowId));
      if (runId === undefined) {
        yield { workflowId: execution.workflowId, runId: '', why: 'the thread does not exist in this namespace, or was deleted' };
        continue;
      }
      if (seen.has(runId)) continue;
      seen.add(runId);
      const reading = read(client, execution.workflowId, runId);
      // The error is handled when this promise is awaited below.
      reading.catch(() => undefined);
      underWay.push(reading);
    }
    const first = underWay.shift();
    if (!first) return;
    const history = await first;
    if ('history' in history) ofChains.push(...neighboursOf(history));
    yield history;
  }
}

function iteratorOf(executions: Iterable<Execution> | AsyncIterable<Execution>): AsyncIterator<Execution> | Iterator<Execution> {
  return Symbol.asyncIterator in executions ? executions[Symbol.asyncIterator]() : executions[Symbol.iterator]();
}

async function* listed(client: LonghaulClient, query: string | undefined): AsyncGenerator<Execution, void> {
  try {
    // The first page shows whether the server is available and understands the query.
    for await (const { execution } of executions(client, { what: 'replay', query: ofThreads('replay', query), pageSize: 1_000 }))
      yield { workflowId: execution?.workflowId ?? '', runId: execution?.runId ?? '' };
  } catch (error) {
    throw await explainList({ temporal: client.temporal, what: 'replay', filter: query }, error);
  }
}

async function newestOf({ temporal }: LonghaulClient, workflowId: string): Promise<string | undefined> {
  try {
    const { runId } = await persist(temporal.connection, 'replay', () => temporal.workflow.getHandle(workflowId).describe());
    return runId;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return grpcCode(error) === grpc.notFound || (error as Error).name === 'WorkflowNotFoundError';
}

async function read({ temporal }: LonghaulClient, workflowId: string, runId: string): Promise<Replayable> {
  try {
    const history = await persist(temporal.connection, 'replay', () => temporal.workflow.getHandle(workflowId, runId).fetchHistory(), {
      deadlineMs: 60_000,
    });
    return { workflowId, runId, history };
  } catch (error) {
    if (!isGone(error)) throw error;
    return { workflowId, runId, why: 'Temporal no longer has its history: it closed longer ago than the namespace retains' };
  }
}

/** The previous execution, if this one continues one, the next, if it continued as new, and those of the background calls that it started. */
function neighboursOf({ workflowId, history }: { workflowId: string; history: History }): Execution[] {
  const events = history.events ?? [];
  const before = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  const after = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  const calls = events.map((event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution);
  const all = [{ workflowId, runId: before }, { workflowId, runId: after }, ...calls];
  return all.flatMap((one) => (one?.workflowId && one.runId ? [{ workflowId: one.workflowId, runId: one.runId }] : []));
}
