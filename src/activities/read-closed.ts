import { ApplicationFailure, Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { type Activities, failureTypes } from '../contract/activities';
import { queries } from '../contract/requests';
import { workflowType } from '../contract/thread';
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
