import type { ContextPolicy } from '../agent';
import { resultOf } from '../calls';
import type { Message } from '../message';
import { type ThreadState, waiting } from '../state';
import { isLong } from './cut';
import { type Division, isSummary, type Sizes } from './shorten';
import { defaultCharsPerToken, tokensOf } from './tokens';

/** How full the model's window was at one model call. An activity measures it, and it is recorded with the answer. */
export interface ContextMeasure {
  /** Input and output of the call as the provider counted them, or else estimated: about what the next call sends. */
  usedTokens: number;
  /** The model's context window; absent if it is not known. */
  windowTokens?: number;
  /** The part of the window that is kept free for the answer. */
  reserveTokens?: number;
  /** What the instructions and the tools take of it. */
  instructionTokens: number;
  toolTokens: number;
  /** Characters per token, to estimate what is added until the next call. */
  charsPerToken: number;
  /** The provider was asked to compact the conversation itself above so many input tokens. */
  compactsAt?: number;
  /** It did not, although there were more. */
  uncompacted?: true;
}

/** The reserve for answers whose maximum length is not known. */
const usualReserve = 32_000;

/** Returns what is kept free of a window for the answer. `answerTokens`: the maximum length of the answer, if the request states one. */
export function defaultReserve(windowTokens: number, answerTokens: number | undefined): number {
  return answerTokens === undefined
    ? Math.min(usualReserve, Math.floor(windowTokens / 4))
    : Math.min(answerTokens, Math.floor(windowTokens / 2));
}

/** Tokens that requests may have: the window without the reserve. Undefined if the window is not known. */
export function roomOf({ context }: ThreadState): number | undefined {
  const { windowTokens, reserveTokens = 0 } = context?.measured ?? {};
  return windowTokens === undefined ? undefined : windowTokens - reserveTokens;
}

/** Tokens that the next model call would send: those of the last call, and an estimate of what was added since. */
export function usedTokens(state: ThreadState): number {
  return (state.run?.context ?? 0) + addedTokens(state);
}

/** An estimate of the messages after the last answer, of results that are about to join them, and of messages that the run takes in next. */
function addedTokens(state: ThreadState): number {
  const { messages } = state;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  return tokensOf([...since, ...comingMessages(state)], charsPerTokenOf(state)) + justLoadedTokens(state);
}

/** Results that are about to join the transcript, and messages that the run takes in next. */
function comingMessages(state: ThreadState): Message[] {
  const results = (state.run?.calls ?? []).flatMap((call) => (call.phase === 'done' ? resultOf(call) : []));
  return [...results, ...waiting(state)];
}

/** The tools that were found after the last answer. */
function justLoadedTokens(state: ThreadState): number {
  const { loadedTools = [] } = state;
  const turn = turnsOf(state);
  const chars = loadedTools.reduce((sum, tool) => sum + (tool.since === turn ? tool.chars : 0), 0);
  return Math.ceil(chars / charsPerTokenOf(state));
}

export function charsPerTokenOf({ context }: ThreadState): number {
  return context?.measured?.charsPerToken ?? defaultCharsPerToken;
}

