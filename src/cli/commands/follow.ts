import type { Thread } from '../../client';
import { type AgentEvent, isTerminal, type PendingCall, type TerminalEvent } from '../../core/event';
import { exit } from '../exit';
import type { Output } from '../views/output';
import { restsOn } from '../views/render';
import type { Approvals } from './approvals';

export interface FollowOptions {
  from?: number;
  output: Output;
  /** If absent, the run is only watched, also while it waits. */
  approvals?: Approvals;
  signal?: AbortSignal;
}

/** How following ended: the run ended, it waits for something that nobody here can answer, or the reader left. */
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

/** A deadline passed, and the user may be among the people who are asked now. */
async function askedAnew(thread: Thread, event: AgentEvent): Promise<PendingCall[] | undefined> {
  if (event.type !== 'agent.approval.escalated') return undefined;
  const { toolCallId } = event.data;
  return (await thread.pending()).filter((call) => call.toolCallId === toolCallId);
}

/** The id of the call that no longer needs an answer after this event. */
function settledBy(event: AgentEvent, asleep: string | undefined): string | undefined {
  switch (event.type) {
    case 'agent.approval.decided':
    case 'agent.tool.execution.completed':
    case 'agent.tool.question.answered':
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
