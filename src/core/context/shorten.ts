import type { ContextPolicy } from '../agent';
import { excerpt } from '../json';
import type { Message, ToolMessage } from '../message';
import { charactersOf } from '../waste';
import { tokensOf } from './tokens';

/** An output of at most so many characters is never cleared: that would free little, and it is not stored. */
export const smallOutput = 200;

/** Returns a tool's message as the model sees it once its output is cleared. */
export function clearOutput(message: ToolMessage): ToolMessage {
  return { ...message, content: clearedText(message) };
}

/** Whether the content of a message, or the output of its call, was cleared. */
export function isCleared({ content, outputRef }: Pick<ToolMessage, 'content' | 'outputRef'>): boolean {
  return content === clearedText({ outputRef });
}

/** A stored output can still be read by its reference. */
function clearedText({ outputRef }: Pick<ToolMessage, 'outputRef'>): string {
  return outputRef ? `[tool output trimmed; ref=${outputRef.id}]` : '[Old tool result content cleared]';
}

/** Sizes in tokens on which shortening depends. */
export interface Sizes {
  /** How many tokens requests may have. */
  room: number;
  charsPerToken: number;
}

export interface Pruned {
  messages: Message[];
  prunedOutputs: number;
  freedTokens: number;
}

/**
 * Clears old outputs of tools: seen from the newest on, all beyond the first `protect` tokens. The search ends at an output that was cleared
 * before, so each output is cleared once, and many at a time: every clearing invalidates the provider's prompt cache. Outputs that the model has
 * not seen yet stay, and are cut only if they take more than half of the room. Returns undefined unless all that frees more than the minimum.
 */
export function pruneOutputs(messages: readonly Message[], policy: ContextPolicy, { room, charsPerToken }: Sizes): Pruned | undefined {
  const { pruneProtectTokens: protect = Math.min(40_000, room / 4), pruneMinimumTokens: minimum = Math.min(20_000, room / 8) } = policy;
  const kept = [...messages];
  const firstUnseen = kept.findLastIndex(({ role }) => role === 'assistant') + 1;
  const mostUnseen = Math.max(Math.floor((room / 2 / (kept.length - firstUnseen)) * charsPerToken), smallOutput);
  let [seen, freed, outputs] = [0, 0, 0];
  for (let i = kept.length - 1; i >= 0; i--) {
    const message = kept[i] as Message;
    if (message.role !== 'tool') continue;
    if (isCleared(message)) break;
    const tokens = tokensOf([message], charsPerToken);
    seen += tokens;
    const short = i < firstUnseen ? clearOutput(message) : cutOutput(message, mostUnseen);
    const gain = tokens - tokensOf([short], charsPerToken);
    if (seen <= protect || gain <= 0 || charactersOf([message]) <= smallOutput) continue;
    kept[i] = short;
    freed += gain;
    outputs += 1;
  }
  return freed > minimum ? { messages: kept, prunedOutputs: outputs, freedTokens: freed } : undefined;
}

/** Leaves out the middle of a long output. */
function cutOutput(message: ToolMessage, most: number): ToolMessage {
  const { content, outputRef } = message;
  if (typeof content !== 'string' || content.length <= most) return message;
  const ref = outputRef ? `; ref=${outputRef.id}` : '';
  const half = Math.floor(most / 2);
  const note = `\n[... ${content.length - 2 * half} characters left out${ref} ...]\n`;
  // A cut may have parted a surrogate pair.
  const tail = content.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
  return { ...message, content: `${excerpt(content, half)}${note}${tail}` };
}

/** A transcript divided into what a summary replaces and what stays as it is. */
export interface Division {
  /** The messages that stay before the summary: the objective, and what the current run began with. */
  head: Message[];
  replaced: Message[];
  /** The last turns, and messages that the model has not answered yet. */
  tail: Message[];
  /** The position at which `tail` begins. */
  end: number;
}

/** The share of the room that the last turns may take; with more, fewer of them stay. */
const tailShare = 1 / 4;

/**
 * Divides a transcript for a summary. `opening`: ids of the messages that the current run began with. A call is never separated from its
 * results. Returns undefined if nothing but an earlier summary could be replaced.
 */
export function divide(
  messages: readonly Message[],
  { keepTurns }: Pick<ContextPolicy, 'keepTurns'>,
  opening: readonly string[],
  { room, charsPerToken }: Sizes,
): Division | undefined {
  const end = startOfTail(messages, keepTurns, (tail) => tokensOf(tail, charsPerToken) <= room * tailShare);
  const objective = messages.findIndex(({ role }) => role === 'user');
  const stays = (message: Message, i: number) =>
    message.role === 'user' && !message.summary && (i === objective || opening.includes(message.id));
  const older = messages.slice(0, end);
  const head = older.filter(stays);
  const replaced = older.filter((message, i) => !stays(message, i));
  if (replaced.every((message) => message.role === 'user' && message.summary)) return undefined;
  return { head, replaced, tail: messages.slice(end), end };
}

/** Returns the position of the first of the last turns that stay: at most `most`, and only as many as `fits` accepts. */
function startOfTail(messages: readonly Message[], most: number, fits: (tail: Message[]) => boolean): number {
  let start = unanswered(messages);
  for (let turns = 0, i = start - 1; i >= 0 && turns < most; i--) {
    if (messages[i]?.role !== 'assistant') continue;
    if (!fits(messages.slice(i))) break;
    start = i;
    turns += 1;
  }
  return start;
}

/** Returns the position of the first user message that no answer or result follows. */
function unanswered(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role !== 'user') + 1;
}
