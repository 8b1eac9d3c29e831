import { Context } from '@temporalio/activity';
import type { Activities } from '../contract/activities';
import { agentOf } from './agent-of';
import { checkedBy, withDigest } from './call-digest';
import type { ActivityDependencies } from './dependencies';

/** Whether arguments that a person edited fit their tool, and what stands for them. */
export function checkArguments({ agents }: ActivityDependencies): Activities['checkArguments'] {
  return async ({ agent, call, extraTools }) => {
    const threadId = Context.current().info.workflowExecution?.workflowId ?? '';
    const toolbox = await agentOf(agents, agent).toolsFor({ threadId });
    const verdict = await toolbox.judge(call, { mayBeAsked: true, ...(extraTools && { extraTools }) });
    return verdict.kind === 'reject' ? { error: verdict.error } : checkedBy(withDigest(threadId, call, verdict, true));
  };
}
