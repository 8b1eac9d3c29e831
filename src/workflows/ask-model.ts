import { ActivityFailure, ApplicationFailure, proxyActivities, sleep } from '@temporalio/workflow';
import { type Activities, type CallModelRequest, failureTypes, type ModelStep } from '../contract/activities';
import { bytesOf, fit } from '../core/context/carry';
import type { Message } from '../core/message';
import { type RunState, type ThreadState, transcriptRef } from '../core/state';
import { hashOf } from '../core/transcript';
import { modelSummary } from '../core/views';
import { callModelOptions } from './activity-options';
import type { Thread } from './thread';

const { callModel } = proxyActivities<Activities>(callModelOptions);

/**
 * One model call. The activity is given a reference to the transcript; where it can't get at the messages it says from where on,
 * and is given them inline: slower, never stuck. A transcript too long for the model is shortened, once.
 */
export async function askModel(thread: Thread, messageId: string): Promise<{ step: ModelStep; model: string }> {
  const { state } = thread;
  const model = state.overrides.model ?? state.facts?.model ?? '';
  let inline: CallModelRequest['inline'];
  let shortened = false;
  for (let tries = 1; ; tries++) {
    try {
      return { step: await call(state, messageId, model, inline), model };
    } catch (error) {
      const missingFrom = missing(error);
      if (missingFrom !== undefined && tries < patience) {
        inline = inlinePart(state, missingFrom);
        // Too much to pass inline: the reason why it could not be asked for (no free worker, a busy server) goes away with time.
        if (!inline) await sleep(Math.min(1_000 * 2 ** tries, 30_000));
      } else if (!shortened && failureType(error) === 'context-length' && shorten(thread)) {
        shortened = true;
      } else {
        throw error;
      }
    }
  }
}

function call(state: ThreadState, messageId: string, model: string, inline: CallModelRequest['inline']): Promise<ModelStep> {
  const run = state.run as RunState;
  const { settings } = state.overrides;
  const context = lastContext(state);
  const said = justSaid(state);
  return callModel.executeWithOptions({ ...callModelOptions, summary: modelSummary(run.turn, model, context) }, [
    {
      agent: state.agent,
      model,
      runId: run.id,
      turn: run.turn,
      messageId,
      transcript: transcriptRef(state),
      ...(said.length > 0 && { said }),
      ...(settings && { settings }),
      ...(inline && { inline }),
    },
  ]);
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

/** Tokens of the last call: about what the next one will send. */
function lastContext(state: ThreadState): number {
  const last = state.log.findLast((record) => record.type === 'thread.message.completed');
  const usage = last?.data.usage as { inputTokens: number; outputTokens: number } | undefined;
  return usage ? usage.inputTokens + usage.outputTokens : 0;
}

/** Tries to get the transcript to the model, about a quarter of an hour; then nothing but a person will help. */
const patience = 40;

const inlineBytes = 1_400_000;

function inlinePart(state: ThreadState, from: number): CallModelRequest['inline'] {
  const messages = state.messages.slice(from);
  return bytesOf(messages) > inlineBytes ? undefined : { from, messages };
}

/** Halves the transcript; false where nothing of it may go. */
function shorten({ state, record }: Thread): boolean {
  const before = bytesOf(state.messages);
  const fitted = fit(state.messages, before / 2);
  if (!fitted || fitted.bytes >= before) return false;
  const { messages, ...counts } = fitted;
  record('thread.context.compacted', { reason: 'context-length', ...counts }, { transcript: { messages, hash: hashOf(messages) } });
  return true;
}

function missing(error: unknown): number | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === failureTypes.transcriptUnavailable ? Number(cause.details?.[0]) : undefined;
}

function failureType(error: unknown): string | undefined | null {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause.type : undefined;
}
