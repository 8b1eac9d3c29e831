import type { LonghaulClient } from '../../src/client';

export interface HistoryFacts {
  /** After so many turns: what the server says that the history takes, and its events. */
  at: { turn: number; bytes: number; events: number }[];
  /** Bytes of the input of each model call, by turn from 1. */
  modelInput: number[];
  bytes: number;
  events: number;
  /** COMPLETED, or TERMINATED where the server ended it. */
  status: string;
}

type Raw = Awaited<ReturnType<LonghaulClient['temporal']['workflowService']['getWorkflowExecutionHistory']>>;

/** Reads what a session left behind, a few events at a time: those of the naive loop are half a megabyte each. */
export async function readHistory({ temporal }: LonghaulClient, workflowId: string): Promise<HistoryFacts> {
  const description = await temporal.workflow.getHandle(workflowId).describe();
  const facts: HistoryFacts = {
    at: [],
    modelInput: [],
    bytes: Number(description.raw.workflowExecutionInfo?.historySizeBytes ?? 0),
    events: Number(description.raw.workflowExecutionInfo?.historyLength ?? 0),
    status: description.status.name,
  };
  let size = 0;
  let nextPageToken: Uint8Array | undefined;
  do {
    const page: Raw = await temporal.workflowService.getWorkflowExecutionHistory({
      namespace: temporal.options.namespace,
      execution: { workflowId },
      // Two model calls of the naive loop at most: the client takes no more than 4 MB at once.
      maximumPageSize: 20,
      ...(nextPageToken && { nextPageToken }),
    });
    for (const event of page.history?.events ?? []) {
      size = Number(event.workflowTaskStartedEventAttributes?.historySizeBytes ?? size);
      const activity = event.activityTaskScheduledEventAttributes;
      if (activity?.activityType?.name !== 'callModel') continue;
      facts.at.push({ turn: facts.modelInput.length, bytes: size, events: Number(event.eventId) - 1 });
      facts.modelInput.push((activity.input?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0));
    }
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
  } while (nextPageToken);
  return facts;
}
