import { bounds } from '../core/bounds';
import { finalKinds, retryableKinds } from '../core/failure';
import { excerpt, isObject, type Json } from '../core/json';
import { type AnswerPart, type FinishReason, finishReasons, type ToolCall, type Usage } from '../core/message';
import { isDeeperThan, shortText, wellFormed, wellFormedJson } from '../core/text';
import { messageOfThrown } from '../core/thrown';
import { type ModelAnswer, ModelFailure } from './model';

/**
 * Normalizes a provider's answer for a thread: well-formed text, ids of limited length, and counts that can be added up. Throws `ModelFailure`
 * for a value that is not an answer, or has more calls than a thread runs. The step checks the total size.
 */
export function soundAnswer(given: unknown): ModelAnswer {
  if (!isObject(given)) throw unusable('it is not an object');
  const { parts: list, finishReason, usage, usageAfterCompaction: after } = given;
  if (!Array.isArray(list)) throw unusable('its parts are not a list');
  const { length } = list;
  if (length > bounds.answerParts) throw tooMany(length, 'parts', bounds.answerParts);
  // Only what was read is counted: the list may be a proxy or have methods of its own, and its parts may have getters.
  const parts = Array.from({ length }, (_, i) => soundPart(list[i])).flat();
  const calls = parts.filter(({ type }) => type === 'tool-call').length;
  if (calls > bounds.callsPerAnswer) throw tooMany(calls, 'tool calls', bounds.callsPerAnswer);
  return {
    parts,
    finishReason: finishReasons.includes(finishReason as FinishReason) ? (finishReason as FinishReason) : 'unknown',
    usage: soundUsage(usage),
    ...(after !== undefined && after !== null && { usageAfterCompaction: soundUsage(after) }),
  };
}

function tooMany(count: number, what: string, max: number): ModelFailure {
  return new ModelFailure('too-large', `The provider's answer has ${count} ${what}; at most ${max} are allowed.`);
}

function unusable(why: string): ModelFailure {
  return new ModelFailure('bad-request', `The provider gave an answer that can't be used: ${why}.`);
}

/** Returns no part for empty text without opaque data. */
function soundPart(given: unknown): AnswerPart[] {
  if (!isObject(given)) throw unusable('one of its parts is not an object');
  const { opaque } = given;
  const kept = opaque === undefined || opaque === null ? {} : { opaque: soundJson(opaque, 'its opaque data') };
  const part = soundKind(given, kept.opaque !== undefined);
  const isSilent = 'text' in part && part.text === '' && kept.opaque === undefined;
  return isSilent ? [] : [{ ...part, ...kept }];
}

function soundKind(part: Record<string, unknown>, hasOpaque: boolean): AnswerPart {
  const type = part.type as AnswerPart['type'];
  switch (type) {
    case 'text':
    case 'refusal':
    case 'compaction':
      return { type, text: textIn(part, 'text') };
    case 'reasoning': {
      const text = textIn(part, 'text');
      // Reasoning with opaque data goes back to the provider, so it must not be cut.
      return { type, text: hasOpaque ? text : excerpt(text, bounds.keptReasoningChars) };
    }
    case 'tool-call':
      return { type, ...soundCall(part) };
    case 'hosted-tool':
      return {
        type,
        id: wellFormed(shortText(textIn(part, 'id'), bounds.callIdChars)),
        name: wellFormed(shortText(textIn(part, 'name'), bounds.callNameChars)),
        input: soundJson(part.input ?? {}, "a hosted tool's input"),
        ...(part.output !== undefined && { output: soundJson(part.output, "a hosted tool's output") }),
        ...(part.isError === true && { isError: true }),
      };
    case 'source':
      return { type, ...textsIn(part, ['url', 'title', 'quote']) };
    case 'image':
      return { type, url: textIn(part, 'url') };
    case 'file':
      return { type, url: textIn(part, 'url'), mediaType: textIn(part, 'mediaType'), ...textsIn(part, ['name']) };
    default:
      throw unusable(`one of its parts has the unknown type ${excerpt(JSON.stringify(type satisfies never) ?? 'undefined', 80)}`);
  }
}

function textIn(part: Record<string, unknown>, field: string): string {
  const value = part[field] ?? '';
  if (typeof value !== 'string') throw unusable(`the ${field} of one of its parts is not a string`);
  return wellFormed(value);
}

function textsIn<F extends string>(part: Record<string, unknown>, fields: readonly F[]): Partial<Record<F, string>> {
  return Object.fromEntries(fields.filter((field) => part[field] !== undefined).map((field) => [field, textIn(part, field)])) as Partial<
    Record<F, string>
  >;
}

/** Replaces an unusable id by an empty one: the step then assigns an id of its own. */
function soundCall(call: unknown): ToolCall {
  const { id, name, arguments: args = '' } = isObject(call) ? call : {};
  if (typeof name !== 'string') throw unusable('one of its tool calls has no name');
  if (typeof args !== 'string') throw unusable('the arguments of one of its tool calls are not a string');
  const usable = typeof id === 'string' && id.length <= bounds.callIdChars && !/[\p{Surrogate}\p{Cc}]/u.test(id);
  return { id: usable ? id : '', name: wellFormed(name.slice(0, bounds.callNameChars)), arguments: wellFormed(args) };
}

/** Some servers report no counts, or negative ones. Invalid counts become 0. */
function soundUsage(usage: unknown): Usage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = isObject(usage) ? usage : {};
  return {
    inputTokens: soundCount(inputTokens),
    cachedInputTokens: soundCount(cachedInputTokens),
    cacheWriteTokens: soundCount(cacheWriteTokens),
    outputTokens: soundCount(outputTokens),
    reasoningTokens: soundCount(reasoningTokens),
  };
}

function soundCount(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= bounds.tokens ? value : 0;
}

function soundJson(value: unknown, what: string): Json {
  let plain: Json;
  try {
    plain = JSON.parse(JSON.stringify(value));
  } catch {
    throw unusable(`${what} can't be written as JSON`);
  }
  if (isDeeperThan(plain, bounds.jsonDepth)) throw unusable(`${what} is nested deeper than ${bounds.jsonDepth}`);
  return wellFormedJson(plain, bounds.jsonDepth + 1);
}

/** Normalizes a provider's failure for the log: a known kind, a short message, and a valid wait. */
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
      ...(typeof retryAfterMs === 'number' && retryAfterMs >= 0 && Number.isFinite(retryAfterMs) && { retryAfterMs }),
    },
    { cause: failure.cause },
  );
}
