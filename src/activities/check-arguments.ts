import { Context } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { agentOf } from './agent-of';
import type { ActivityDependencies } from './dependencies';

/** Whether arguments that a person edited fit their tool. */
export function checkArguments({ agents }: ActivityDependencies): Activities['checkArguments'] {
  return async ({ agent, call, extraTools }) => {
    const toolbox = await agentOf(agents, agent).toolsFor({ threadId: Context.current().info.workflowExecution?.workflowId ?? '' });
    const verdict = await toolbox.judge(call, extraTools && { extraTools });
    return verdict.kind === 'reject' ? { error: verdict.error } : {};
  };
}
