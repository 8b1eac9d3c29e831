import { WorkflowExecutionAlreadyStartedError, type WorkflowExecutionDescription } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { eventsBeforeFirstTask, reopening } from '../contract/reopening';
import { queries } from '../contract/requests';
import { type ReopenRequest, type ThreadInput, workflowType } from '../contract/thread';
import { LonghaulError, wordsOf } from './errors';
import { pause, persist } from './persist';
import type { Thread } from './thread';
import { explain } from './thread-errors';

export type ReopenOptions = Omit<ReopenRequest, 'execution'>;

/** How long to wait for a conversation that is about to close, in milliseconds. */
const closingMs = 10_000;

/** See `LonghaulClient.reopen`. */
export async function reopen(client: LonghaulClient, id: string, words: ReopenOptions): Promise<Thread> {
  const thread = client.attach(id);
  const found = await whenClosed(thread);
  if (!found) return thread;
  const closed = (await neverOpened(thread, found)) ?? found;
  if (closed === found) mustBeReopenable(id, found, (await thread.status()).mode);
  await begin(client, closed, words);
  await isOpen(thread);
  return thread;
}

/** Returns the description of the closed execution, or undefined if the thread is open. A conversation that is about to close is waited for. */
async function whenClosed(thread: Thread): Promise<WorkflowExecutionDescription | undefined> {
  const until = Date.now() + closingMs;
  for (;;) {
    const found = await describe(thread);
    if (found.status.name !== 'RUNNING') return found;
    const { closed, mode } = await thread.status();
    if (!closed && mode === 'conversation') return undefined;
    if (mode !== 'conversation') throw notReopenable(thread.id, 'it is not a conversation, and its run has not ended');
    if (Date.now() > until) throw notReopenable(thread.id, 'it is closing, but its last run has not ended; wait for it, or cancel it');
    await pause(200);
  }
}

async function describe({ client: { temporal, options }, id }: Thread): Promise<WorkflowExecutionDescription> {
  try {
    const read = () => temporal.workflow.getHandle(id).describe();
    return await persist(temporal.connection, 'reopen', read, { awayMs: options.serverAwayMs });
  } catch (error) {
    throw explain(id, 'reopen', error);
  }
}

/**
 * If the last execution was to reopen the thread, and ended before it had the state (it was cancelled or terminated, for example): the closed execution
 * that it was to reopen.
 */
async function neverOpened(
  thread: Thread,
  { memo = {}, historyLength, runId }: WorkflowExecutionDescription,
): Promise<WorkflowExecutionDescription | undefined> {
  if (typeof memo.reopens !== 'string') return undefined;
  const { temporal } = thread.client;
  const wasTaken = historyLength > eventsBeforeFirstTask;
  const isOpened =
    wasTaken &&
    !(await temporal.workflow
      .getHandle(thread.id, runId)
      .query(queries.status)
      .then(
        () => false,
        (error: unknown) => wordsOf(error).includes(reopening),
      ));
  if (isOpened) return undefined;
  const before = await temporal.workflow.getHandle(thread.id, memo.reopens).describe();
  return (await neverOpened(thread, before)) ?? before;
}

function mustBeReopenable(id: string, { status }: WorkflowExecutionDescription, mode: string): void {
  if (mode !== 'conversation') throw notReopenable(id, 'it is not a conversation; start a new thread');
  if (status.name === 'COMPLETED' || status.name === 'CANCELLED') return;
  throw notReopenable(id, `it did not close by itself (Temporal shows it as ${status.name}); start a new thread`);
}

/** Starts the execution that continues the closed one. Of several clients that do so at the same time, one succeeds, and all have the result. */
async function begin({ temporal, options }: LonghaulClient, closed: WorkflowExecutionDescription, words: ReopenOptions): Promise<void> {
  const { workflowId, runId, taskQueue, memo = {} } = closed;
  const [staticSummary, staticDetails] = await Promise.all([closed.staticSummary(), closed.staticDetails()]);
  const input: ThreadInput = {
    agent: typeof memo.agent === 'string' ? memo.agent : '?',
    mode: 'conversation',
    input: '(reopened)',
    reopens: { execution: runId, ...words },
  };
  const start = () =>
    temporal.workflow.start(workflowType, {
      workflowId,
      taskQueue,
      args: [input],
      memo: { ...memo, reopens: runId },
      ...(staticSummary && { staticSummary }),
      ...(staticDetails && { staticDetails }),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowTaskTimeout: '5s',
    });
  try {
    await persist(temporal.connection, 'reopen', start, { awayMs: options.serverAwayMs });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw explain(workflowId, 'reopen', error);
  }
}

/** Resolves when the thread has its state again. */
async function isOpen(thread: Thread): Promise<void> {
  try {
    await thread.status();
  } catch (error) {
    const { status } = await describe(thread);
    if (status.name !== 'FAILED') throw error;
    const ended = thread.client.temporal.workflow.getHandle(thread.id).result();
    const failure = await ended.catch((cause: Error) => cause);
    throw notReopenable(thread.id, wordsOf(failure), failure);
  }
}

function notReopenable(id: string, why: string, cause?: unknown): LonghaulError {
  return new LonghaulError('not-reopenable', `reopen: thread "${id}" can't be reopened: ${why}`, undefined, { cause });
}
