import { isCancellation } from '@temporalio/workflow';
import { runOf } from '../core/calls';
import { limitWords, type RunEnd } from '../core/decide';
import type { SpentOnCall } from '../core/event';
import { noUsage, refusalOf, textOf } from '../core/message';
import { inForce, stepIdOf } from '../core/state';
import { failureOf, requestAnswer, spentInVain, spentOn } from './call-model';
import { hasHook, runHook } from './hooks';
import { roomMaker } from './make-room';
import { beforeModel } from './model-hooks';
import { newId } from './record';
import { takeInOpening, takeInResults } from './take-in';
import type { ThreadContext } from './thread-context';

const sumUpPrompt = `You have reached the limit of what you may spend on this. Without calling tools, sum up: what was done, what was found out, and what is left to do.`;

/** Ends a run at a limit with a summary that the model writes. */
export async function sumUp(thread: ThreadContext, end: Extract<RunEnd, { type: 'incomplete' }>): Promise<RunEnd> {
  const run = runOf(thread.state);
  takeInResults(thread, stepIdOf(run));
  // For a limit that forbade even the first turn.
  takeInOpening(thread);
  const words = await closingWords(thread, sumUpPrompt, `${limitWords(end)} A summary could not be made.`);
  return { ...end, output: `[${end.limit === 'turns' ? 'Max Iterations Reached' : `Limit Reached: ${end.limit}`}] ${words}` };
}

/** Makes a model call without tools, records its text outside the transcript and returns it. If the call fails, the text is `otherwise`. */
export async function closingWords(thread: ThreadContext, prompt: string, otherwise: string): Promise<string> {
  const { state, record } = thread;
  const stepId = stepIdOf(runOf(state));
  let spent: SpentOnCall = {
    usage: noUsage,
    model: inForce(state).model ?? '',
    durationMs: 0,
  };
  try {
    // The guardrails for the model's answers apply to this text, too.
    const wishes = hasHook(thread, 'before:llm') ? await beforeModel(thread) : {};
    const result = await requestAnswer(thread, newId('msg'), { ...wishes, closing: { prompt } }, { makeRoom: roomMaker(thread) });
    spent = spentOn(result);
    const { parts, usage, finishReason } = result.step;
    const text = textOf(parts);
    const said = { text, toolCalls: [], finishReason, usage };
    const answer = hasHook(thread, 'after:llm') ? await runHook(thread, 'after:llm', said) : undefined;
    const output = (refusalOf(parts) || (answer?.text ?? text)).trim() || otherwise;
    record('agent.run.summarized', { stepId, output, ...spent });
    return output;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const { message } = failureOf(error);
    record('agent.run.summarized', { stepId, output: otherwise, ...(spentInVain(error, spent.model) ?? spent), failed: message });
    return otherwise;
  }
}
