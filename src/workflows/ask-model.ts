import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import { type Activities, type CallModelRequest, failureTypes, type ModelStep, type StepProgress } from '../contract/activities';
import type { ModelSettings } from '../core/agent';
import { bounds } from '../core/bounds';
import { bytesOf, fit } from '../core/context/carry';
import { limitWords, type RunEnd } from '../core/decide';
import type { SpentOnCall } from '../core/event';
import type { HookAnswer } from '../core/hooks';
import { type Message, noUsage } from '../core/message';
import { inForce, type RunState, stepIdOf, type ThreadState, transcriptRef } from '../core/state';
import { hashOf } from '../core/transcript';
import { closingSummary, modelSummary } from '../core/views';
import { addWaste } from '../core/waste';
import { callModelOptions } from './activity-options';
import { hasHook, runHook, tellCompactions } from './hooks';
import { newId } from './record';
import { scheduleStep } from './schedule-step';
import { stepScope } from './stop-steps';
import { takeInOpening, takeInResults } from './take-in';
import type { Thread } from './thread';

const { callModel } = proxyActivities<Activities>(callModelOptions);

/** What is asked of one model call in particular. */
export interface ModelWishes {
  model?: string;
  settings?: ModelSettings;
  instructions?: string;
  /** No tools: the words are wanted. Said to the model last, and not kept. */
  closing?: { prompt: string };
}

export interface Asked {
  step: ModelStep;
  model: string;
}

/** What hooks say about a model call before it is made. */
export async function beforeModel(thread: Thread): Promise<ModelWishes> {
  const { state } = thread;
  const { model = '', settings = {} } = inForce(state);
  const told = await runHook(thread, 'before:llm', { model, settings });
  if (told?.skip) throw ApplicationFailure.nonRetryable('LLM call skipped by hook', 'llm_call_skipped');
  return {
    ...(told?.model && { model: told.model }),
    ...(told?.settings && { settings: { ...settings, ...told.settings } }),
    ...(told?.instructions && { instructions: told.instructions }),
  };
}

/** What hooks say about an answer. Where they don't let it pass it was paid for all the same, and that is told. */
export async function afterModel(thread: Thread, asked: Asked, messageId: string): Promise<HookAnswer['after:llm'] | undefined> {
  const { text, calls, finishReason, usage } = asked.step;
  try {
    return await runHook(thread, 'after:llm', { text, toolCalls: calls.map(({ call }) => call), finishReason, usage });
  } catch (error) {
    thread.record('thread.message.incomplete', {
      stepId: stepIdOf(thread.state.run as RunState),
      messageId,
      reason: isCancellation(error) ? 'cancelled' : 'failed',
      spent: spentOn(asked),
    });
    throw error;
  }
}

function spentOn({ step: { usage, durationMs, costUsd, failed, wasted }, model }: Asked): SpentOnCall {
  return {
    usage,
    model,
    durationMs,
    ...(costUsd !== undefined && { costUsd }),
    ...(failed && { attempts: failed }),
    ...(wasted && { wasted }),
  };
}

/** Of a call that brought no answer. */
function spentInVain(error: unknown, model: string): SpentOnCall | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const left =
    cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : (cause as { details?: unknown[] } | undefined)?.details?.at(-1);
  const { wasted, spending } = (left ?? {}) as Pick<StepProgress, 'wasted' | 'spending'>;
  const cost = addWaste(wasted, spending);
  return cost && { usage: noUsage, model, durationMs: 0, wasted: cost };
}

/** One model call. `superseded`: a message came that could not wait for its end. */
export async function askModel(thread: Thread, messageId: string, wishes: ModelWishes = {}): Promise<Asked | 'superseded'> {
  // One for all model calls of a run: a scope is dear, and it is cancelled once at most.
  thread.modelCalls ??= stepScope(thread.state, 'model-calls');
  const scope = thread.modelCalls;
  thread.asking = true;
  try {
    return await ask(thread, messageId, wishes, scope);
  } catch (error) {
    // Where the run itself was cancelled meanwhile, that is what counts.
    const superseded = scope.consideredCancelled && isCancellation(error) && !CancellationScope.current().consideredCancelled;
    const spent = spentInVain(error, wishes.model ?? inForce(thread.state).model ?? '');
    thread.record('thread.message.incomplete', {
      stepId: stepIdOf(thread.state.run as RunState),
      messageId,
      reason: superseded ? 'superseded' : isCancellation(error) ? 'cancelled' : 'failed',
      ...(spent && { spent }),
    });
    if (superseded) return 'superseded';
    throw error;
  } finally {
    thread.asking = false;
    // Also where the answer came all the same: the next call would begin cancelled.
    if (scope.consideredCancelled) delete thread.modelCalls;
  }
}

/**
 * The activity is given a reference to the transcript; where it can't get at the messages it says from where on,
 * and is given them inline: slower, never stuck. A transcript too long for the model is shortened, once.
 */
