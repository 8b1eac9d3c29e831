import { proxySinks, setCurrentDetails, uuid4 } from '@temporalio/workflow';
import { type EventSinks, tellEvents } from '../contract/sinks';
import { details } from '../core/details';
import type { DurableEvent, DurableEventData, DurableEventType } from '../core/event';
import { type Extra, evolve } from '../core/evolve';
import { activeRun, type ThreadState } from '../core/state';

export type RecordEvent = <T extends DurableEventType>(type: T, data: DurableEventData[T], extra?: Extra & { runId?: string }) => void;

const { longhaulEvents } = proxySinks<EventSinks>();

/** Returns the function that records events, which is the only way to change a thread's state (I1). */
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
    if (Reflect.get(globalThis, tellEvents) === true) longhaulEvents.recorded(event.seq);
  };
}

/**
 * Sets the page that the Web UI shows for the thread. The page is made only when the Web UI requests it, by serializing this object. Making it
 * at each event would take too long in workflow tasks and replays if a call's arguments are long.
 */
export function showDetails(state: ThreadState): void {
  const page = { toJSON: () => details(state) };
  setCurrentDetails(page as unknown as string);
}

/** Returns a random id with 16 hex digits that is the same in a replay. */
export function newId(prefix: string): string {
  return `${prefix}_${uuid4().replaceAll('-', '').slice(0, 16)}`;
}
