import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { ThreadInput } from '../contract/thread';
import type { CancelRequest } from '../core/requests';
import { newThread, type Overrides, type ThreadState } from '../core/state';
import { type Growth, grow, noGrowth } from './growth';
import { newId, type RecordEvent, recorder } from './record';

/** A thread while its workflow is in memory: the state, the door to change it, and what can't be JSON. */
export interface Thread {
  state: ThreadState;
  record: RecordEvent;
  input: ThreadInput;
  /** The history that this execution has written. No state: the next execution begins with none. */
  growth: Growth;
  /** Of the run under way: cancelling it is what `cancel` does. */
  scope: CancellationScope;
  /** Set once a cancel was accepted. No state: an execution with a cancel under way never continues as new. */
  cancelled?: CancelRequest;
  /** Of the run's model calls. Cancelled alone where a message can't wait for the end of the one under way. */
  modelCalls?: CancellationScope;
  /** Whether this run's steps may be handed to the worker that holds the thread. Not once one lacked the agent. */
  eager: boolean;
  /** Requests that wait for an activity to check them. No state: nothing is handed over meanwhile. */
  checking: number;
  /** Whether one is under way. */
  asking?: boolean;
  /** How often heartbeats failed to come in time in this run: each lengthens the timeout of its next steps. */
  alarms: number;
  /** The newest event that `on:event` has had. Crosses continue-as-new with the state. */
  delivered: number;
  /** The newest compaction in this execution's log that `on:compaction` has been told of. */
  compactionTold: number;
  /** The transcript is to be shortened before the next model call, at the end of the run, or in a run of its own. Crosses continue-as-new, too. */
  compact?: boolean;
}

export function openThread(input: ThreadInput, carried?: ThreadState): Thread {
  const { agent, mode = 'one-shot', input: said, idleTimeoutMs: _, agentWaitMs: __, ...rest } = input;
  const overrides = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Overrides;
  // An execution of an earlier release did not remember requests.
  if (carried) carried.requests ??= {};
  const state =
    carried ??
    newThread({
      threadId: workflowInfo().workflowId,
      agent,
      mode,
      overrides,
      queue: [{ id: newId('msg'), role: 'user', content: said }],
    });
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
    checking: 0,
    alarms: 0,
    delivered: state.delivered,
    compactionTold: 0,
    compact: state.compact === true,
  };
}