async function ask(thread: Thread, messageId: string, wishes: ModelWishes, scope?: CancellationScope): Promise<Asked> {
  const { state } = thread;
  const model = wishes.model ?? inForce(state).model ?? '';
  let inline: CallModelRequest['inline'];
  let shortened = false;
  for (let tries = 1; ; tries++) {
    try {
      const made = () => call(thread, messageId, { ...wishes, model }, inline);
      return { step: await (scope ? scope.run(made) : made()), model };
    } catch (error) {
      const missingFrom = missing(error);
      if (missingFrom !== undefined && tries < patience) {
        inline = inlinePart(state, missingFrom);
        // Too much to pass inline: the reason why it could not be asked for (no free worker, a busy server) goes away with time.
        if (!inline) await sleep(Math.min(1_000 * 2 ** tries, 30_000));
      } else if (!shortened && failureType(error) === 'context-length' && shorten(thread, 'context-length')) {
        shortened = true;
        if (hasHook(thread, 'on:compaction')) await tellCompactions(thread);
      } else {
        throw error;
      }
    }
  }
}

function call(
  thread: Thread,
  messageId: string,
  { model, settings: wished, instructions, closing }: ModelWishes & { model: string },
  inline: CallModelRequest['inline'],
): Promise<ModelStep> {
  const { state } = thread;
  const run = state.run as RunState;
  const { tools, settings = wished } = inForce(state);
  const said = justSaid(state);
  const summary = closing ? closingSummary(model) : modelSummary(run.turn, model, run.context);
  const request: CallModelRequest = {
    agent: state.agent,
    model,
    runId: run.id,
    turn: run.turn,
    messageId,
    transcript: transcriptRef(state),
    ...(said.length > 0 && { said }),
    ...(settings && { settings: { ...settings, ...wished } }),
    ...(instructions && { instructions }),
    ...(closing && { closing }),
    ...(tools && { extraTools: tools }),
    ...(state.rules.length > 0 && { rules: state.rules }),
    ...(inline && { inline }),
  };
  return scheduleStep(thread, callModelOptions, request, (options, asked) =>
    callModel.executeWithOptions({ ...options, summary }, [asked]),
  );
}

/** Small enough that saying it twice is cheaper than being asked for it. */
const saidBytes = 4_000;

/** What was said since the last model call: no worker made it, so every worker would have to ask. */
function justSaid({ messages }: ThreadState): Message[] {
  const said: Message[] = [];
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as Message;
    if (message.role === 'assistant') break;
    if (message.role === 'user') said.unshift(message);
  }
  return bytesOf(said) <= saidBytes ? said : [];
}

/** Tries to get the transcript to the model, about a quarter of an hour; then nothing but a person will help. */
const patience = 40;

function inlinePart(state: ThreadState, from: number): CallModelRequest['inline'] {
  const messages = state.messages.slice(from);
  return bytesOf(messages) > bounds.inlineBytes ? undefined : { from, messages };
}

/** Halves the transcript; false where nothing of it may go. */
export function shorten(thread: Thread, reason: 'context-length' | 'requested'): boolean {
  const { state, record } = thread;
  if (reason === 'requested') delete thread.compact;
  const before = bytesOf(state.messages);
  const fitted = fit(state.messages, before / 2);
  if (!fitted || fitted.bytes >= before) return false;
  const { messages, ...counts } = fitted;
  record('thread.context.compacted', { reason, ...counts }, { transcript: { messages, hash: hashOf(messages) } });
  return true;
}

function missing(error: unknown): number | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === failureTypes.transcriptUnavailable ? Number(cause.details?.[0]) : undefined;
}

function failureType(error: unknown): string | undefined | null {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause.type : undefined;
}

const sumUpPrompt = `You have reached the limit of what you may spend on this. Without calling tools, sum up: what was done, what was found out, and what is left to do.`;

/** The run ends at a limit with the model's own summary of it. */
export async function sumUp(thread: Thread, end: Extract<RunEnd, { type: 'incomplete' }>): Promise<RunEnd> {
  const run = thread.state.run as RunState;
  takeInResults(thread, stepIdOf(run));
  // Where the limit forbade even the first turn.
  takeInOpening(thread);
  const words = await closingWords(thread, sumUpPrompt, `${limitWords(end)} A summary could not be made.`);
  return { ...end, output: `[${end.limit === 'turns' ? 'Max Iterations Reached' : `Limit Reached: ${end.limit}`}] ${words}` };
}

/** A model call without tools whose words are told and not kept in the transcript. Where it fails, the words are `otherwise`. */
export async function closingWords(thread: Thread, prompt: string, otherwise: string): Promise<string> {
  const { state, record } = thread;
  const stepId = stepIdOf(state.run as RunState);
  let spent: SpentOnCall = {
    usage: noUsage,
    model: inForce(state).model ?? '',
    durationMs: 0,
  };
  try {
    // What guards the model's answers guards these words, too.
    const wishes = hasHook(thread, 'before:llm') ? await beforeModel(thread) : {};
    const asked = await ask(thread, newId('msg'), { ...wishes, closing: { prompt } });
    spent = spentOn(asked);
    const { text, usage, finishReason, refusal } = asked.step;
    const said = { text, toolCalls: [], finishReason, usage };
    const told = hasHook(thread, 'after:llm') ? await runHook(thread, 'after:llm', said) : undefined;
    const output = (refusal || (told?.text ?? text)).trim() || otherwise;
    record('agent.run.summarized', { stepId, output, ...spent });
    return output;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const { message } = (error instanceof ActivityFailure && error.cause) || (error as Error);
    record('agent.run.summarized', { stepId, output: otherwise, ...(spentInVain(error, spent.model) ?? spent), failed: message });
    return otherwise;
  }
}
