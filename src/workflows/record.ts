import { setCurrentDetails, uuid4 } from '@temporalio/workflow';
import { details } from '../core/details';
import type { DurableEvent, DurableEventData, DurableEventType } from '../core/event';
import { type Extra, evolve } from '../core/evolve';
import { activeRun, type ThreadState } from '../core/state';

export type RecordEvent = <T extends DurableEventType>(type: T, data: DurableEventData[T], extra?: Extra & { runId?: string }) => void;

/** Another event always follows these at once, so what they change need not be shown yet. */
const followed: readonly DurableEventType[] = [
  'agent.run.step.created',
  'thread.run.step.tool_call.created',
  'thread.run.step.tool_call.completed_by_llm',
];

/** The one door through which a thread changes (I1). What the Web UI shows of it follows; that is made here and costs no history. */
export function recorder(state: ThreadState): RecordEvent {
  return (type, data, { runId, ...extra } = {}) => {
    const event = {
      seq: state.nextSeq,
      type,
      timestamp: new Date().toISOString(),
      threadId: state.threadId,
      runId: runId ?? activeRun(state)?.id ?? null,
      data,
    } as DurableEvent;
    evolve(state, event, extra);
    if (!followed.includes(type)) setCurrentDetails(details(state));
  };
}

/** A short random id that replay repeats. */
export function newId(prefix: string): string {
  return `${prefix}_${uuid4().replaceAll('-', '').slice(0, 16)}`;
}