/** Tokens of a transcript with the instructions and tools. Without the messages after the last answer: `usedTokens` adds them. */
export function sizeAfter(state: ThreadState): number {
  const { instructionTokens = 0, toolTokens = 0 } = state.context?.measured ?? {};
  const answered = state.messages.slice(0, state.messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  return instructionTokens + toolTokens + tokensOf(answered, charsPerTokenOf(state));
}

/** The sizes that shortening goes by. Where the window is not known, what is used counts as all there is. */
export function sizesOf(state: ThreadState): Sizes {
  return { room: roomOf(state) ?? usedTokens(state), charsPerToken: charsPerTokenOf(state) };
}

/** Tokens above which the transcript is shortened. Infinite if the window is not known. */
export function thresholdOf(state: ThreadState, { compactAt }: ContextPolicy): number {
  return compactAt * (roomOf(state) ?? Number.POSITIVE_INFINITY);
}

/** Continue-as-new passes every message on. With this many, ids and names take more room than short texts, which tokens do not show. */
const mostMessages = 1_000;

/** Whether the transcript, with `freedTokens` less, would fill the model's window so far that it must be shortened. */
export function isOverfull(state: ThreadState, policy: ContextPolicy, freedTokens = 0): boolean {
  return usedTokens(state) - freedTokens > thresholdOf(state, policy) || (roomOf(state) !== undefined && hasManyMessages(state));
}

/** How many messages the transcript has too many for the agent's sliding window, if it has one: then it is to be shortened to `keepMessages`. */
export function messagesTooMany(state: ThreadState): number {
  const { auto, maxMessages, keepMessages } = state.facts?.context ?? {};
  if (!auto || maxMessages === undefined) return 0;
  const all = state.messages.length + comingMessages(state).length;
  return all > maxMessages ? all - (keepMessages ?? Math.floor(maxMessages / 2)) : 0;
}

/**
 * Whether the next model call would send what the provider would reject: with half of the reserve left, because estimates may be too low.
 * False for agents that shorten their transcripts only once that has happened.
 */
export function isBeyondWindow(state: ThreadState): boolean {
  const { context: policy, cutsToWindow } = state.facts ?? {};
  const { windowTokens = Number.POSITIVE_INFINITY, reserveTokens = 0 } = state.context?.measured ?? {};
  return policy?.auto === true && cutsToWindow === true && usedTokens(state) > windowTokens - reserveTokens / 2;
}

function hasManyMessages({ messages }: ThreadState): boolean {
  return messages.length > mostMessages;
}

/** Whether the transcript is to be shortened before the next model call without a request. */
export function isNearlyFull(state: ThreadState): boolean {
  const policy = state.facts?.context;
  if (!policy?.auto) return false;
  return isLeftToProvider(state) ? roomOf(state) !== undefined && hasManyMessages(state) : isOverfull(state, policy);
}

/** Whether the last model compacts the conversation itself, as far as is known. */
export function isLeftToProvider({ facts, context }: ThreadState): boolean {
  const { compactsAt, uncompacted } = context?.measured ?? {};
  return facts?.context?.compaction === 'provider' && compactsAt !== undefined && !uncompacted;
}

/** The share of the room that a summary must free. With less, the next one would follow too soon. */
const leastGain = 1 / 20;

/** Whether a summary would free enough to be worth its cost. */
export function isWorthSummary(state: ThreadState, { summaryTokens }: ContextPolicy, { replaced }: Division): boolean {
  if (hasManyMessages(state) && replaced.length > mostMessages / 2) return true;
  const { room, charsPerToken } = sizesOf(state);
  // A single message is cut instead, which needs no model call.
  const [only, ...others] = replaced.filter((message) => !isSummary(message));
  if (state.facts?.cutsMessages && only && others.length === 0 && isLong(only, { room, charsPerToken })) return false;
  return tokensOf(replaced, charsPerToken) - Math.min(summaryTokens, room / 8) > leastGain * room;
}

/** Turns of all runs of the thread so far. */
export function turnsOf({ before, run }: Pick<ThreadState, 'before' | 'run'>): number {
  return before.turns + (run?.turn ?? 0);
}

/** Whether summaries failed so recently that none is tried before the next turns. */
export function isBackingOff(state: ThreadState): boolean {
  return turnsOf(state) < (state.context?.backOff?.untilTurn ?? 0);
}

const longestBackOff = 64;

/** The back-off after one more summary that failed: twice as many turns each time. */
export function nextBackOff(state: ThreadState): { failures: number; untilTurn: number } {
  const failures = (state.context?.backOff?.failures ?? 0) + 1;
  return { failures, untilTurn: turnsOf(state) + Math.min(2 ** failures, longestBackOff) };
}

/** The share of the window that is left, in percent, from 0 to 100; null if it is not known. */
export function contextLeftPercent(used: number | undefined, window: number | undefined): number | null {
  if (used === undefined || window === undefined || window <= 0) return null;
  return Math.min(100, Math.max(0, Math.round((1 - used / window) * 100)));
}
