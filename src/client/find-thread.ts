import type { LonghaulClient, Thread } from '../client';
import { searchAttributes } from '../contract/search-attributes';
import { checkGivenId } from '../core/check-input';
import { grpc, grpcCode, LonghaulError } from './errors';
import { idsHave, listThreads } from './list-filter';
import type { ListedThread } from './listed-threads';
import { persist } from './persist';
import { explain } from './thread-errors';

/** The index lags by a moment, so a search is repeated for this long to find a thread that has just begun. */
const indexLagMs = 2_000;

/** Finds a thread by its own id, by the id of a run, or by the correlation id of a suspension. See `LonghaulClient.findThread`. */
export async function findThread(client: LonghaulClient, id: string): Promise<Thread> {
  mustBeGiven('the id', id);
  if (await exists(client, id)) return client.attach(id);
  const [found] = await byIds(client, id, { what: 'findThread' });
  if (found) return client.attach(found.workflowId);
  throw new LonghaulError(
    'run-not-found',
    `There is no thread, run or suspension "${id}" in this namespace; "longhaul list" lists the threads`,
  );
}

/** Finds the thread that is suspended for a reply with this correlation id. */
export async function findSuspended(client: LonghaulClient, correlationId: string): Promise<Thread> {
  mustBeGiven('reply: the correlation id', correlationId);
  const found = await byIds(client, correlationId, { what: 'reply', suspended: true });
  const [id, another] = new Set(found.map((info) => info.workflowId));
  if (id === undefined) throw new LonghaulError('run-not-found', `reply: no thread waits for a reply to "${correlationId}"`);
  if (another === undefined) return client.attach(id);
  throw new LonghaulError(
    'invalid-input',
    `reply: several threads wait for a reply to "${correlationId}", "${id}" and "${another}" among them; send the message to the intended thread instead`,
  );
}

function mustBeGiven(what: string, id: string): void {
  const wrong = checkGivenId(what, id);
  if (wrong) throw new LonghaulError('invalid-input', wrong);
}

/** The run's id if the thread was found by one, so that only this run is cancelled. */
export async function runMeant(thread: Thread, id: string): Promise<string | undefined> {
  if (thread.id === id) return undefined;
  const { runId, pending } = await thread.status();
  if (runId === id || pending.some(({ kind, toolCallId }) => kind === 'reply' && toolCallId === id)) return runId ?? undefined;
  throw new LonghaulError(
    'run-not-found',
    `cancel: "${id}" of thread "${thread.id}" has ended${runId ? `; run "${runId}" came after it` : ''}`,
  );
}

async function exists({ temporal, options }: LonghaulClient, id: string): Promise<boolean> {
  try {
    const describe = () => temporal.workflow.getHandle(id).describe();
    await persist(temporal.connection, 'findThread', describe, { awayMs: options.serverAwayMs });
    return true;
  } catch (error) {
    const code = grpcCode(error);
    // An id that is not a valid workflow id (too long) does not exist either.
    if ((error as Error).name === 'WorkflowNotFoundError' || code === grpc.notFound || code === grpc.invalidArgument) return false;
    throw explain(id, 'findThread', error);
  }
}

async function byIds(
  client: LonghaulClient,
  id: string,
  { what, suspended }: { what: string; suspended?: boolean },
): Promise<ListedThread[]> {
  const filter = `${idsHave(id)}${suspended ? ` AND ${searchAttributes.status.name} = 'suspended'` : ''}`;
  const until = Date.now() + indexLagMs;
  for (;;) {
    const found = await listThreads(client, { what, filter, limit: 20 });
    // The index may ignore case.
    const same = found.filter((info) => info.attribute(searchAttributes.ids.name).some((one) => one === id));
    if (same.length > 0 || Date.now() >= until) return same;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
