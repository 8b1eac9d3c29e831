import { ApplicationFailure, isCancellation } from '@temporalio/workflow';
import { runOf } from '../core/calls';
import type { HookAnswer } from '../core/hooks';
import { textOf, toolCallsOf } from '../core/message';
import { inForce, stepIdOf } from '../core/state';
import { type ModelResult, type ModelWishes, spentOn } from './call-model';
import { runHook } from './hooks';
import type { ThreadContext } from './thread-context';

/** Runs `before:llm` and returns the settings that the hooks want for this call. Throws if they skip it. */
export async function beforeModel(thread: ThreadContext): Promise<ModelWishes> {
  const { state } = thread;
  const { model = '', settings = {} } = inForce(state);
  const answer = await runHook(thread, 'before:llm', { model, settings });
  if (answer?.skip) throw ApplicationFailure.nonRetryable('LLM call skipped by hook', 'llm_call_skipped');
  return {
    ...(answer?.model && { model: answer.model }),
    ...(answer?.settings && { settings: { ...settings, ...answer.settings } }),
    ...(answer?.instructions && { instructions: answer.instructions }),
  };
}

/** Runs `after:llm` on an answer. If the hooks block it or fail, records the message as incomplete with its cost, and throws. */
export async function afterModel(
  thread: ThreadContext,
  result: ModelResult,
  messageId: string,
): Promise<HookAnswer['after:llm'] | undefined> {
  const { parts, finishReason, usage } = result.step;
  try {
    return await runHook(thread, 'after:llm', { text: textOf(parts), toolCalls: toolCallsOf(parts), finishReason, usage });
  } catch (error) {
    thread.record('thread.message.incomplete', {
      stepId: stepIdOf(runOf(thread.state)),
      messageId,
      reason: isCancellation(error) ? 'cancelled' : 'failed',
      spent: spentOn(result),
    });
    throw error;
  }
}
