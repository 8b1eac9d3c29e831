import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { ThreadInput } from '../contract/thread';
import type { CancelRequest } from '../core/requests';
import { newThread, type ThreadState } from '../core/state';
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
}

export function openThread(input: ThreadInput, carried?: ThreadState): Thread {
  const { agent, mode = 'one-shot', model, settings, limits, strategy } = input;
  const state =
    carried ??
    newThread({
      threadId: workflowInfo().workflowId,
      agent,
      mode,
      overrides: { ...(model && { model }), ...(settings && { settings }), ...(limits && { limits }), ...(strategy && { strategy }) },
      queue: [{ id: newId('msg'), role: 'user', content: input.input }],
    });
  return { state, record: recorder(state), input, scope: new CancellationScope() };
}
