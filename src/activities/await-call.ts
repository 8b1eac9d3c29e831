import { Context } from '@temporalio/activity';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Activities } from '../contract/activities';
import type { ToolOutcome } from '../core/tool';
import { interrupted, isInterrupted } from './steps/step';

/** Often enough for the heartbeat timeout, and to learn soon that the thread has continued as new, which schedules this activity again. */
const beatEveryMs = 20_000;

/** Waits for the workflow of a background call. Fails only if another attempt is to wait on. */
export const awaitCall: Activities['awaitCall'] = async ({ workflowId }) => {
  const context = Context.current();
  const { client, cancellationSignal: signal } = context;
  const beats = setInterval(() => context.heartbeat(), beatEveryMs);
  try {
    const outcome = await client.connection.withAbortSignal(signal, () => client.workflow.getHandle(workflowId).result());
    return { outcome: outcome as ToolOutcome };
  } catch (error) {
    if (isInterrupted(context)) throw interrupted(context);
    if (error instanceof WorkflowFailedError) return { lost: error.cause?.message ?? error.message };
    if (error instanceof WorkflowNotFoundError) return { lost: error.message };
    throw error;
  } finally {
    clearInterval(beats);
  }
};
