import { Context } from '@temporalio/activity';

/** Has the server cancel the workflow that this activity belongs to, so that it is shown as canceled. */
export async function requestCancel(): Promise<void> {
  const { client, info } = Context.current();
  if (info.workflowExecution) await client.workflow.getHandle(info.workflowExecution.workflowId, info.workflowExecution.runId).cancel();
}
