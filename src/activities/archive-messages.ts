import { ApplicationFailure, Context } from '@temporalio/activity';
import { type Activities, failureTypes } from '../contract/activities';
import { agentOf } from './steps/agent-of';
import { archive } from './steps/archive';
import { askThread } from './steps/ask-thread';
import type { ActivityDependencies } from './steps/dependencies';
import { ownThread } from './steps/own-thread';

type Needed = Pick<ActivityDependencies, 'agents' | 'artifacts' | 'outputTools' | 'transcripts'>;

/** Stores the text of messages that are about to be dropped. Storing it again has no effect. */
export function archiveMessages({ agents, artifacts, outputTools = [], transcripts }: Needed): Activities['archiveMessages'] {
  return async ({ agent, transcript, ranges }) => {
    const threadId = ownThread();
    const toolbox = await agentOf(agents, agent).toolsFor({ threadId, outputTools });
    const { runId: execution = '' } = Context.current().info.workflowExecution ?? {};
    const found = await transcripts.read(threadId, transcript, askThread(threadId, execution));
    if ('missingFrom' in found) {
      throw ApplicationFailure.retryable("The transcript could not be read from the thread's workflow", failureTypes.transcriptUnavailable);
    }
    const messages = ranges.flatMap(([from, end]) => found.messages.slice(from, end));
    const ref = await archive(artifacts, toolbox, messages, threadId);
    return ref === undefined ? {} : { ref };
  };
}
