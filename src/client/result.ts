import type { Connection } from '@temporalio/client';
import type { Thread } from '../client';
import type { ThreadResult } from '../contract/thread';
import { isTerminal, type TerminalEvent } from '../core/event';
import { LonghaulError } from './errors';
import { persist } from './persist';

/** Waits for the terminal event and says what it means. */
export async function awaitResult(thread: Thread): Promise<ThreadResult> {
  let end: TerminalEvent | undefined;
  for await (const event of thread.events({ live: false })) if (isTerminal(event)) end = event;
  if (!end) throw new LonghaulError('thread-terminated', `Thread "${thread.id}" ended without a run. Its workflow's history says why.`);
  switch (end.type) {
    case 'thread.run.failed':
      throw new LonghaulError('run-failed', end.data.message, end.data.code);
    case 'thread.run.cancelled':
      throw new LonghaulError(
        'run-cancelled',
        `The run of thread "${thread.id}" was cancelled${end.data.reason ? `: ${end.data.reason}` : ''}`,
      );
    case 'thread.run.expired':
      throw new LonghaulError('thread-terminated', end.data.message);
    default:
      return resultOf(thread, end);
  }
}

/** A thread that is over returns its result, which needs no worker to read; an open conversation is asked. */
async function resultOf(
  thread: Thread,
  end: Extract<TerminalEvent, { type: 'thread.run.completed' | 'thread.run.incomplete' }>,
): Promise<ThreadResult> {
  const { temporal } = thread.client;
  const connection = temporal.connection as Connection;
  const handle = temporal.workflow.getHandle(thread.id);
  const { status } = await persist(connection, 'result', () => handle.describe());
  if (status.name !== 'RUNNING') return persist(connection, 'result', () => handle.result() as Promise<ThreadResult>);
  const { runId, turn } = await thread.status();
  const { thread: usage, runs } = await thread.usage();
  const counts = { runId: end.runId ?? runId ?? '', runs, turns: turn, usage };
  if (end.type === 'thread.run.completed') return { status: 'completed', output: end.data.output, ...counts };
  const last = (await thread.messages()).findLast((m) => m.role === 'assistant');
  return { status: 'incomplete', output: last?.role === 'assistant' ? last.content : '', reason: end.data.message, ...counts };
}
