import type { Client } from '@temporalio/client';
import { messageOf } from './decode';

/** How many of the newest events are searched: a few requests may have arrived since the failure. */
const newest = 20;

/** Whether the thread has ended, as far as the server says. Never rejects. */
export async function isClosed({ client, threadId }: { client: Client; threadId: string }): Promise<boolean> {
  const described = await client.workflow
    .getHandle(threadId)
    .describe()
    .catch(() => undefined);
  return described !== undefined && described.status.name !== 'RUNNING';
}

/** Returns the message with which workers fail the thread's newest workflow task, if they do. Never rejects. */
export async function whyStuck({ client, threadId }: { client: Client; threadId: string }): Promise<string | undefined> {
  const { namespace } = client.options;
  const request = { namespace, execution: { workflowId: threadId }, maximumPageSize: newest };
  const page = await client.workflowService.getWorkflowExecutionHistoryReverse(request).catch(() => undefined);
  for (const event of page?.history?.events ?? []) {
    const failure = event.workflowTaskFailedEventAttributes?.failure;
    if (failure) return messageOf(client, failure);
    if (event.workflowTaskCompletedEventAttributes) return undefined;
  }
  return undefined;
}
