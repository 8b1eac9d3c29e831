import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../../agents/define-agent';
import { makeThreadWorkspace } from '../../tools/built-in/thread-workspace';
import { WorkspaceError } from '../../tools/built-in/workspace';
import type { ActivityDependencies } from './dependencies';

/** The folder in which an agent's tools work for a thread. A folder that can't be created is tried again; one that can't be used ends the step. */
export function workspaceOf(agent: Agent, { workspace }: Pick<ActivityDependencies, 'workspace'>, threadId: string): Promise<string> {
  return makeThreadWorkspace(agent.workspace ?? workspace, threadId).catch((error: Error) => {
    throw error instanceof WorkspaceError ? ApplicationFailure.nonRetryable(error.message, error.name) : error;
  });
}
