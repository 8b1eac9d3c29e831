import type { NativeConnection } from '@temporalio/worker';

/** The numbers of Temporal's API. */
const running = 1;
const notFound = 5;
const permissionDenied = 7;

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

/**
 * The id that the server gave the namespace: another server has another one for a namespace of the same name. The name, if the worker may not ask, or
 * if there is no such namespace, which the worker finds out when it starts. Rejects if the server can't say: with the name instead, the worker would
 * not find the commands of its predecessor.
 */
export async function namespaceIdOf(connection: NativeConnection, namespace: string): Promise<string> {
  try {
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    return namespaceInfo?.id || namespace;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === permissionDenied || code === notFound) return namespace;
    throw error;
  }
}
