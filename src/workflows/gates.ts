import { CancellationScope, CancelledFailure, condition } from '@temporalio/workflow';
import { runOf } from '../core/calls';
import { limitFailure, type RunEnd } from '../core/decide';
import { limitsOf, type Reached } from '../core/spent';
import { inForce } from '../core/state';
import { pendingCalls } from '../core/views';
import { readyToCarryOver, shouldCarryOver } from './carry-over';
import { deliverEvents, hasHook, runHook } from './hooks';
import { newId } from './record';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import type { ThreadContext } from './thread-context';

export function throwIfCancelled(): void {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The run was cancelled');
}

/** Runs `pause:check` and waits while the thread is paused. Called before each model call. */
export async function gate(thread: ThreadContext): Promise<'carry-over' | undefined> {
  const { state, record } = thread;
  const answer = await runHook(thread, 'pause:check', {});
  if (answer?.pause && !state.paused) record('agent.run.paused', { reason: answer.reason ?? 'pause:check' });
  if (!state.paused) return undefined;
  for (;;) {
    await heldBack(thread, () => shouldCarryOver(thread, 'idle'));
    if (!state.paused) return undefined;
    if (await readyToCarryOver(thread, 'idle')) return 'carry-over';
  }
}

/** Waits until the thread is resumed or `otherwise` returns true. */
export async function heldBack({ state }: ThreadContext, otherwise: () => boolean = () => false): Promise<void> {
  publishStatus(state);
  await condition(() => !state.paused || otherwise());
  publishStatus(state);
}

/** Sets the run to `requires_action` and waits, without a time limit, until someone answers, `held` returns false, or a carry-over is due. */
export async function waitForPeople(thread: ThreadContext, held: () => boolean = () => true): Promise<'answered' | 'carry-over'> {
  const { state, record } = thread;
  const unanswered = () => state.run?.status === 'requires_action';
  const waits = () => unanswered() && held();
  // A cancelled run does not wait for people, and must not record that it does.
  throwIfCancelled();
  // An execution that began with a waiting run: the event is already recorded.
  if (!unanswered()) {
    changeStatus(thread, 'requires_action');
    record('thread.run.requires_action', { pending: pendingCalls(state) });
    publishStatus(state, 'waits');
    if (hasHook(thread, 'on:event')) await deliverEvents(thread);
  }
  for (;;) {
    await condition(() => !waits() || shouldCarryOver(thread, 'idle'));
    if (!waits()) break;
    if (await readyToCarryOver(thread, 'idle')) return 'carry-over';
  }
  if (unanswered()) changeStatus(thread, 'in_progress', 'Continuing run.');
  publishStatus(state);
  return 'answered';
}

/** Applies the agent's `atLimit` when a limit is reached. Returns how the run ends, or undefined if a person raised the limit. */
export async function atLimit(thread: ThreadContext, at: Reached | undefined): Promise<RunEnd | 'carry-over' | undefined> {
  const { state, record } = thread;
  const run = runOf(state);
  const way = inForce(state).atLimit;
  if (at && way === 'ask' && !run.limitAsk) record('agent.limit.reached', { id: newId('limit'), ...at });
  if (run.limitAsk) return askForMore(thread, run.limitAsk);
  if (!at) return undefined;
  if (way === 'fail') return limitFailure(at);
  return { type: 'incomplete', ...at, ...(way === 'summarize' && { summarize: true }) };
}

async function askForMore(thread: ThreadContext, { limit, max, scope }: Reached): Promise<RunEnd | 'carry-over' | undefined> {
  // Other answers, such as submitted outputs, may arrive first.
  while (thread.state.run?.limitAsk) if ((await waitForPeople(thread)) === 'carry-over') return 'carry-over';
  // An unchanged limit means that the request was refused. A limit that was raised too little is reached, and asked about, again.
  return limitsOf(thread.state)[scope][limit] === max ? { type: 'incomplete', limit, max, scope } : undefined;
}
