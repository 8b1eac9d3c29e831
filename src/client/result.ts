import type { Thread } from '../client';
import type { ThreadResult } from '../contract/thread';
import { isTerminal, type TerminalEvent } from '../core/event';
import { LonghaulError } from './errors';

/** Waits for the terminal event and says what it means. */
export async function awaitResult(thread: Thread): Promise<ThreadResult> {
  let end: TerminalEvent | undefined;
  for await (const event of thread.events({ live: false })) if (isTerminal(event)) end = event;
  if (!end) throw new LonghaulError('thread-terminated', `Thread "${thread.id}" ended without a run. Its workflow's history says why.`);
  switch (end.type) {
    case 'thread.run.failed':
      throw new LonghaulError('run-failed', end.data.message, end.data.code);
    case 'thread.run.cancelled':
      throw new LonghaulError('run-cancelled', `The run of thread "${thread.id}" was cancelled${end.data.reason ? `: ${end.data.reason}` : ''}`);
    case 'thread.run.expired':
      throw new LonghaulError('thread-terminated', end.data.message);
    default:
      return resultOf(thread, end);
  }
}

async function resultOf(thread: Thread, end: Extract<TerminalEvent, { type: 'thread.run.completed' | 'thread.run.incomplete' }>): Promise<ThreadResult> {
  const [usage, messages] = await Promise.all([thread.usage(), thread.messages()]);
  const last = messages.findLast((m) => m.role === 'assistant');
  const output = end.type === 'thread.run.completed' ? end.data.output : last?.role === 'assistant' ? last.content : '';
  return {
    status: end.type === 'thread.run.completed' ? 'completed' : 'incomplete',
    output,
    runId: end.runId ?? '',
    runs: usage.runs,
    turns: usage.turns,
    usage: usage.thread,
    ...(end.type === 'thread.run.incomplete' && { reason: end.data.message }),
  };
}
