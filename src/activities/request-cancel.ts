import { Context } from '@temporalio/activity';

/** Requests cancellation of this activity's own workflow, so that the server shows it as Canceled. */
export async function requestCancel(): Promise<void> {
  const { client, info } = Context.current();
  if (info.workflowExecution) await client.workflow.getHandle(info.workflowExecution.workflowId, info.workflowExecution.runId).cancel();
}
