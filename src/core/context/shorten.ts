import type { ContextPolicy } from '../agent';
import { excerpt } from '../json';
import { type Message, type ToolMessage, withText, wordsOf } from '../message';
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
  return { ...message, content: cutMiddle(content, most, outputRef?.id) };
}

/** The beginning and the end of a text, about `most` characters together. `ref`: where all of it is stored. */
export function cutMiddle(text: string, most: number, ref: string | undefined): string {
  const half = Math.floor(most / 2);
  const note = `\n[... ${text.length - 2 * half} characters left out${ref === undefined ? '' : `; ref=${ref}`} ...]\n`;
  // A cut may have parted a surrogate pair.
  const tail = text.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
  return `${excerpt(text, half)}${note}${tail}`;
}

/** A transcript divided into what a summary replaces and what stays as it is. */
export interface Division {
  /** The messages that stay before the summary: the objective, and what the current run began with. */
  head: Message[];
  replaced: Message[];
  /** The last turns, or their texts, and messages that the model has not answered yet. */
  tail: Message[];
  /** The position of the first message of which all stays: what is before it is summarized. */
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
  { keepTurns, keepTask, keepTools }: Pick<ContextPolicy, 'keepTurns' | 'keepTask' | 'keepTools'>,
  opening: readonly string[],
  { room, charsPerToken }: Sizes,
): Division | undefined {
  const start = startOfTail(messages, keepTurns, (tail) => tokensOf(tail, charsPerToken) <= room * tailShare);
  const end = keepTools === false ? Math.max(start, startOfUnseen(messages)) : start;
  const stays = isFixed(messages, { keepTask }, opening);
  const older = messages.slice(0, start);
  const head = older.filter(stays);
  const texts = messages.slice(start, end).flatMap(textsOf);
  const whole = new Set<Message>([...head, ...texts]);
  const replaced = messages.slice(0, end).filter((message) => !whole.has(message));
  if (replaced.every(isSummary)) return undefined;
  return { head, replaced, tail: [...texts, ...messages.slice(end)], end };
}

/** Whether a message stays word for word, whatever its age: the objective, unless `keepTask` is false, and what the current run began with. */
export function isFixed(
  messages: readonly Message[],
  { keepTask }: Pick<ContextPolicy, 'keepTask'>,
  opening: readonly string[],
): (message: Message) => boolean {
  const objective = keepTask === false ? undefined : messages.find(({ role }) => role === 'user');
  return (message) => message.role === 'user' && !message.summary && (message === objective || opening.includes(message.id));
}

export function isSummary(message: Message): boolean {
  return message.role === 'user' && message.summary === true;
}

/** A message without calls, results and reasoning: itself if it has none, or nothing if that is all it has. */
function textsOf(message: Message): Message[] {
  if (message.role === 'user') return [message];
  if (message.role === 'tool') return [];
  if (message.content.every(({ type }) => type === 'text')) return [message];
  const text = wordsOf(message.content);
  return text === '' ? [] : [{ ...message, content: withText([], text) }];
}

/** Returns the position of the newest answer if the model has not seen the results of its calls yet, or else of the messages that it has not answered. */
function startOfUnseen(messages: readonly Message[]): number {
  const start = unanswered(messages);
  const answer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages[start - 1]?.role === 'tool' ? answer : start;
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
