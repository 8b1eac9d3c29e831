import { isCancellation } from '@temporalio/workflow';
import type { ContextPolicy } from '../core/agent';
import { runOf } from '../core/calls';
import { isWorthSummary, sizesOf } from '../core/context/budget';
import { bytesOf } from '../core/context/carry';
import { withoutCompactions } from '../core/context/provider-compaction';
import { type Division, divide } from '../core/context/shorten';
import { archivesWith, mergeFacts, readSummary, summaryMessage, withSummary } from '../core/context/summary';
import { tokensOf } from '../core/context/tokens';
import { beforeCall } from '../core/decide';
import type { CompactionReason, SpentOnCall } from '../core/event';
import { refusalOf, textOf, type UserMessage } from '../core/message';
import { inForce, stepIdOf } from '../core/state';
import { hashOf } from '../core/transcript';
import { failureOf, failureType, type ModelResult, type ModelWishes, requestAnswer, spentInVain, spentOn } from './call-model';
import { heldBack } from './gates';
import { hasHook, runHook } from './hooks';
import { beforeModel } from './model-hooks';
import { newId } from './record';
import type { ThreadContext } from './thread-context';

/** Why a summary is made, and how many tokens of the transcript the model may get for it, if its window is not the only bound. */
interface Occasion {
  reason: CompactionReason;
  maxInputTokens?: number;
}

/**
 * Has a model summarize the older part of the transcript and puts the summary in its place. Returns `nothing` if there is nothing to summarize
 * or a limit forbids it, and `failed` if the summary failed: then the transcript stays as it is, and none is tried for some turns. Throws only if the run is cancelled.
 */
export async function summarize(
  thread: ThreadContext,
  policy: ContextPolicy,
  occasion: Occasion,
): Promise<'summarized' | 'failed' | 'nothing'> {
  const { state, record } = thread;
  const { reason } = occasion;
  // A compaction of its own run, and one within a turn, are not preceded by the checks before a turn.
  if (beforeCall(state, Date.now())) return 'nothing';
  const division = divide(state.messages, policy, runOf(state).opening, sizesOf(state));
  if (!division || (reason === 'window' && !isWorthSummary(state, policy, division))) return 'nothing';
  const request = reason === 'requested' ? state.compact : undefined;
  record('thread.context.compaction.started', { stepId: stepIdOf(runOf(state)), reason });
  let spent: SpentOnCall | undefined;
  try {
    const result = await requestSummary(thread, policy, division, occasion);
    spent = spentOn(result);
    const { archiveRef } = result.step;
    const { summary, retained } = await summaryOf(thread, division, result);
    const messages = withSummary({ ...division, tail: withoutCompactions(division.tail) }, summary);
    const droppedMessages = division.replaced.length;
    record(
      'thread.context.compacted',
      {
        reason,
        prunedOutputs: 0,
        droppedMessages,
        bytes: bytesOf(messages),
        summary,
        ...(archiveRef && { archiveRef }),
        spent,
        ...request,
      },
      { transcript: { messages, hash: hashOf(messages) }, retained },
    );
    return 'summarized';
  } catch (error) {
    spent ??= spentInVain(error, policy.model ?? inForce(state).model ?? '');
    const failed = isCancellation(error) ? 'The run was cancelled.' : failureOf(error).message;
    record('thread.context.kept', { bytes: bytesOf(state.messages), reason, failed, ...(spent && { spent }), ...request });
    if (isCancellation(error)) throw error;
    return 'failed';
  }
}

/** Makes the model call. If the messages are too long for the model, it gets half of them once more: estimates of tokens may be wrong. */
async function requestSummary(
  thread: ThreadContext,
  policy: ContextPolicy,
  { end }: Division,
  { maxInputTokens }: Occasion,
): Promise<ModelResult> {
  const { state } = thread;
  const { room, charsPerToken } = sizesOf(state);
  const wishes: ModelWishes = {
    ...(hasHook(thread, 'before:llm') ? await beforeModel(thread) : {}),
    ...(policy.model && { model: policy.model }),
  };
  const maxTokens = Math.min(policy.summaryTokens, Math.ceil(room / 4));
  const request = async (max: number | undefined) => {
    // A pause may have been requested while a hook, or the call before, was under way.
    if (state.paused) await heldBack(thread);
    return requestAnswer(thread, newId('msg'), {
      ...wishes,
      summary: { end, maxTokens, charsPerToken, ...(max !== undefined && { maxInputTokens: max }) },
    });
  };
  try {
    return await request(maxInputTokens);
  } catch (error) {
    if (failureType(error) !== 'context-length') throw error;
    return request(Math.floor((maxInputTokens ?? tokensOf(state.messages.slice(0, end), charsPerToken)) / 2));
  }
}

/** Reads the answer, which hooks may change or block as any other. Throws if it is no usable summary. */
async function summaryOf(
  thread: ThreadContext,
  { replaced }: Division,
  { step: { parts, finishReason, usage, archiveRef } }: ModelResult,
): Promise<{ summary: UserMessage; retained: string[] }> {
  const { state } = thread;
  const text = textOf(parts);
  const answer = hasHook(thread, 'after:llm')
    ? await runHook(thread, 'after:llm', { text, toolCalls: [], finishReason, usage })
    : undefined;
  const refusal = refusalOf(parts);
  if (refusal !== '') throw new Error(`The model declined to summarize: ${refusal}`);
  const read = readSummary(answer?.text ?? text);
  if (!read) throw new Error('The model wrote an empty summary.');
  const retained = mergeFacts(state.context?.retained ?? [], read.retained);
  const archives = archiveRef ? archivesWith(state.context, archiveRef) : state.context?.archives;
  const summary = summaryMessage(
    newId('msg'),
    { ...read, retained },
    { background: state.background, plan: state.plan, ...(archives && { archives }) },
  );
  const { charsPerToken } = sizesOf(state);
  const [size, before] = [tokensOf([summary], charsPerToken), tokensOf(replaced, charsPerToken)];
  if (size >= before) throw new Error(`The summary (about ${size} tokens) is not shorter than what it would replace (${before}).`);
  return { summary, retained };
}
