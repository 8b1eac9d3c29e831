import type { Activities } from '../contract/activities';
import { agentOf } from './steps/agent-of';
import { checkedBy, withDigest } from './steps/call-digest';
import type { ActivityDependencies } from './steps/dependencies';
import { ownThread } from './steps/own-thread';

/** Checks arguments that a person edited against their tool, and returns the digest of the edited call. */
export function checkArguments({ agents, outputTools = [] }: ActivityDependencies): Activities['checkArguments'] {
  return async ({ agent, call, extraTools }) => {
    const threadId = ownThread();
    const toolbox = await agentOf(agents, agent).toolsFor({ threadId, outputTools });
    const verdict = await toolbox.judge(call, { threadId, mayBeAsked: true, ...(extraTools && { extraTools }) });
    if (verdict.kind === 'reject') return { error: verdict.error };
    const approval = 'approval' in verdict && verdict.approval;
    return { ...checkedBy(withDigest(threadId, call, verdict, true)), ...(approval && { approval }) };
  };
}
