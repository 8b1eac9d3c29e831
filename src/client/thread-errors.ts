import { WorkflowNotFoundError } from '@temporalio/client';
import { failureTypes } from '../contract/activities';
import { keyMissing } from '../contract/key-missing';
import { reopening } from '../contract/reopening';
import { replayFirst } from '../contract/replay-first';
import { updates } from '../contract/requests';
import { isRefusalCode, type RefusalCode } from '../core/refusal';
import { causesOf, grpc, grpcCode, LonghaulError, wordsOf } from './errors';

/** Translates the error of a failed request to a thread for the caller. `what` is the method that was called; the message begins with it. */
export function explain(threadId: string, what: string, error: unknown): unknown {
  if (error instanceof LonghaulError) return error;
  const { name, message, cause } = (error ?? {}) as Error & { cause?: Error & { type?: unknown } };
  if (name === 'WorkflowUpdateFailedError') {
    // The thread's reason begins with the request's name, for readers of the log. Here the name would appear twice.
    const reason = (cause?.message ?? message).replace(/^(\w+): /, (named, request) => (Object.hasOwn(updates, request) ? '' : named));
    const refusal = isRefusalCode(cause?.type) ? cause.type : undefined;
    // The thread's workflow may still have a last run to end, but it accepts no more requests.
    const code = refusal === 'thread-closed' ? refusal : 'request-refused';
    return new LonghaulError(code, `${what} was refused by thread "${threadId}": ${reason}`, undefined, {
      cause: error,
      ...(refusal && { refusal }),
    });
  }
  if (wordsOf(error).includes(keyMissing)) {
    const ours = causesOf(error).find((one) => one.name === failureTypes.keyUnavailable);
    if (ours) {
      return new LonghaulError('encryption-key-missing', `${what}: this client can't read the answer: ${ours.message}`, undefined, {
        cause: error,
      });
    }
    return new LonghaulError('encryption-key-missing', `${what}: ${keyWords(threadId, wordsOf(error))}`, undefined, { cause: error });
  }
  if (name === 'QueryNotRegisteredError' || name === 'QueryRejectedError' || grpcCode(error) === grpc.invalidArgument) {
    return new LonghaulError('request-refused', `${what} was refused by thread "${threadId}": ${message}`, undefined, { cause: error });
  }
  if (error instanceof WorkflowNotFoundError || name === 'WorkflowNotFoundError' || grpcCode(error) === grpc.notFound) {
    // The last alternative: the workflow closed while it handled the request.
    const closed = /already completed|already closed|aborted by closing/i.test(wordsOf(error));
    return closed
      ? new LonghaulError(
          'thread-closed',
          `${what}: thread "${threadId}" has ended; ${what === 'send' ? `start a new one, or reopen it if it is a conversation ("longhaul reopen ${threadId}")` : `"longhaul show ${threadId}" says how it ended, and who decided what`}`,
          undefined,
          { cause: error },
        )
      : new LonghaulError(
          'thread-not-found',
          `${what}: there is no thread "${threadId}" in this namespace; "longhaul list" lists the existing ones`,
          undefined,
          { cause: error },
        );
  }
  if (isNoWorker(error)) return noWorker(threadId, what, { cause: error });
  if (grpcCode(error) === undefined) return error;
  return new LonghaulError(
    'unreachable',
    `${what}: Temporal could not carry out the request for thread "${threadId}": ${wordsOf(error)}`,
    undefined,
    {
      cause: error,
    },
  );
}

/** Whether no worker answered: the deadline passed, or the server reported it. */
export function isNoWorker(error: unknown): boolean {
  const code = grpcCode(error);
  const { name } = (error ?? {}) as Error;
  if (name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return true;
  return code === grpc.deadlineExceeded || code === grpc.cancelled || (code === grpc.failedPrecondition && /poller/i.test(wordsOf(error)));
}

const busy: RefusalCode = 'busy';

/** Another attempt, which another worker may take, may succeed. */
const mayPass = [replayFirst, keyMissing, reopening];

/**
 * Whether a request that a worker must answer may succeed a moment later. Apart from "no poller", "failed precondition" means that the workflow
 * task currently fails, or that the history is not available yet.
 */
export function passesByItself(error: unknown): boolean {
  const code = grpcCode(error);
  if (((error as Error | null)?.cause as { type?: unknown } | undefined)?.type === busy) return true;
  return code === grpc.resourceExhausted || code === grpc.failedPrecondition || mayPass.some((words) => wordsOf(error).includes(words));
}

/** What to do if workers report that they lack a key. The report's own words speak of "this process", which a reader takes for the client. */
function keyWords(threadId: string, report: string): string {
  const [, key = '?'] = new RegExp(`${keyMissing} "([^"]*)"`).exec(report) ?? [];
  return `the workers of thread "${threadId}" do not have the encryption key "${key}", which something in the thread is encrypted with. Add that key to the keys of the workers (LONGHAUL_ENCRYPTION_KEYS_FILE, LONGHAUL_ENCRYPTION_KEYS or the option encoding.keys)`;
}

/** `failure`: with which message workers fail to continue the thread, if that is known. */
export interface Waiting {
  cause?: unknown;
  failure?: string | undefined;
  /** The thread has ended: no worker continues it, but a worker must answer what is asked about it. */
  closed?: boolean;
  /** The request changes the thread, and the server may still deliver it to the next worker. */
  asked?: boolean;
}

/** The error of a request or a reader for which no worker did anything in time. */
export function noWorker(threadId: string, what: string, { cause, failure, asked = false, closed = false }: Waiting = {}): LonghaulError {
  const why = failure?.includes(keyMissing) ? keyWords(threadId, failure) : failure;
  if (closed) {
    const unable = why === undefined ? 'no worker answers' : `no worker is able to answer: ${why}`;
    const words = `${what}: thread "${threadId}" has ended, and ${unable}. Its log can be read without a worker: "longhaul events ${threadId}". For other requests, start a worker with "longhaul worker" on the thread's task queue`;
    return new LonghaulError('no-worker', words, undefined, { cause });
  }
  const late = asked
    ? `. The request may still be carried out then: repeat it under the same id, or check "longhaul show ${threadId}", before you send another one`
    : '';
  if (why !== undefined) {
    const words = `${what}: no worker is able to continue thread "${threadId}": ${why}. The thread is safe and continues when a worker that is able to runs${late}`;
    return new LonghaulError('no-worker', words, undefined, { cause });
  }
  return new LonghaulError(
    'no-worker',
    `${what}: no worker answers for thread "${threadId}". The thread is safe and continues when a worker is running: start one with "longhaul worker" on the thread's task queue (with worker versioning, one of the current version)${late}`,
    undefined,
    { cause },
  );
}
