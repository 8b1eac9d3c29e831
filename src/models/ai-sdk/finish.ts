import { isObject } from '../../core/json';
import type { FinishReason, Usage } from '../../core/message';
import { Trouble } from '../wire/failure';

/** A string in version 2; later an object with the vendor's own value. */
export function toFinishReason(given: unknown): FinishReason {
  const { unified, raw } = isObject(given) ? given : { unified: given, raw: given };
  if (unified === 'error') throw new Trouble({ kind: 'server', words: 'it ended its answer with an error' });
  // Anthropic interrupts long turns with this value, which the specification doesn't define.
  if (raw === 'pause_turn') return 'pause';
  switch (unified) {
    case 'stop':
    case 'length':
      return unified;
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return 'content_filter';
    default:
      return 'unknown';
  }
}

/** Whether the vendor gave no finish reason, which usually means that the stream was truncated. */
export function isWithoutReason(given: unknown): boolean {
  if (!isObject(given)) return given === 'unknown' || given === undefined;
  return (given.unified === 'other' || given.unified === 'unknown') && (given.raw === undefined || given.raw === null);
}

/** Numbers in version 2; later objects, whose total includes cache reads and cache writes. */
export function toUsage(given: unknown): Usage {
  const usage = isObject(given) ? given : {};
  const { inputTokens: input, outputTokens: output } = usage;
  if (isObject(input) || isObject(output)) return nestedUsage(isObject(input) ? input : {}, isObject(output) ? output : {});
  const cached = tokens(usage.cachedInputTokens);
  const told = tokens(input);
  const reasoning = tokens(usage.reasoningTokens);
  return {
    // Some packages count cache reads separately from the input.
    inputTokens: cached > told ? told + cached : told,
    cachedInputTokens: cached,
    cacheWriteTokens: 0,
    outputTokens: Math.max(tokens(output), reasoning),
    reasoningTokens: reasoning,
  };
}

function nestedUsage(input: Record<string, unknown>, output: Record<string, unknown>): Usage {
  const [read, written, reasoning] = [tokens(input.cacheRead), tokens(input.cacheWrite), tokens(output.reasoning)];
  return {
    inputTokens: Math.max(tokens(input.total), tokens(input.noCache) + read + written),
    cachedInputTokens: read,
    cacheWriteTokens: written,
    outputTokens: Math.max(tokens(output.total), tokens(output.text) + reasoning),
    reasoningTokens: reasoning,
  };
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
