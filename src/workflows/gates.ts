import { CancellationScope, CancelledFailure, condition } from '@temporalio/workflow';
import { limitFailure, type RunEnd } from '../core/decide';
import { limitsOf, type Reached } from '../core/spent';
import { inForce, type RunState } from '../core/state';
import { pendingCalls } from '../core/views';
import { shouldCarryOver } from './carry-over';
import { deliverEvents, hasHook, runHook } from './hooks';
import { newId } from './record';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import type { Thread } from './thread';

export function throwIfCancelled(): void {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The run was cancelled');
}

/** Before each model call: holds while the thread is paused. */
export async function gate(thread: Thread): Promise<'carry-over' | undefined> {
  const { state, record } = thread;
  const told = await runHook(thread, 'pause:check', {});
  if (told?.pause && !state.paused) record('agent.run.paused', { reason: told.reason ?? 'pause:check' });
  if (!state.paused) return undefined;
  await heldBack(thread, () => shouldCarryOver(thread, 'idle'));
  return state.paused ? 'carry-over' : undefined;
}

/** Waits until the thread is resumed, or `otherwise`. */
export async function heldBack({ state }: Thread, otherwise: () => boolean = () => false): Promise<void> {
  publishStatus(state);
  await condition(() => !state.paused || otherwise());
  publishStatus(state);
}

/** The run rests: durable, for as long as it takes. Whoever answers sets it going again, and so does all that ends what is `held`. */
export async function restUntilAnswered(thread: Thread, held: () => boolean = () => true): Promise<'answered' | 'carry-over'> {
  const { state, record } = thread;
  const unanswered = () => state.run?.status === 'requires_action';
  const rests = () => unanswered() && held();
  // A cancelled run waits for nobody, and must not say that it does.
  throwIfCancelled();
  // An execution that was begun at rest has said so already.
  if (!unanswered()) {
    changeStatus(thread, 'requires_action');
    record('thread.run.requires_action', { pending: pendingCalls(state) });
    publishStatus(state, 'rests');
    if (hasHook(thread, 'on:event')) await deliverEvents(thread);
  }
  await condition(() => !rests() || shouldCarryOver(thread, 'idle'));
  if (rests()) return 'carry-over';
  if (unanswered()) changeStatus(thread, 'in_progress', 'Continuing run.');
  publishStatus(state);
  return 'answered';
}

/** A limit forbids to go on: what the agent wants done then. `undefined`: a person granted more. */
export async function atLimit(thread: Thread, at: Reached | undefined): Promise<RunEnd | 'carry-over' | undefined> {
  const { state, record } = thread;
  const run = state.run as RunState;
  const way = inForce(state).atLimit;
  if (at && way === 'ask' && !run.limitAsk) record('agent.limit.reached', { id: newId('limit'), ...at });
  if (run.limitAsk) return askForMore(thread, run.limitAsk);
  if (!at) return undefined;
  if (way === 'fail') return limitFailure(at);
  return { type: 'incomplete', ...at, ...(way === 'summarize' && { summarize: true }) };
}

async function askForMore(thread: Thread, { limit, max, scope }: Reached): Promise<RunEnd | 'carry-over' | undefined> {
  // Other answers may come meanwhile: outputs that someone submits, say.
  while (thread.state.run?.limitAsk) if ((await restUntilAnswered(thread)) === 'carry-over') return 'carry-over';
  // Refused: nothing more was granted. Where it was, but too little, the limit is reached again, and asked about again.
  return limitsOf(thread.state)[scope][limit] === max ? { type: 'incomplete', limit, max, scope } : undefined;
}
