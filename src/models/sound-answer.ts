import { bounds } from '../core/bounds';
import { finalKinds, retryableKinds } from '../core/failure';
import { isObject, type JsonObject } from '../core/json';
import type { FinishReason, ToolCall, Usage } from '../core/message';
import { isDeeperThan, shortText, wellFormed, wellFormedJson } from '../core/text';
import { messageOfThrown } from '../core/thrown';
import { type ModelAnswer, ModelFailure } from './model';

const finishReasons: readonly FinishReason[] = ['stop', 'tool_calls', 'length', 'content_filter', 'unknown'];

/**
 * A provider's answer as a thread can keep it: text that is well formed, ids of a bearable length, and counts that can be added up. Throws
 * `ModelFailure` for what is no answer, or has more calls than a thread follows; the size of the whole is the step's to check.
 */
export function soundAnswer(given: unknown): ModelAnswer {
  if (!isObject(given)) throw unusable('it is no object');
  const { text = '', refusal, toolCalls = [], finishReason, usage, opaque } = given;
  if (typeof text !== 'string') throw unusable('its text is no text');
  if (!Array.isArray(toolCalls)) throw unusable('its tool calls are no list');
  if (toolCalls.length > bounds.callsPerAnswer) {
    throw new ModelFailure(
      'too-large',
      `The provider's answer has ${toolCalls.length} tool calls; at most ${bounds.callsPerAnswer} are followed.`,
    );
  }
  const kept = opaque === undefined || opaque === null ? undefined : soundOpaque(opaque);
  return {
    text: wellFormed(text),
    ...(typeof refusal === 'string' && refusal !== '' && { refusal: wellFormed(refusal) }),
    toolCalls: toolCalls.map(soundCall),
    finishReason: finishReasons.includes(finishReason as FinishReason) ? (finishReason as FinishReason) : 'unknown',
    usage: soundUsage(usage),
    ...(kept && { opaque: kept }),
  };
}

function unusable(why: string): ModelFailure {
  return new ModelFailure('bad-request', `The provider gave an answer that can't be used: ${why}.`);
}

/** An id that is unusable is left empty: the step gives the call one of its own. */
function soundCall(call: unknown): ToolCall {
  const { id, name, arguments: args = '' } = isObject(call) ? call : {};
  if (typeof name !== 'string') throw unusable('one of its tool calls has no name');
  if (typeof args !== 'string') throw unusable('one of its tool calls has arguments that are no text');
  const usable = typeof id === 'string' && id.length <= bounds.callIdChars && !/[\p{Surrogate}\p{Cc}]/u.test(id);
  return { id: usable ? id : '', name: wellFormed(name.slice(0, bounds.callNameChars)), arguments: wellFormed(args) };
}

/** Some servers count nothing, or below zero. What can't be added up counts as nothing. */
function soundUsage(usage: unknown): Usage {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = isObject(usage) ? usage : {};
  return {
    inputTokens: soundCount(inputTokens),
    cachedInputTokens: soundCount(cachedInputTokens),
    outputTokens: soundCount(outputTokens),
    reasoningTokens: soundCount(reasoningTokens),
  };
}

function soundCount(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= bounds.tokens ? value : 0;
}

function soundOpaque(opaque: unknown): JsonObject {
  let plain: unknown;
  try {
    plain = JSON.parse(JSON.stringify(opaque));
  } catch {
    throw unusable("what it wants to see again can't be written as JSON");
  }
  if (!isObject(plain) || isDeeperThan(plain, bounds.jsonDepth)) {
    throw unusable(`what it wants to see again is no object, or nested deeper than ${bounds.jsonDepth}`);
  }
  return wellFormedJson(plain as JsonObject, bounds.jsonDepth + 1);
}

/** A provider's failure as it can stand in the log, with a wait that is one. */
export function soundFailure(failure: ModelFailure): ModelFailure {
  const { kind, details } = failure;
  const { status, code, retryAfterMs } = isObject(details) ? details : {};
  const known = [...retryableKinds, ...finalKinds].includes(kind);
  return new ModelFailure(
    known ? kind : 'bad-request',
    shortText(messageOfThrown(failure), bounds.attemptMessageChars),
    {
      ...(Number.isSafeInteger(status) && { status: status as number }),
      ...(typeof code === 'string' && { code: shortText(code, bounds.failureTypeChars) }),
      ...(typeof retryAfterMs === 'number' && retryAfterMs >= 0 && { retryAfterMs }),
    },
    { cause: failure.cause },
  );
}
