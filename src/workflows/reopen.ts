import { CancellationScope, defineUpdate, proxyActivities, setDefaultQueryHandler, setHandler } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import { reopening } from '../contract/reopening';
import { updates } from '../contract/requests';
import type { ReopenRequest } from '../contract/thread';
import { readClosedOptions } from './activity-options';
import { activityEvents, grow } from './growth';
import { refuse } from './refuse';
import { publishStatus } from './search-attributes';
import { openThread, type ThreadContext } from './thread-context';

const { readClosed } = proxyActivities<Activities>(readClosedOptions);

/**
 * Continues a closed conversation. An activity reads its state, so that nobody who may start a workflow can supply one: it reads only executions
 * of this thread's own id, and only those of a worker of this task queue.
 */
export async function reopenThread({ execution, ...words }: ReopenRequest): Promise<ThreadContext> {
  refuseForNow();
  // A cancel waits until the state is there: it would otherwise end an execution that nobody can reopen.
  const { input, state } = await CancellationScope.nonCancellable(() => readClosed({ execution }));
  const thread = openThread(input, state);
  grow(thread.growth, activityEvents, state);
  thread.record('thread.reopened', words);
  publishStatus(thread.state, 'begins');
  return thread;
}

/** Until the state is there, requests and queries are refused in such a way that clients repeat them. Signals wait for their handlers. */
function refuseForNow(): void {
  const refuseBusy = () => refuse(reopening, 'busy');
  for (const { name } of Object.values(updates)) setHandler(defineUpdate<never>(name), refuseBusy, { validator: refuseBusy });
  setDefaultQueryHandler(refuseBusy);
}
