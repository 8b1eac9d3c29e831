import type { Thread } from '../client';
import { isTerminal, type TerminalEvent } from '../core/event';
import type { Approvals } from './approvals';
import { exit } from './exit';
import type { Output } from './output';
import { restsOn } from './render';

export interface FollowOptions {
  from?: number;
  output: Output;
  /** None: it is only watched, and waiting is part of watching. */
  approvals?: Approvals;
  signal?: AbortSignal;
}

/** How following ended: with the run, at a rest that nobody here can end, or because the reader left. */
export type Followed = { end: TerminalEvent } | { end: 'waits' } | { end: 'left' };

export async function follow(thread: Thread, { from, output, approvals, signal }: FollowOptions): Promise<Followed> {
  let last: TerminalEvent | undefined;
  for await (const event of thread.events({ ...(from && { from }), ...(signal && { signal }) })) {
    output.event(event);
    if (isTerminal(event)) last = event;
    if (event.type === 'agent.approval.decided') approvals?.decided(event.data.toolCallId);
    const pending = restsOn(event);
    if (pending && approvals && (await approvals.offer(pending)) === 'nobody') return { end: 'waits' };
  }
  if (signal?.aborted || !last) return { end: 'left' };
  return { end: last };
}

export function exitCodeOfRun({ end }: Followed): number {
  if (end === 'waits') return exit.waits;
  if (end === 'left') return exit.interrupted;
  switch (end.type) {
    case 'thread.run.completed':
      return exit.ok;
    case 'thread.run.cancelled':
      return exit.interrupted;
    default:
      return exit.failed;
  }
}
