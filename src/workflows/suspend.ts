import { condition } from '@temporalio/workflow';
import { runOf } from '../core/calls';
import type { RunEnd } from '../core/decide';
import { type SuspensionState, stepIdOf, waiting } from '../core/state';
import type { Suspension } from '../core/tool';
import { readyToCarryOver, shouldCarryOver } from './carry-over';
import { closingWords } from './closing-words';
import { deliverEvents } from './hooks';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import { takeInResults } from './take-in';
import type { ThreadContext } from './thread-context';

const defaultTtlMs = 7 * 24 * 3_600_000;

const prompt = `The work rests now until a reply comes from outside, which may take days. Without calling tools, say in a few sentences what was done
and what is waited for.`;

/** Suspends a run at a tool's request: the model writes a closing text, and the run waits for a reply. */
export async function suspend(
  thread: ThreadContext,
  { correlationId, ttlMs = defaultTtlMs, metadata }: Suspension,
): Promise<RunEnd | 'carry-over' | undefined> {
  const { state, record } = thread;
  takeInResults(thread, stepIdOf(runOf(state)));
  const output = await closingWords(thread, prompt, 'The run rests until a reply comes.');
  const expiresAt = new Date(Date.now() + ttlMs).toISOString();
  record('agent.run.suspended', { correlationId, expiresAt, ...(metadata && { metadata }), output });
  changeStatus(thread, 'suspended');
  publishStatus(state, 'waits');
  await deliverEvents(thread);
  return awaitReply(thread);
}

/** Waits for a reply. Returns undefined once one is queued, `expired` if none came in time, or `carry-over`. */
export async function awaitReply(thread: ThreadContext): Promise<RunEnd | 'carry-over' | undefined> {
  const { state } = thread;
  const run = runOf(state);
  const { correlationId, expiresAt } = run.suspension as SuspensionState;
  const replied = () => waiting(state).length > 0;
  const shown = { summary: 'waits for a reply' };
  for (;;) {
    const left = expiresAt - Date.now();
    const inTime = left > 0 && (await condition(() => replied() || shouldCarryOver(thread, 'idle'), left, shown)) && Date.now() < expiresAt;
    // A message may be queued all the same: if no worker was running, it arrived after the deadline.
    if (!inTime) return { type: 'expired', message: `No reply to "${correlationId}" came until ${new Date(expiresAt).toISOString()}.` };
    if (replied()) break;
    if (await readyToCarryOver(thread, 'idle')) return 'carry-over';
  }
  changeStatus(thread, 'in_progress', 'Resumed by a reply.');
  publishStatus(state);
  return undefined;
}
