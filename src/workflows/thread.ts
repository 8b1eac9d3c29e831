import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { ThreadInput } from '../contract/thread';
import type { CancelRequest } from '../core/requests';
import { newThread, type Overrides, type ThreadState } from '../core/state';
import { newId, type RecordEvent, recorder } from './record';

/** A thread while its workflow is in memory: the state, the door to change it, and what can't be JSON. */
export interface Thread {
  state: ThreadState;
  record: RecordEvent;
  input: ThreadInput;
  /** Of the run under way: cancelling it is what `cancel` does. */
  scope: CancellationScope;
  /** Set once a cancel was accepted. No state: an execution with a cancel under way never continues as new. */
  cancelled?: CancelRequest;
  /** Of the run's model calls. Cancelled alone where a message can't wait for the end of the one under way. */
  modelCalls?: CancellationScope;
  /** Whether one is under way. */
  asking?: boolean;
  /** The newest event that `on:event` has had. Crosses continue-as-new with the state. */
  delivered: number;
  /** The transcript is to be shortened before the next model call, at the end of the run, or in a run of its own. Crosses continue-as-new, too. */
  compact?: boolean;
}

export function openThread(input: ThreadInput, carried?: ThreadState): Thread {
  const { agent, mode = 'one-shot', input: said, idleTimeoutMs: _, ...rest } = input;
  const overrides = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Overrides;
  const state =
    carried ??
    newThread({
      threadId: workflowInfo().workflowId,
      agent,
      mode,
      overrides,
      queue: [{ id: newId('msg'), role: 'user', content: said }],
    });
  return {
    state,
    record: recorder(state),
    input,
    scope: new CancellationScope(),
    delivered: state.delivered,
    compact: state.compact === true,
  };
}
