import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, parseObject } from '../../core/json';
import { type FinishReason, noUsage, type Usage } from '../../core/message';
import type { ModelAnswer, ModelDelta } from '../model';
import type { StreamFold } from '../wire/call';
import { Trouble } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';
import { collectParts } from './answer-parts';
import { factsOfError } from './errors';
import { collectSources } from './sources';

/** Builds one answer from the chunks of a `streamGenerateContent` stream. */
export function foldStream(onDelta: (delta: ModelDelta) => void = () => {}): StreamFold {
  const parts = collectParts(onDelta);
  const sources = collectSources();
  let usage: Record<string, unknown> = {};
  let finish: string | undefined;
  let finishWords = '';
  let count = 0;
  let done = false;

  function event(data: string): void {
    count++;
    if (count > bounds.streamEvents) throw new LimitExceeded('its stream', bounds.streamEvents, 'events');
    if (data.startsWith('[DONE]')) {
      done = true;
      return;
    }
    if (isDeepJson(data, bounds.jsonDepth)) throw new LimitExceeded('a piece of its stream', bounds.jsonDepth, 'levels of nesting');
    const chunk = parseObject(data);
    if (!chunk) throw new Trouble({ kind: 'server', words: `a piece of its stream is not a JSON object: ${data}` });
    if (chunk.error) throw new Trouble(factsOfError(chunk.error));
    takeUsage(chunk.usageMetadata);
    const candidate = firstCandidate(chunk.candidates);
    if (candidate) takeCandidate(candidate, typeof chunk.responseId === 'string' ? chunk.responseId : '');
    else if (isObject(chunk.promptFeedback)) checkPrompt(chunk.promptFeedback);
  }

  /** Counts are cumulative, and a chunk may omit some. */
  function takeUsage(told: unknown): void {
    if (!isObject(told)) return;
    usage = { ...usage, ...Object.fromEntries(Object.entries(told).filter(([, value]) => typeof value === 'number')) };
  }

  function takeCandidate(candidate: Record<string, unknown>, responseId: string): void {
    const { content, finishReason, finishMessage, groundingMetadata, urlContextMetadata, citationMetadata } = candidate;
    if (isObject(content) && Array.isArray(content.parts)) {
      for (const part of bounded(content.parts)) if (isObject(part)) parts.take(part, responseId);
    }
    sources.take({ groundingMetadata, urlContextMetadata, citationMetadata });
    const size = parts.size() + sources.size();
    if (size > bounds.answerBytes) throw new LimitExceeded('its answer', bounds.answerBytes, 'bytes of JSON');
    if (typeof finishReason === 'string' && finishReason !== '') finish = finishReason;
    if (typeof finishMessage === 'string') finishWords = finishMessage;
  }

  function checkPrompt({ blockReason, blockReasonMessage }: Record<string, unknown>): void {
    if (typeof blockReason !== 'string') return;
    const words = typeof blockReasonMessage === 'string' ? blockReasonMessage : 'the prompt was blocked';
    throw new Trouble({ kind: 'content-filter', code: blockReason, words });
  }

  function answer(): ModelAnswer {
    if (finish === undefined && !done) {
      throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without a finish reason' });
    }
    const { hasCalls, isSilent } = parts.summary();
    const reason = toFinishReason(finish);
    const finishReason = hasCalls && (reason === 'stop' || reason === 'unknown') ? 'tool_calls' : reason;
    const isMalformed = finish === 'MALFORMED_FUNCTION_CALL' && !hasCalls;
    // An empty answer is valid if it was cut off by a limit or a filter; a retry would have the same result. Text before a malformed call is not
    // an answer, because the model did not intend to stop there.
    if (isMalformed || (isSilent && finishReason !== 'length' && finishReason !== 'content_filter')) {
      const isOwnFault = finish !== undefined && finish !== 'STOP';
      throw new Trouble({ kind: 'empty', ...(isOwnFault && { code: finish, ...(finishWords && { words: finishWords }) }) });
    }
    const hosted = sources.hosted(parts.hostedNames());
    return { parts: [...parts.list(), ...hosted, ...sources.list()], finishReason, usage: toUsage(usage) };
  }

  return { event, count: () => count, isDone: () => done, isFinished: () => finish !== undefined, answer };
}

function bounded(list: unknown[]): unknown[] {
  if (list.length > bounds.eventItems) throw new LimitExceeded('a list in an event of its stream', bounds.eventItems, 'items');
  return list;
}

/** Only the first alternative counts; requests never ask for several. */
function firstCandidate(candidates: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(candidates)) return undefined;
  return bounded(candidates)
    .filter(isObject)
    .find(({ index }) => (index ?? 0) === 0);
}

function toFinishReason(reason: string | undefined): FinishReason {
  switch (reason) {
    case 'STOP':
      return 'stop';
    case 'MAX_TOKENS':
      return 'length';
    case 'SAFETY':
    case 'RECITATION':
    case 'BLOCKLIST':
    case 'PROHIBITED_CONTENT':
    case 'SPII':
    case 'MODEL_ARMOR':
    case 'JAILBREAK':
    case 'IMAGE_SAFETY':
    case 'IMAGE_PROHIBITED_CONTENT':
    case 'IMAGE_RECITATION':
      return 'content_filter';
    // LANGUAGE, OTHER, UNEXPECTED_TOOL_CALL, TOO_MANY_TOOL_CALLS, and reasons added to the API later.
    default:
      return 'unknown';
  }
}

/** The API counts thoughts separately from the answer, and the input from hosted tools separately from the prompt. */
function toUsage(usage: Record<string, unknown>): Usage {
  const thoughts = tokens(usage.thoughtsTokenCount);
  return {
    ...noUsage,
    inputTokens: tokens(usage.promptTokenCount) + tokens(usage.toolUsePromptTokenCount),
    cachedInputTokens: tokens(usage.cachedContentTokenCount),
    outputTokens: tokens(usage.candidatesTokenCount) + thoughts,
    reasoningTokens: thoughts,
  };
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
