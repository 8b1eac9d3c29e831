import type { SummaryRequest } from '../../contract/activities';
import { bytesOf, fit } from '../../core/context/carry';
import { summaryPrompt } from '../../core/context/summary';
import { tokensOf } from '../../core/context/tokens';
import type { Message } from '../../core/message';

/** The share of a window that estimates use: the rest is for the prompt, the instructions and the error of the estimate. */
const usableShare = 0.8;

/**
 * Returns the one message with which a model is asked for a summary. Messages that don't fit into the model's window are shortened first, the
 * oldest outputs before anything else. `wanted`: the agent's own words for what a summary must contain.
 */
export function summaryInput(
  messages: readonly Message[],
  { end, maxTokens, maxInputTokens = Number.POSITIVE_INFINITY, charsPerToken }: SummaryRequest,
  { id, windowTokens = Number.POSITIVE_INFINITY, wanted }: { id: string; windowTokens: number | undefined; wanted: string | undefined },
): Message[] {
  const older = messages.slice(0, end);
  const room = Math.min(maxInputTokens, (windowTokens - maxTokens) * usableShare);
  const tokens = tokensOf(older, charsPerToken);
  const fitted = tokens > room ? fit(older, (bytesOf(older) * room) / tokens, { cut: true }) : undefined;
  return [{ id, role: 'user', content: summaryPrompt(fitted?.messages ?? older, wanted) }];
}
