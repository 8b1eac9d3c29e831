import type { RequestName } from '../contract/requests';
import type { SignableRequest } from '../core/attestation';
import type { DecisionRequest } from '../core/requests';
import { isOvergrown } from './growth';
import { refuse } from './refuse';
import type { ThreadContext } from './thread-context';

/** The server fails a workflow task that would have more than 2,000 activities open, so the number of requests that need one is bounded. */
const mostAtOnce = 50;

/**
 * Throws `busy` for a request that an activity would have to check, if too many requests are being checked, or if so much history was written
 * that the thread must first continue as new, which it does only when no request is being checked.
 */
export function mustHaveRoom(thread: ThreadContext, name: string): void {
  if (thread.checking >= mostAtOnce) refuse(`${name}: ${mostAtOnce} requests are being checked for this thread; send it again`, 'busy');
  if (isOvergrown(thread.growth, thread.state)) {
    refuse(`${name}: the thread must continue as new before it can check more requests; send it again`, 'busy');
  }
}

const checkedByActivity: Record<SignableRequest['name'], true> = {
  approve: true,
  submitToolOutputs: true,
  answerQuestion: true,
  settle: true,
};

/** Whether an activity has to check a request: its signature or its edited arguments. */
export function needsCheck({ state }: ThreadContext, name: RequestName, request: unknown): boolean {
  if (!Object.hasOwn(checkedByActivity, name)) return false;
  return state.facts?.signedDecisions === true || (request as Partial<DecisionRequest>).arguments !== undefined;
}

/**
 * Runs a check of a request and counts it while it runs. Throws `busy` as `mustHaveRoom` does. Returns the promise of `check` itself, because one
 * more promise would change the order of commands in history.
 */
export function oneOfFew<T>(thread: ThreadContext, request: string, check: () => Promise<T>): Promise<T> {
  mustHaveRoom(thread, request);
  thread.checking += 1;
  const checked = check();
  const done = () => {
    thread.checking -= 1;
  };
  checked.then(done, done);
  return checked;
}
