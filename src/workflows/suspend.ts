import { condition } from '@temporalio/workflow';
import type { RunEnd } from '../core/decide';
import { type RunState, type SuspensionState, stepIdOf } from '../core/state';
import type { Suspension } from '../core/tool';
import { closingWords } from './ask-model';
import { shouldCarryOver } from './carry-over';
import { deliverEvents } from './hooks';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import { takeInResults, waiting } from './take-in';
import type { Thread } from './thread';

const defaultTtlMs = 7 * 24 * 3_600_000;

const prompt = `The work rests now until a reply comes from outside, which may take days. Without calling tools, say in a few sentences what was done
and what is waited for.`;

/** A tool asked that the run rest: the model says some closing words, and someone's reply sets it going again. */
export async function suspend(
  thread: Thread,
  { correlationId, ttlMs = defaultTtlMs, metadata }: Suspension,
): Promise<RunEnd | 'carry-over' | undefined> {
  const { state, record } = thread;
  takeInResults(thread, stepIdOf(state.run as RunState));
  const output = await closingWords(thread, prompt, 'The run rests until a reply comes.');
  const expiresAt = new Date(Date.now() + ttlMs).toISOString();
  record('agent.run.suspended', { correlationId, expiresAt, ...(metadata && { metadata }), output });
  changeStatus(thread, 'suspended');
  publishStatus(state, 'rests');
  await deliverEvents(thread);
  return awaitReply(thread);
}

/** Until a message comes, or none has come in time. */
export async function awaitReply(thread: Thread): Promise<RunEnd | 'carry-over' | undefined> {
  const { state } = thread;
  const run = state.run as RunState;
  const { correlationId, expiresAt } = run.suspension as SuspensionState;
  const replied = () => waiting(state).length > 0;
  const left = expiresAt - Date.now();
  const shown = { summary: 'waits for a reply' };
  const inTime = left > 0 && (await condition(() => replied() || shouldCarryOver(thread, 'idle'), left, shown)) && Date.now() < expiresAt;
  // Also where something was said meanwhile: while no worker was up it waited behind the deadline.
  if (!inTime) return { type: 'expired', message: `No reply to "${correlationId}" came until ${new Date(expiresAt).toISOString()}.` };
  if (!replied()) return 'carry-over';
  changeStatus(thread, 'in_progress', 'Resumed by a reply.');
  publishStatus(state);
  return undefined;
}
