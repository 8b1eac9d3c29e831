import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { LonghaulClient, Thread } from '../client';
import { checkGivenId } from '../core/check-input';
import { grpc, grpcCode, LonghaulError } from './errors';
import { idsHave, listThreads } from './list-filter';
import { persist } from './persist';
import { explain } from './thread-errors';

/** The index is a moment behind: what has begun just now is looked for again until then. */
const indexLagMs = 2_000;

/** A thread by its own id, by the id of a run, or by the correlation id of a suspension. See `LonghaulClient.findThread`. */
export async function findThread(client: LonghaulClient, id: string): Promise<Thread> {
  mustBeGiven('the id', id);
  if (await exists(client, id)) return client.attach(id);
  const [found] = await byIds(client, id, { what: 'findThread' });
  if (found) return client.attach(found.workflowId);
  throw new LonghaulError(
    'run-not-found',
    `There is no thread, run or suspension "${id}" in this namespace; "longhaul list" shows the threads`,
  );
}

/** The thread that rests suspended for a reply to this id. */
export async function findSuspended(client: LonghaulClient, correlationId: string): Promise<Thread> {
  mustBeGiven('reply: the correlation id', correlationId);
  const found = await byIds(client, correlationId, { what: 'reply', suspended: true });
  const [id, another] = new Set(found.map((info) => info.workflowId));
  if (id === undefined) throw new LonghaulError('run-not-found', `reply: no thread waits for a reply to "${correlationId}"`);
  if (another === undefined) return client.attach(id);
  throw new LonghaulError(
    'invalid-input',
    `reply: several threads wait for a reply to "${correlationId}", "${id}" and "${another}" among them; send to the one that is meant`,
  );
}

function mustBeGiven(what: string, id: string): void {
  const wrong = checkGivenId(what, id);
  if (wrong) throw new LonghaulError('invalid-input', wrong);
}

/** A run's id where the thread was found by one, so that nothing but this run is cancelled. */
export async function runMeant(thread: Thread, id: string): Promise<string | undefined> {
  if (thread.id === id) return undefined;
  const { runId, pending } = await thread.status();
  if (runId === id || pending.some(({ kind, toolCallId }) => kind === 'reply' && toolCallId === id)) return runId ?? undefined;
  throw new LonghaulError(
    'run-not-found',
    `cancel: "${id}" of thread "${thread.id}" is over${runId ? `; run "${runId}" came after it` : ''}`,
  );
}

async function exists({ temporal, options }: LonghaulClient, id: string): Promise<boolean> {
  try {
    const describe = () => temporal.workflow.getHandle(id).describe();
    await persist(temporal.connection, 'findThread', describe, { awayMs: options.serverAwayMs });
    return true;
  } catch (error) {
    const code = grpcCode(error);
    // No workflow id at all (too long) is none that exists.
    if ((error as Error).name === 'WorkflowNotFoundError' || code === grpc.notFound || code === grpc.invalidArgument) return false;
    throw explain(id, 'findThread', error);
  }
}

async function byIds(
  client: LonghaulClient,
  id: string,
  { what, suspended }: { what: string; suspended?: boolean },
): Promise<WorkflowExecutionInfo[]> {
  const filter = `${idsHave(id)}${suspended ? " AND AgentStatus = 'suspended'" : ''}`;
  const until = Date.now() + indexLagMs;
  for (;;) {
    const found = await listThreads(client, { what, filter, limit: 20 });
    // The index may take upper and lower case for the same.
    const same = found.filter((info) => info.searchAttributes?.AgentIds?.some((one) => one === id));
    if (same.length > 0 || Date.now() >= until) return same;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
