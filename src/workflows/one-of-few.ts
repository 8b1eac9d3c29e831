import { ApplicationFailure } from '@temporalio/workflow';
import type { Thread } from './thread';

/** The server fails the workflow task of a workflow that has more than 2,000 activities open: requests that need one can't be let in without end. */
const mostAtOnce = 50;

/**
 * Does what a request needs to have checked; throws, and so refuses the request, where too many are being checked. It returns the very
 * promise of the check, because a promise more would change the order of what history has.
 */
export function oneOfFew<T>(thread: Thread, request: string, check: () => Promise<T>): Promise<T> {
  if (thread.checking >= mostAtOnce) {
    throw ApplicationFailure.nonRetryable(
      `${request}: ${mostAtOnce} requests are being checked for this thread; send it again`,
      'InvalidRequest',
    );
  }
  thread.checking += 1;
  const checked = check();
  const done = () => {
    thread.checking -= 1;
  };
  checked.then(done, done);
  return checked;
}
