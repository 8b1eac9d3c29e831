import type { NativeConnection } from '@temporalio/worker';

/** The numbers of Temporal's API. */
const running = 1;
const notFound = 5;

/** Whether a thread exists and has not ended. Rejects if the server can't say. */
export async function isThreadOpen(connection: NativeConnection, namespace: string, threadId: string): Promise<boolean> {
  try {
    const request = { namespace, execution: { workflowId: threadId } };
    const { workflowExecutionInfo } = await connection.workflowService.describeWorkflowExecution(request);
    return workflowExecutionInfo?.status === running;
  } catch (error) {
    if ((error as { code?: unknown }).code === notFound) return false;
    throw error;
  }
}
