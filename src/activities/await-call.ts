import { Context } from '@temporalio/activity';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Activities } from '../contract/activities';
import { isObject } from '../core/json';
import type { ToolOutcome } from '../core/tool';
import { untilAbandoned } from '../tools/running/until-abandoned';
import { interrupted, isInterrupted } from './steps/step';

/** Often enough for the heartbeat timeout, and to learn soon that the thread has continued as new, which schedules this activity again. */
const beatEveryMs = 20_000;

/** Anyone who may start workflows can start one with this id once the call's own has ended. */
function isOutcome(value: unknown): value is ToolOutcome {
  if (!isObject(value) || typeof value.status !== 'string') return false;
  return typeof value.content === 'string' || Array.isArray(value.content);
}

/** Waits for the workflow of a background call. Fails only if another attempt is to wait on. */
export const awaitCall: Activities['awaitCall'] = async ({ workflowId }) => {
  const context = Context.current();
  const { client, cancellationSignal: signal } = context;
  const beats = setInterval(() => context.heartbeat(), beatEveryMs);
  try {
    const result = client.connection.withAbortSignal(signal, () => client.workflow.getHandle(workflowId).result());
    // An abort of the request alone may not end the wait.
    const outcome: unknown = await untilAbandoned(result, signal, 0, () => {
      throw signal.reason;
    });
    return isOutcome(outcome) ? { outcome } : { lost: 'another workflow has its id' };
  } catch (error) {
    if (isInterrupted(context)) throw interrupted(context);
    if (error instanceof WorkflowFailedError) return { lost: error.cause?.message ?? error.message };
    if (error instanceof WorkflowNotFoundError) return { lost: error.message };
    throw error;
  } finally {
    clearInterval(beats);
  }
};
