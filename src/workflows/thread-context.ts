import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { ThreadInput } from '../contract/thread';
import { readCarried } from '../core/carried';
import type { RequestMark } from '../core/request-ids';
import type { CancelRequest } from '../core/requests';
import { newThread, type Overrides, type ThreadState } from '../core/state';
import type { AcceptedUpdates } from './bounded-tasks';
import { type Growth, grow, noGrowth } from './growth';
import { newId, type RecordEvent, recorder, showDetails } from './record';

/** A thread while its workflow is in memory: the state, the function that changes it, and values that can't be JSON. */
export interface ThreadContext {
  state: ThreadState;
  record: RecordEvent;
  input: ThreadInput;
  /** The history that this execution has written. Not part of the state: the next execution begins with zero. */
  growth: Growth;
  /** The scope of the active run, which `cancel` cancels. */
  scope: CancellationScope;
  /** Set once a cancel was accepted. Not part of the state: an execution with a cancel in progress never continues as new. */
  cancelled?: CancelRequest;
  /** The scope of the run's model calls. A message with delivery `now` cancels only this scope. */
  modelCalls?: CancellationScope;
  /** Whether this run's steps may be dispatched eagerly to the worker that holds the thread. False once a worker lacked the agent. */
  eager: boolean;
  /** Number of background calls whose workflows are about to start. Not part of the state: the thread does not continue as new meanwhile. */
  starting: number;
  /** Number of requests that activities are checking. Not part of the state: the thread does not continue as new meanwhile. */
  checking: number;
  /** Requests with an id that are being carried out, by their keys. Not part of the state, as `checking`. */
  underWay: Map<string, RequestMark>;
  /** Decisions and answers that are being checked, by call id, with the time they arrived. Not part of the state, as `checking`. */
  deciding: Map<string, Set<{ at: number; done: Promise<unknown> }>>;
  /** The updates that the current workflow task has accepted. */
  accepted: AcceptedUpdates;
  /** Whether a model call is in progress. */
  asking?: boolean;
  /** How often heartbeats arrived too late in this run. Each time lengthens the heartbeat timeout of the next steps. */
  alarms: number;
}

/** `carried` is the state that the previous execution passed on. */
export function openThread(input: ThreadInput, carried?: unknown): ThreadContext {
  const { agent, mode = 'one-shot', input: said, idleTimeoutMs: _, agentWaitMs: __, ...rest } = input;
  const overrides = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Overrides;
  const begin = () => {
    const queue = [{ id: newId('msg'), role: 'user' as const, content: said }];
    return newThread({ threadId: workflowInfo().workflowId, agent, mode, overrides, queue });
  };
  const state = carried === undefined ? begin() : readCarried(carried);
  showDetails(state);
  const growth = { ...noGrowth };
  const record = recorder(state);
  return {
    state,
    record: (...event) => {
      grow(growth, 1);
      record(...event);
    },
    input,
    growth,
    scope: new CancellationScope(),
    eager: true,
    starting: 0,
    checking: 0,
    underWay: new Map(),
    deciding: new Map(),
    accepted: { at: 0, bytes: 0 },
    alarms: 0,
  };
}
