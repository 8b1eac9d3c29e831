import { defaultTurns, type Limits } from './agent';
import type { FailureDetails } from './event';
import type { FinishReason } from './message';
import type { RunState, ThreadState } from './state';

/** How a run ends, or that it doesn't. */
export type RunEnd =
  | { type: 'completed' }
  | { type: 'failed'; code: string; message: string; details?: FailureDetails }
  | { type: 'incomplete'; limit: 'turns' | 'toolCalls'; max: number };

export function limitsOf(state: ThreadState): Required<Pick<Limits, 'turns'>> & Limits {
  const limits = { ...state.facts?.limits, ...state.overrides.limits };
  return { ...limits, turns: limits.turns ?? defaultTurns };
}

/** Asked before each model call. */
export function beforeTurn(state: ThreadState, run: RunState): RunEnd | undefined {
  const { turns } = limitsOf(state);
  return run.turn >= turns ? { type: 'incomplete', limit: 'turns', max: turns } : undefined;
}

/** Asked before the calls of an answer run: how many of them the run may still afford. */
export function affordableCalls(state: ThreadState, run: RunState): number {
  return Math.max(0, (limitsOf(state).toolCalls ?? Number.POSITIVE_INFINITY) - run.toolCalls);
}

/**
 * What an answer means for its run. Calls are followed whatever the reason given with them (some servers say `stop`),
 * unless the answer was cut: the arguments of a cut answer can't be trusted.
 */
export function afterAnswer(reason: FinishReason, calls: number): RunEnd | undefined {
  if (reason === 'length') return failedFinish('the answer was cut at its maximum length (finish reason "length"); raise maxTokens');
  if (reason === 'content_filter') return failedFinish("the provider's content filter stopped the answer");
  if (calls > 0) return undefined;
  if (reason === 'tool_calls') return failedFinish('the model announced tool calls and sent none');
  return { type: 'completed' };
}

function failedFinish(why: string): RunEnd {
  return { type: 'failed', code: 'llm_finish_reason_error', message: `The run failed: ${why}.` };
}
