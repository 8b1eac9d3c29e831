import type { Thread } from '../client';
import type { ThreadResult } from '../contract/thread';
import { isTerminal, type TerminalEvent } from '../core/event';
import { noUsage, wordsOf } from '../core/message';
import { unreachable } from '../core/unreachable';
import { LonghaulError } from './errors';
import { persist } from './persist';
import { explain } from './thread-errors';

export interface ResultOptions {
  /** Ends the wait: rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Waits for the terminal event and returns or throws its result. */
export async function awaitResult(thread: Thread, options: ResultOptions): Promise<ThreadResult> {
  for (let before: End | undefined; ; ) {
    const end = await endOf(thread, options);
    const result = await resultOf(thread, end, before?.seq === end.seq);
    if (result) return result;
    before = end;
  }
}

async function endOf(thread: Thread, { signal }: ResultOptions): Promise<End> {
  let end: TerminalEvent | undefined;
  for await (const event of thread.events({ live: false, ...(signal && { signal }) })) if (isTerminal(event)) end = event;
  signal?.throwIfAborted();
  if (!end) {
    throw new LonghaulError(
      'thread-terminated',
      `Thread "${thread.id}" has no run with a recorded end. See its workflow history for the reason.`,
    );
  }
  switch (end.type) {
    case 'thread.run.failed':
      throw new LonghaulError('run-failed', end.data.message, end.data.code);
    case 'thread.run.cancelled':
      throw new LonghaulError(
        'run-cancelled',
        `The run of thread "${thread.id}" was cancelled${end.data.reason ? `: ${end.data.reason}` : ''}`,
      );
    case 'thread.run.expired':
      throw new LonghaulError(end.data.reason === 'suspended' ? 'run-expired' : 'thread-terminated', end.data.message);
    case 'thread.run.completed':
    case 'thread.run.incomplete':
      return end;
    default:
      return unreachable(end);
  }
}

type End = Extract<TerminalEvent, { type: 'thread.run.completed' | 'thread.run.incomplete' }>;

/**
 * The return value of a workflow can be read without a worker. If the thread is open, or was ended from outside, its state is queried. Undefined if
 * the thread has begun another run since, whose numbers it would then have. If the thread's log still ends with `end` the next time (`again`), there
 * is no such run, and the numbers are taken as they are: a worker of another version may not say of which run they are.
 */
async function resultOf(thread: Thread, end: End, again: boolean): Promise<ThreadResult | undefined> {
  const returned = await returnedBy(thread);
  if (returned && returned.runId !== end.runId && !again) return undefined;
  // The workflow of a closed conversation returns `completed`, however its last run ended.
  if (returned) return end.type === 'thread.run.completed' ? returned : { ...returned, ...outcomeOf(end, returned.output) };
  const last = (await thread.messages()).findLast((m) => m.role === 'assistant');
  const { runId, run, thread: all, runs, spent } = await thread.usage();
  if (runId !== end.runId && !again) return undefined;
  const { turns, costUsd } = spent.thread;
  return {
    ...outcomeOf(end, last?.role === 'assistant' ? wordsOf(last.content).trim() : ''),
    runId: end.runId ?? '',
    turns: spent.run.turns,
    usage: run ?? noUsage,
    costUsd: spent.run.costUsd,
    thread: { runs, turns, usage: all, costUsd },
  };
}

function outcomeOf(end: End, said: string): Pick<ThreadResult, 'status' | 'output' | 'reason'> {
  return end.type === 'thread.run.completed'
    ? { status: 'completed', output: end.data.output }
    : { status: 'incomplete', output: end.data.output || said, reason: end.data.message };
}

async function returnedBy({ client: { temporal }, id }: Thread): Promise<ThreadResult | undefined> {
  const handle = temporal.workflow.getHandle(id);
  try {
    const read = async () => {
      const { status } = await handle.describe();
      return status.name === 'COMPLETED' ? ((await handle.result()) as ThreadResult) : undefined;
    };
    return await persist(temporal.connection, 'result', read, { awayMs: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw explain(id, 'result', error);
  }
}
