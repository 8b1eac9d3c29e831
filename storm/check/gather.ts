import { type Client, Connection, Client as TemporalClient } from '@temporalio/client';
import type { ThreadPlan } from '../plan';
import { decoders, type Failure, messageOf } from './decode';
import type { Execution, LogEvent, LogMessage, ThreadEvidence } from './evidence';

// Uses Temporal's own client and the documented queries, and no engine code.

/** `keys`: those with which the storm's processes encrypt, if they do. */
export async function openClient(address: string, keys: readonly Buffer[]): Promise<Client> {
  const connection = await Connection.connect({ address, connectTimeout: '20s' });
  return new TemporalClient({ connection, dataConverter: { payloadCodecs: [decoders(keys)] } });
}

/** Reads what is needed to tell whether a thread is idle or closed. Called repeatedly, so it makes only one request for a closed thread. */
export async function lookAt(client: Client, plan: ThreadPlan): Promise<ThreadEvidence> {
  const { id } = plan;
  const evidence: ThreadEvidence = { id, plan, status: 'MISSING', taskAttempt: 0, executions: [], messages: [] };
  try {
    const { status, raw, historyLength } = await within(client, 10_000, () => client.workflow.getHandle(id).describe());
    evidence.status = status.name;
    evidence.length = historyLength;
    evidence.taskAttempt = raw.pendingWorkflowTask?.attempt ?? 0;
  } catch (error) {
    if ((error as Error).name === 'WorkflowNotFoundError') return evidence;
    throw error;
  }
  if (evidence.status !== 'RUNNING' || plan.mode === 'one-shot') return evidence;
  try {
    evidence.view = await query(client, id, undefined, 'status', []);
  } catch (error) {
    evidence.unreadable = words(error);
  }
  return evidence;
}

/** Every execution of a thread with its history from the server, newest first. */
export async function historiesOf(
  client: Client,
  id: string,
): Promise<{ runId: string; status: string; bytes: number; history: History }[]> {
  const all: { runId: string; status: string; bytes: number; history: History }[] = [];
  let runId: string | undefined;
  do {
    const handle = client.workflow.getHandle(id, runId);
    const { runId: found, status, raw } = await within(client, 10_000, () => handle.describe());
    const history = (await within(client, 30_000, () => client.workflow.getHandle(id, found).fetchHistory())) as History;
    const bytes = Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0);
    all.push({ runId: found, status: status.name, bytes, history });
    runId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  } while (runId);
  return all;
}

/** The parts of a history that the checker uses. */
export interface History {
  events?: {
    eventId?: unknown;
    workflowExecutionStartedEventAttributes?: { continuedExecutionRunId?: string | null } | null;
    workflowTaskFailedEventAttributes?: { cause?: number | null; failure?: Failure | null } | null;
  }[];
}

const causes: Readonly<Record<number, string>> = {
  1: 'UnhandledCommand',
  11: 'BadContinueAsNewAttributes',
  13: 'ResetStickyTaskQueue',
  14: 'WorkflowWorkerUnhandledFailure',
  17: 'ForceCloseCommand',
  18: 'FailoverCloseCommand',
  24: 'NonDeterministicError',
  31: 'UnhandledUpdate',
};

export function executionOf(
  { runId, status, bytes, history }: { runId: string; status: string; bytes: number; history: History },
  keys: readonly Buffer[],
): Execution {
  const events = history.events ?? [];
  const failures = events.flatMap(({ eventId, workflowTaskFailedEventAttributes: failed }) =>
    failed
      ? [
          {
            cause: causes[failed.cause ?? 0] ?? `cause ${failed.cause}`,
            message: failed.failure ? messageOf(failed.failure, keys) : '',
            eventId: Number(eventId),
          },
        ]
      : [],
  );
  return { runId, status, events: events.length, bytes, failures };
}

/** The whole log, from the first execution on. A page of an earlier execution is queried from that execution. */
export async function logOf(client: Client, id: string): Promise<LogEvent[]> {
  const { runId } = await within(client, 10_000, () => client.workflow.getHandle(id).describe());
  const events: LogEvent[] = [];
  await readInto(client, id, runId, 1, Number.POSITIVE_INFINITY, events);
  return events;
}

interface Page {
  events: LogEvent[];
  next: number;
  more: boolean;
  earlier?: { execution: string; before: number };
}

async function readInto(client: Client, id: string, runId: string, from: number, before: number, into: LogEvent[]): Promise<void> {
  for (let next = from; next < before; ) {
    const page: Page = await query(client, id, runId, 'events', [{ from: next }]);
    if (page.earlier) {
      await readInto(client, id, page.earlier.execution, next, page.earlier.before, into);
      next = page.earlier.before;
      continue;
    }
    into.push(...page.events);
    next = page.next;
    if (!page.more) return;
  }
}

export async function messagesOf(client: Client, id: string): Promise<LogMessage[]> {
  const all: LogMessage[] = [];
  for (let from = 0; ; ) {
    const page: { messages: LogMessage[]; next: number; more: boolean } = await query(client, id, undefined, 'messages', [{ from }]);
    all.push(...page.messages);
    if (!page.more) return all;
    from = page.next;
  }
}

/** Retries a query for 30 s: a worker may just have evicted the thread from its cache. */
async function query<T>(client: Client, id: string, runId: string | undefined, name: string, args: unknown[]): Promise<T> {
  const patience = Date.now() + 30_000;
  for (;;) {
    try {
      return await within(client, 5_000, () => client.workflow.getHandle(id, runId).query<T, unknown[]>(name, ...args));
    } catch (error) {
      if (Date.now() > patience) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

function within<T>(client: Client, ms: number, action: () => Promise<T>): Promise<T> {
  return client.connection.withDeadline(Date.now() + ms, action);
}

export function words(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  return [message, cause?.message].filter(Boolean).join(': ').slice(0, 400);
}
