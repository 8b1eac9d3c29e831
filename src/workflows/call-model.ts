import { ActivityFailure, ApplicationFailure, type CancellationScope, proxyActivities, sleep, TimeoutFailure } from '@temporalio/workflow';
import {
  type Activities,
  type CallModelRequest,
  failureTypes,
  type ModelStep,
  type StepProgress,
  type SummaryRequest,
} from '../contract/activities';
import type { ModelSettings } from '../core/agent';
import { withoutSignature } from '../core/attestation';
import { bounds } from '../core/bounds';
import { runOf } from '../core/calls';
import { bytesOf } from '../core/context/carry';
import type { SpentOnCall } from '../core/event';
import { type Message, noUsage, type Usage } from '../core/message';
import { inForce, type ThreadState, transcriptRef } from '../core/state';
import { closingSummary, compactionSummary, modelSummary } from '../core/views';
import { addWaste } from '../core/waste';
import { callModelOptions } from './activity-options';
import { tellCompactions } from './compaction';
import { heldBack } from './gates';
import { hasHook } from './hooks';
import { scheduleStep } from './schedule-step';
import type { ThreadContext } from './thread-context';

const { callModel } = proxyActivities<Activities>(callModelOptions);

/** Settings for one model call; they override the run's. */
export interface ModelWishes {
  model?: string;
  settings?: ModelSettings;
  instructions?: string;
  /** A call without tools, for a closing text. `prompt` is sent as the last message and does not join the transcript. */
  closing?: { prompt: string };
  /** A call without tools, for a summary of the beginning of the transcript. */
  summary?: SummaryRequest;
}

/** Shortens the transcript after the provider rejected it as too long. Returns false if nothing more can be removed. */
export type MakeRoom = () => boolean | Promise<boolean>;

export interface ModelResult {
  step: ModelStep & { usage: Usage; attempt: number };
  model: string;
}

/**
 * Calls the model and returns its answer. The activity receives a reference to the transcript. If it can't read the messages, it fails with
 * the position of the first missing one, and is called again with the missing part inline, or, if that is too large, after a wait. If the
 * transcript is too long for the model, `makeRoom` shortens it, as often as it can, and the call is repeated.
 */
export async function requestAnswer(
  thread: ThreadContext,
  messageId: string,
  wishes: ModelWishes,
  { scope, makeRoom }: { scope?: CancellationScope; makeRoom?: MakeRoom } = {},
): Promise<ModelResult> {
  const { state } = thread;
  const model = wishes.model ?? inForce(state).model ?? '';
  let inline: CallModelRequest['inline'];
  for (let tries = 1; ; tries++) {
    try {
      const made = () => call(thread, messageId, { ...wishes, model }, inline);
      const step = await (scope ? scope.run(made) : made());
      return { step: { ...step, usage: { ...noUsage, ...step.usage }, attempt: step.attempt ?? 1 }, model };
    } catch (error) {
      const missingFrom = missing(error);
      if (missingFrom !== undefined && tries < patience) {
        inline = inlinePart(state, missingFrom);
        // Too much to pass inline. The cause of the failed query (no free worker, a busy server) is temporary.
        if (!inline) await sleep(Math.min(1_000 * 2 ** tries, 30_000));
      } else {
        const made = failureType(error) === 'context-length' ? makeRoom?.() : false;
        // An `await` without a promise would change the order of commands of runs that began with earlier code.
        if (!(typeof made === 'object' ? await made : made)) throw error;
        if (hasHook(thread, 'on:compaction')) await tellCompactions(thread);
        // A pause may have been requested during the call that was rejected.
        if (state.paused) await heldBack(thread);
      }
    }
  }
}

function call(
  thread: ThreadContext,
  messageId: string,
  { model, settings: wished, instructions, closing, summary: ofSummary }: ModelWishes & { model: string },
  inline: CallModelRequest['inline'],
): Promise<ModelStep> {
  const { state } = thread;
  const { loadedTools = [] } = state;
  const run = runOf(state);
  const { tools, settings = wished } = inForce(state);
  const said = justSaid(state);
  const summary = closing ? closingSummary(model) : ofSummary ? compactionSummary(model) : modelSummary(run.turn, model, run.context);
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
    ...(ofSummary && { summary: ofSummary }),
    ...(tools && { extraTools: tools }),
    ...(loadedTools.length > 0 && !closing && !ofSummary && { loadedTools: loadedTools.map(({ name }) => name) }),
    ...(state.rules.length > 0 && { rules: state.rules.map(withoutSignature) }),
    ...(inline && { inline }),
  };
  return scheduleStep(thread, callModelOptions, request, (options, asked) =>
    callModel.executeWithOptions({ ...options, summary }, [asked]),
  );
}

/** Up to this size, sending messages twice is cheaper than a query for them. */
const saidBytes = 4_000;

/** User messages since the last answer. No worker has them in its cache, so every worker would have to query them. Empty if too large. */
function justSaid({ messages }: ThreadState): Message[] {
  const said: Message[] = [];
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as Message;
    if (message.role === 'assistant') break;
    if (message.role === 'user') said.unshift(message);
  }
  return bytesOf(said) <= saidBytes ? said : [];
}

/** Tries to get the transcript to the activity, over about a quarter of an hour. A problem that lasts longer needs a person. */
const patience = 40;

function inlinePart(state: ThreadState, from: number): CallModelRequest['inline'] {
  const messages = state.messages.slice(from);
  return bytesOf(messages) > bounds.inlineBytes ? undefined : { from, messages };
}

function missing(error: unknown): number | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === failureTypes.transcriptUnavailable ? Number(cause.details?.[0]) : undefined;
}

export function failureType(error: unknown): string | undefined | null {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause.type : undefined;
}

export function failureOf(error: unknown): { code: string; message: string } {
  const { message } = (error instanceof ActivityFailure && error.cause) || (error as Error);
  return { code: failureType(error) ?? '', message };
}

export function spentOn({ step: { usage, durationMs, costUsd, failed, wasted }, model }: ModelResult): SpentOnCall {
  return {
    usage,
    model,
    durationMs,
    ...(costUsd !== undefined && { costUsd }),
    ...(failed && { attempts: failed }),
    ...(wasted && { wasted }),
  };
}

/** What a call cost that produced no answer, or undefined if nothing is known. */
export function spentInVain(error: unknown, model: string): SpentOnCall | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const left =
    cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : (cause as { details?: unknown[] } | undefined)?.details?.at(-1);
  const { wasted, spending } = (left ?? {}) as Pick<StepProgress, 'wasted' | 'spending'>;
  const cost = addWaste(wasted, spending);
  return cost && { usage: noUsage, model, durationMs: 0, wasted: cost };
}
