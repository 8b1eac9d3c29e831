import type { LonghaulClient } from '../../src/client';

export interface HistoryFacts {
  /** Size of the history as the server reports it, and its number of events, after each turn. */
  at: { turn: number; bytes: number; events: number }[];
  /** Bytes of the input of each model call, by turn from 1. */
  modelInput: number[];
  bytes: number;
  events: number;
  /** COMPLETED, or TERMINATED if the server ended it. */
  status: string;
}

type Raw = Awaited<ReturnType<LonghaulClient['temporal']['workflowService']['getWorkflowExecutionHistory']>>;

/** Reads the history of a session, over all its executions. */
export async function readHistory({ temporal }: LonghaulClient, workflowId: string): Promise<HistoryFacts> {
  const newest = await temporal.workflow.getHandle(workflowId).describe();
  const facts: HistoryFacts = { at: [], modelInput: [], bytes: 0, events: 0, status: newest.status.name };
  for (let runId = newest.raw.workflowExecutionInfo?.firstRunId || newest.runId; runId; ) {
    const { raw } = await temporal.workflow.getHandle(workflowId, runId).describe();
    const next = await readExecution(temporal, { workflowId, runId }, facts);
    facts.bytes += Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0);
    facts.events += Number(raw.workflowExecutionInfo?.historyLength ?? 0);
    runId = next;
  }
  return facts;
}

/** Reads a few events at a time, because those of the naive loop are half a megabyte each. Returns the run id of the next execution, or ''. */
async function readExecution(
  temporal: LonghaulClient['temporal'],
  execution: { workflowId: string; runId: string },
  facts: HistoryFacts,
): Promise<string> {
  let size = 0;
  let next = '';
  let nextPageToken: Uint8Array | undefined;
  do {
    const page: Raw = await temporal.workflowService.getWorkflowExecutionHistory({
      namespace: temporal.options.namespace,
      execution,
      // At most two model calls of the naive loop: the client accepts at most 4 MB per response.
      maximumPageSize: 20,
      ...(nextPageToken && { nextPageToken }),
    });
    for (const event of page.history?.events ?? []) {
      size = Number(event.workflowTaskStartedEventAttributes?.historySizeBytes ?? size);
      next = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? next;
      const activity = event.activityTaskScheduledEventAttributes;
      if (activity?.activityType?.name !== 'callModel') continue;
      const events = facts.events + Number(event.eventId) - 1;
      facts.at.push({ turn: facts.modelInput.length, bytes: facts.bytes + size, events });
      facts.modelInput.push((activity.input?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0));
    }
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
  } while (nextPageToken);
  return next;
}
