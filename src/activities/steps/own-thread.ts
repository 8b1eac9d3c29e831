import { Context } from '@temporalio/activity';

/** The id of the thread whose workflow has scheduled the activity. Not for steps of background calls, which have workflows of their own. */
export function ownThread(): string {
  return Context.current().info.workflowExecution?.workflowId ?? '';
}
