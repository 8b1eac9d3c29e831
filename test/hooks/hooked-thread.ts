import { continueAsNew, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import type { Activities, HooksStep, RunHooksRequest } from '../../src/contract/activities';
import { queries } from '../../src/contract/requests';
import type { DurableEvent } from '../../src/core/event';
import type { Message } from '../../src/core/message';

export interface Scene {
  request: RunHooksRequest;
  messages: Message[];
  /** Events up to this one are in the execution before; 0: there is none. */
  before?: number;
  /** It does not know its own transcript any more. */
  stale?: boolean;
}

const { runHooks } = proxyActivities<Activities>({
  startToCloseTimeout: '1m',
  heartbeatTimeout: '3s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { initialInterval: '20ms', maximumAttempts: 6 },
});

const pageSize = 3;
const newest = 20;

/** A thread as far as the activity sees it: it answers the engine's queries, in small pages, and runs the hooks of one name. */
export async function hookedThread({ request, messages, before = 0, stale = false }: Scene): Promise<HooksStep> {
  const { workflowId, continuedFromExecutionRunId } = workflowInfo();
  const first = continuedFromExecutionRunId && before > 0 ? before + 1 : 1;
  setHandler(queries.transcript, ({ from, length }) => {
    return stale ? { stale: true } : { messages: messages.slice(from, Math.min(length, from + pageSize)) };
  });
  setHandler(queries.events, ({ from = 1, limit = newest } = {}) => {
    const earlier = continuedFromExecutionRunId && from < first ? { execution: continuedFromExecutionRunId, before: first } : undefined;
    const last = Math.min(first === 1 && before > 0 ? before : newest, from + Math.min(limit, pageSize) - 1);
    const events = earlier ? [] : Array.from({ length: Math.max(0, last - from + 1) }, (_, i) => eventOf(workflowId, from + i));
    return { events, next: last + 1, more: last < newest, ...(earlier && { earlier }) };
  });
  if (before > 0 && !continuedFromExecutionRunId) return continueAsNew<typeof hookedThread>({ request, messages, before, stale });
  return runHooks(request);
}

function eventOf(threadId: string, seq: number): DurableEvent {
  const timestamp = new Date(0).toISOString();
  return { seq, type: 'agent.run.step.created', timestamp, threadId, runId: 'run-1', data: { stepId: `step-${seq}`, turn: seq } };
}
