import { isObject } from '../../core/json';
import { type AnswerPart, type FinishReason, noUsage, type Usage } from '../../core/message';
import { type Item, textIn } from './hosted-tools';

export function toFinishReason({ status, incomplete_details: details }: Item, parts: readonly AnswerPart[]): FinishReason {
  const reason = isObject(details) ? details.reason : undefined;
  if (reason === 'max_output_tokens' || reason === 'max_tokens' || reason === 'length') return 'length';
  if (reason === 'content_filter') return 'content_filter';
  if (status === 'incomplete' || textIn(reason) !== '') return 'unknown';
  if (parts.some(({ type }) => type === 'tool-call')) return 'tool_calls';
  const hasCompaction = parts.some(({ type }) => type === 'compaction');
  return hasCompaction && parts.every(({ type }) => type === 'compaction' || type === 'reasoning') ? 'pause' : 'stop';
}

export function toUsage(usage: Item): Usage {
  const input = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {};
  const output = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const reasoningTokens = tokens(output.reasoning_tokens);
  const outputTokens = tokens(usage.output_tokens);
  return {
    ...noUsage,
    inputTokens: tokens(usage.input_tokens),
    cachedInputTokens: tokens(input.cached_tokens),
    cacheWriteTokens: tokens(input.cache_write_tokens),
    // Some servers count reasoning separately from the answer.
    outputTokens: outputTokens < reasoningTokens ? outputTokens + reasoningTokens : outputTokens,
    reasoningTokens,
  };
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
