import type { ContextPolicy } from '../agent';
import type { Message } from '../message';
import { endOfBlock } from './carry';
import { isFixed, isSummary } from './shorten';

/**
 * Drops the oldest messages until at most `most` are left. The objective, what the current run began with (`opening`, ids), summaries, the newest
 * answer and everything after it stay. A call and its results are dropped together, and what is left begins with a message of a user: if none would be
 * left before the newest answer, the last one before it stays. Returns undefined if nothing can be dropped.
 */
export function slide(
  messages: readonly Message[],
  most: number,
  policy: Pick<ContextPolicy, 'keepTask'>,
  opening: readonly string[],
): Message[] | undefined {
  const isKept = isFixed(messages, policy, opening);
  const newest = messages.findLastIndex(({ role }) => role === 'assistant');
  const kept: Message[] = [];
  let left = messages.length;
  for (let at = 0; at < newest; ) {
    const end = endOfBlock(messages, at);
    const message = messages[at] as Message;
    const stays = isKept(message) || isSummary(message);
    if (!stays && (left > most || (kept.length === 0 && message.role !== 'user'))) left -= end - at;
    else kept.push(...messages.slice(at, end));
    at = end;
  }
  const asked = messages.slice(0, Math.max(newest, 0)).findLast(({ role }) => role === 'user');
  if (kept.length === 0 && asked) kept.push(asked);
  const result = [...kept, ...messages.slice(Math.max(newest, 0))];
  return result.length < messages.length ? result : undefined;
}
