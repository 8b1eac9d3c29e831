import { WorkflowNotFoundError } from '@temporalio/client';
import { replayFirst } from '../contract/replay-first';
import { updates } from '../contract/requests';
import { grpc, grpcCode, LonghaulError, wordsOf } from './errors';

/** What a failed request to a thread means for whoever made it; `what` is the method that was called, with which the words begin. */
export function explain(threadId: string, what: string, error: unknown): unknown {
  if (error instanceof LonghaulError) return error;
  const { name, message, cause } = (error ?? {}) as Error & { cause?: Error };
  if (name === 'WorkflowUpdateFailedError') {
    // A thread names the request, for whoever only reads its log; here it would stand twice.
    const reason = (cause?.message ?? message).replace(/^(\w+): /, (named, request) => (Object.hasOwn(updates, request) ? '' : named));
    // Its workflow may have a last run to end; to whoever has something to say it is over.
    const code = reason.includes('is closed to new messages') ? 'thread-closed' : 'request-refused';
    return new LonghaulError(code, `${what} was refused by thread "${threadId}": ${reason}`, undefined, { cause: error });
  }
  if (name === 'QueryNotRegisteredError' || name === 'QueryRejectedError' || grpcCode(error) === grpc.invalidArgument) {
    return new LonghaulError('request-refused', `${what} was refused by thread "${threadId}": ${message}`, undefined, { cause: error });
  }
  if (error instanceof WorkflowNotFoundError || name === 'WorkflowNotFoundError' || grpcCode(error) === grpc.notFound) {
    // The last: it closed while it was asked.
    const closed = /already completed|already closed|aborted by closing/i.test(wordsOf(error));
    return closed
      ? new LonghaulError(
          'thread-closed',
          `${what}: thread "${threadId}" is over; ${what === 'send' ? 'start a new one' : `"longhaul show ${threadId}" tells how it ended, and who decided what`}`,
          undefined,
          { cause: error },
        )
      : new LonghaulError(
          'thread-not-found',
          `${what}: there is no thread "${threadId}" in this namespace; "longhaul list" shows those there are`,
          undefined,
          { cause: error },
        );
  }
  if (isNoWorker(error)) return noWorker(threadId, what, error);
  if (grpcCode(error) === undefined) return error;
  return new LonghaulError('unreachable', `${what}: Temporal did not do it for thread "${threadId}": ${wordsOf(error)}`, undefined, {
    cause: error,
  });
}

/** Whether nobody was there to answer: a deadline that passed, or the server's own word for it. */
export function isNoWorker(error: unknown): boolean {
  const code = grpcCode(error);
  const { name } = (error ?? {}) as Error;
  if (name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return true;
  return code === grpc.deadlineExceeded || code === grpc.cancelled || (code === grpc.failedPrecondition && /poller/i.test(wordsOf(error)));
}

/**
 * Whether a request that a worker must answer may succeed a moment later. Failed precondition, beside "no poller": the workflow's task fails
 * at the moment, or its history is not there yet.
 */
export function passesByItself(error: unknown): boolean {
  const code = grpcCode(error);
  return code === grpc.resourceExhausted || code === grpc.failedPrecondition || wordsOf(error).includes(replayFirst);
}

/** `asked`: something was asked of the thread, which the server may still hand to the next worker. */
export function noWorker(threadId: string, what: string, cause?: unknown, { asked = false } = {}): LonghaulError {
  const late = asked
    ? `. What was asked may still be carried out then: repeat it under the same id, or look at "longhaul show ${threadId}", before you ask for anything else`
    : '';
  return new LonghaulError(
    'no-worker',
    `${what}: no worker answers for thread "${threadId}". The thread is safe and goes on when one is up: start it with "longhaul worker" on the thread's task queue (where workers have versions, one that is current)${late}`,
    undefined,
    { cause },
  );
}
