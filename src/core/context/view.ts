import type { Message } from '../message';
import type { ThreadState } from '../state';
import {
  charsPerTokenOf,
  contextLeftPercent,
  isLeftToProvider,
  isOverfull,
  isWorthSummary,
  sizesOf,
  thresholdOf,
  usedTokens,
} from './budget';
import { sinceCompaction } from './provider-compaction';
import { divide, isSummary, pruneOutputs } from './shorten';
import { tokensOf } from './tokens';

/** How full the model's context window is, and with what. All sizes are in tokens. */
export interface ContextView {
  /** What the next model call would send: as measured at the last call, and an estimate of what was added since. */
  usedTokens: number;
  /** The window of the model that answered last. Null if it is not known: then the transcript is shortened only if the provider rejects it. */
  windowTokens: number | null;
  /** The part of the window that is kept free for the answer. */
  reserveTokens: number | null;
  /** The share of the window that is left, from 0 to 100. */
  leftPercent: number | null;
  /** Above this the transcript is shortened. Null if it never is without a request. */
  compactAtTokens: number | null;
  /** Estimates of what takes how much. */
  parts: ContextParts;
  /** What would go next, and what it takes. Null if nothing would, and while compaction is left to the model's provider. */
  next: { kind: 'outputs' | 'messages'; count: number; tokens: number } | null;
}

export interface ContextParts {
  instructions: number;
  tools: number;
  /** The first message of the thread. */
  objective: number;
  /** The summary of earlier messages. */
  summary: number;
  /** Outputs of tools. */
  outputs: number;
  /** All other messages: what the model wrote and what it was told. */
  turns: number;
}

export function contextView(state: ThreadState): ContextView {
  const { windowTokens = null, reserveTokens = null } = state.context?.measured ?? {};
  const used = usedTokens(state);
  return {
    usedTokens: used,
    windowTokens,
    reserveTokens,
    leftPercent: contextLeft(state),
    compactAtTokens: compactAt(state),
    parts: partsOf(state),
    next: nextOf(state),
  };
}

function compactAt(state: ThreadState): number | null {
  const { windowTokens, compactsAt } = state.context?.measured ?? {};
  const policy = state.facts?.context;
  if (isLeftToProvider(state)) return compactsAt ?? null;
  return policy?.auto && windowTokens !== undefined ? Math.floor(thresholdOf(state, policy)) : null;
}

/** The share of the model's window that is left, in percent; null before the first answer, and if the window is not known. */
export function contextLeft(state: ThreadState): number | null {
  return contextLeftPercent(usedTokens(state), state.context?.measured?.windowTokens);
}

function partsOf(state: ThreadState): ContextParts {
  const { messages, context } = state;
  // The first message is a summary if the agent does not keep its task.
  const objective = messages[0] && !isSummary(messages[0]) ? messages[0] : undefined;
  // Messages that the provider replaced stay for other models.
  const sent = isLeftToProvider(state) ? sinceCompaction(messages, () => true) : messages;
  const rest = sent.filter((message) => message !== objective);
  const sizeOf = (some: Message[]) => tokensOf(some, charsPerTokenOf(state));
  return {
    instructions: context?.measured?.instructionTokens ?? 0,
    tools: context?.measured?.toolTokens ?? 0,
    objective: sizeOf(objective ? [objective] : []),
    summary: sizeOf(rest.filter(isSummary)),
    outputs: sizeOf(rest.filter(({ role }) => role === 'tool')),
    turns: sizeOf(rest.filter((message) => message.role !== 'tool' && !isSummary(message))),
  };
}

function nextOf(state: ThreadState): ContextView['next'] {
  const policy = state.facts?.context;
  if (!policy || isLeftToProvider(state)) return null;
  const sizes = sizesOf(state);
  const pruned = pruneOutputs(state.messages, policy, sizes);
  if (pruned && !isOverfull(state, policy, pruned.freedTokens)) {
    return { kind: 'outputs', count: pruned.prunedOutputs, tokens: pruned.freedTokens };
  }
  const division = divide(state.messages, policy, state.run?.opening ?? [], sizes);
  if (!division || !isWorthSummary(state, policy, division)) return null;
  return { kind: 'messages', count: division.replaced.length, tokens: tokensOf(division.replaced, sizes.charsPerToken) };
}
