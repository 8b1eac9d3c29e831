import { ApplicationFailure, Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { type Activities, failureTypes } from '../contract/activities';
import { eventsBeforeFirstTask, reopening } from '../contract/reopening';
import { queries } from '../contract/requests';
import { type ClosedThread, workflowType } from '../contract/thread';
import { activeRun } from '../core/state';
import { query } from './steps/ask-thread';
import { ownThread } from './steps/own-thread';

/**
 * Reads what a closed execution of the activity's own thread passes on. Only executions of the same workflow id, type and task queue are read:
 * their state was made by this engine's workers, not by whoever started the workflow.
 */
export const readClosed: Activities['readClosed'] = async ({ execution }) => {
  const { client, info } = Context.current();
  const threadId = ownThread();
  const refused = (why: string) =>
    ApplicationFailure.nonRetryable(`Thread "${threadId}" can't be reopened: ${why}`, failureTypes.notReopenable);
  try {
    const later = await reopenedSince(execution);
    if (later) return later;
    const { type, taskQueue } = await client.workflow.getHandle(threadId, execution).describe();
    if (type !== workflowType || taskQueue !== info.taskQueue) {
      throw refused(`execution ${execution} is a ${type} on task queue "${taskQueue}"`);
    }
    const closed = await query(threadId, execution, queries.closed);
    const { state } = closed;
    if (state.mode !== 'conversation' || !state.closed || activeRun(state)) throw refused('it is not a conversation that has closed');
    return closed;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw refused('the server no longer retains it');
    throw error;
  }
};

/**
 * What the thread passes on if another client has reopened and closed it in the meantime: then `execution` is no longer its last one. An execution that
 * never had the state, because it was cancelled before, is passed over.
 */
async function reopenedSince(execution: string): Promise<ClosedThread | undefined> {
  const { client, info } = Context.current();
  const threadId = ownThread();
  const { startTime } = await client.workflow.getHandle(threadId, execution).describe();
  const later: { runId: string; at: number }[] = [];
  for await (const found of client.workflow.list({ query: `WorkflowId = ${JSON.stringify(threadId)}` })) {
    const at = found.startTime.getTime();
    const isOfThread = found.type === workflowType && found.taskQueue === info.taskQueue && found.runId !== info.workflowExecution?.runId;
    if (isOfThread && at > startTime.getTime() && found.status.name !== 'CONTINUED_AS_NEW' && found.historyLength > eventsBeforeFirstTask)
      later.push({ runId: found.runId, at });
  }
  for (const { runId } of later.sort((one, other) => other.at - one.at)) {
    const closed = await query(threadId, runId, queries.closed).catch((error: Error) =>
      isNotOpened(error) ? undefined : Promise.reject(error),
    );
    if (closed?.state.mode === 'conversation' && closed.state.closed && !activeRun(closed.state)) return closed;
  }
  return undefined;
}

function isNotOpened(error: Error): boolean {
  return error.message.includes(reopening);
}
