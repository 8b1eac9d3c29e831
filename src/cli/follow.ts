import type { Thread } from '../client';
import { type AgentEvent, isTerminal, type PendingCall, type TerminalEvent } from '../core/event';
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
  let asleep: string | undefined;
  for await (const event of thread.events({ ...(from && { from }), ...(signal && { signal }) })) {
    output.event(event);
    if (isTerminal(event)) last = event;
    if (!approvals) continue;
    if (event.type === 'agent.run.suspended') asleep = event.data.correlationId;
    const settled = settledBy(event, asleep);
    if (settled !== undefined) approvals.decided(settled);
    if (event.type === 'agent.run.resumed') approvals.resumed?.();
    const pending = restsOn(event) ?? (await askedAnew(thread, event));
    if (pending && (await approvals.offer(pending)) === 'nobody') return { end: 'waits' };
    if (event.type === 'agent.run.paused' && (await approvals.paused?.()) === 'nobody') return { end: 'waits' };
  }
  if (signal?.aborted || !last) return { end: 'left' };
  return { end: last };
}

/** A deadline passed, and whoever is here may be among those who are asked now. */
async function askedAnew(thread: Thread, event: AgentEvent): Promise<PendingCall[] | undefined> {
  if (event.type !== 'agent.approval.escalated') return undefined;
  const { toolCallId } = event.data;
  return (await thread.pending()).filter((call) => call.toolCallId === toolCallId);
}

/** What need not be answered any more. */
function settledBy(event: AgentEvent, asleep: string | undefined): string | undefined {
  switch (event.type) {
    case 'agent.approval.decided':
    case 'agent.tool.execution.completed':
    case 'agent.input.expired':
      return event.data.toolCallId;
    case 'agent.limit.extended':
      return event.data.id;
    case 'agent.run.status.changed':
      return event.data.previousStatus === 'suspended' ? asleep : undefined;
    default:
      return undefined;
  }
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
