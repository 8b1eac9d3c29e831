import type { ContextPolicy } from '../core/agent';
import { runOf } from '../core/calls';
import {
  isBackingOff,
  isBeyondWindow,
  isNearlyFull,
  isOverfull,
  messagesTooMany,
  sizeAfter,
  sizesOf,
  usedTokens,
} from '../core/context/budget';
import { bytesOf } from '../core/context/carry';
import { isLong } from '../core/context/cut';
import { pruneOutputs } from '../core/context/shorten';
import type { CompactionReason } from '../core/event';
import { compactionIn, type Message } from '../core/message';
import { messageOf, stepIdOf, waiting } from '../core/state';
import { hashOf } from '../core/transcript';
import type { MakeRoom } from './call-model';
import { halve, keepAsRequested } from './compaction';
import { cutLong, dropOldest, dropUntilBelow, slideWindow } from './drop-oldest';
import { summarize } from './summarize';
import { takeInMessages, takeInResults } from './take-in';
import type { ThreadContext } from './thread-context';

/** Whether the transcript is to be shortened before the next model call: it was requested, or the model's window is nearly full. */
export function isShorteningDue({ state }: ThreadContext): boolean {
  const policy = state.facts?.context;
  if (policy === undefined) return false;
  if (state.compact !== undefined || isBeyondWindow(state) || messagesTooMany(state) > 0) return true;
  return isNearlyFull(state) && (!isBackingOff(state) || policy?.ifSummaryFails === 'drop');
}

/** Shortens the transcript. Returns whether it did: then limits are to be checked again, because a summary costs money and time. */
export async function shorten(thread: ThreadContext): Promise<boolean> {
  const { state } = thread;
  const policy = state.facts?.context;
  takeInResults(thread, stepIdOf(runOf(state)));
  if (state.compact) return compactAsRequested(thread);
  if (!policy) return false;
  if (messagesTooMany(state) > 0) {
    if (await slideWindow(thread, policy)) return true;
    if (!isNearlyFull(state) && !isBeyondWindow(state)) return false;
  }
  const isEnough = (freedTokens: number) => !isOverfull(state, policy, freedTokens);
  if (prune(thread, policy, 'window', isEnough)) return true;
  const summary = isBackingOff(state) ? 'failed' : await summarize(thread, policy, { reason: 'window' });
  if (summary === 'summarized') return true;
  if (summary === 'failed' && policy.ifSummaryFails === 'drop' && (await dropUntilBelow(thread, policy))) return true;
  const mayCut = state.facts?.cutsMessages && (summary === 'nothing' || isBeyondWindow(state));
  if (mayCut && (await cutLongOrArrived(thread))) return true;
  return isBeyondWindow(state) && cutToFit(thread, policy);
}

/** Cuts messages that take most of the room, also one that waits to be taken in: only what is part of the transcript can be cut. */
function cutLongOrArrived(thread: ThreadContext): Promise<boolean> {
  const { state } = thread;
  const arrived = waiting(state);
  if (arrived.some((message) => isLong(messageOf(message), sizesOf(state)))) takeInMessages(thread, arrived);
  return cutLong(thread, 'window');
}

/**
 * Shortens a transcript that the provider would reject and that no summary shortened: clears or cuts outputs, whatever the settings protect, and
 * otherwise drops the oldest turns.
 */
async function cutToFit(thread: ThreadContext, policy: ContextPolicy): Promise<boolean> {
  const most = sizesOf(thread.state).room * shareOfProtected;
  const unprotected = { ...policy, pruneProtectTokens: Math.min(policy.pruneProtectTokens ?? most, most), pruneMinimumTokens: 0 };
  return prune(thread, unprotected, 'window') || dropOldest(thread, 'window');
}

/** The share of the room that outputs may keep when the transcript must be cut. */
const shareOfProtected = 1 / 4;

/** Carries out a requested compaction, or records that nothing could be removed. */
export async function compactAsRequested(thread: ThreadContext): Promise<boolean> {
  const { context: policy } = thread.state.facts ?? {};
  const done = policy ? await summarize(thread, policy, { reason: 'requested' }) : 'nothing';
  if (done === 'nothing') keepAsRequested(thread);
  return done === 'summarized';
}

/**
 * Returns what shortens the transcript when the provider rejects it as too long, each time in another way until none is left: old outputs are
 * cleared, older turns summarized and, if that fails, dropped. Runs that began with earlier code halve the transcript once.
 */
export function roomMaker(thread: ThreadContext): MakeRoom {
  const policy = thread.state.facts?.context;
  if (policy === null) return () => false;
  if (policy === undefined) return once(() => halve(thread, 'context-length'));
  const ways = [
    () => prune(thread, policy, 'context-length'),
    () => summarizeRejected(thread, policy),
    () => dropOldest(thread, 'context-length'),
    ...(thread.state.facts?.cutsMessages ? [() => cutLong(thread, 'context-length', leastRejected)] : []),
  ];
  return async () => {
    for (let way = ways.shift(); way; way = ways.shift()) if (await way()) return true;
    return false;
  };
}

function once(way: () => boolean): () => boolean {
  let used = false;
  return () => {
    if (used) return false;
    used = true;
    return way();
  };
}

/** A message that takes less than this share of what was rejected, as estimated, is not cut: estimates may be too low by half. */
const leastRejected = 1 / 3;

/** A model that rejected the transcript would reject it again, so a part of it is summarized: its largest outputs are left out. */
const partOfRejected = 0.6;

function isCompacted(message: Message): boolean {
  return message.role === 'assistant' && compactionIn(message.content) !== undefined;
}

async function summarizeRejected(thread: ThreadContext, policy: ContextPolicy): Promise<boolean> {
  const { state } = thread;
  if (isBackingOff(state)) return false;
  // Of a conversation that another provider compacted, the measure does not have the messages that this model gets.
  const used = state.messages.some(isCompacted) ? Math.max(usedTokens(state), sizeAfter(state)) : usedTokens(state);
  const maxInputTokens = Math.floor(used * partOfRejected);
  return (await summarize(thread, policy, { reason: 'context-length', maxInputTokens })) === 'summarized';
}

/** Clears old outputs, if that frees enough to be worth it and `isEnough`. */
function prune(
  { state, record }: ThreadContext,
  policy: ContextPolicy,
  reason: CompactionReason,
  isEnough: (freedTokens: number) => boolean = () => true,
): boolean {
  const pruned = pruneOutputs(state.messages, policy, sizesOf(state));
  if (!pruned || !isEnough(pruned.freedTokens)) return false;
  const { messages, prunedOutputs } = pruned;
  const transcript = { messages, hash: hashOf(messages) };
  record('thread.context.compacted', { reason, prunedOutputs, droppedMessages: 0, bytes: bytesOf(messages) }, { transcript });
  return true;
}
