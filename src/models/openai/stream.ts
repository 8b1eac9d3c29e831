import { bounds } from '../../core/bounds';
import { excerpt, isDeepJson, isObject, parseObject } from '../../core/json';
import { type AnswerPart, type FinishReason, noUsage, type Usage } from '../../core/message';
import type { ModelAnswer, ModelDelta } from '../model';
import type { StreamFold } from '../wire/call';
import { factsOfBody, Trouble } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';
import { assembleToolCalls, type ToolCallDelta } from './tool-calls';

/** Builds one answer from the events of a Chat Completions stream. */
export function foldStream(toolNames: readonly string[], onDelta: (delta: ModelDelta) => void = () => {}): StreamFold {
  const tools = assembleToolCalls(toolNames);
  let text = '';
  let refusal = '';
  let reasoning = '';
  /** The delta field in which the reasoning arrived. */
  let reasoningField = '';
  let finish: string | undefined;
  let usage: Usage = noUsage;
  let count = 0;
  let reasoningChars = 0;
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
    // After a finish reason such as `length`, an error chunk only repeats why the answer ended.
    if (chunk.error && (finish === undefined || finish === 'error')) throw new Trouble(factsOfBody(chunk.error));
    if (isObject(chunk.usage)) usage = toUsage(chunk.usage);
    const choice = firstChoice(chunk.choices);
    if (!choice) return;
    // A server that replays a stored answer may send the whole message.
    const delta = choice.delta ?? choice.message;
    if (isObject(delta)) takeDelta(delta);
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') finish = choice.finish_reason;
  }

  function takeDelta(delta: Record<string, unknown>): void {
    const said = contentText(delta.content);
    const refused = contentText(delta.refusal);
    const { field, thought } = thoughtIn(delta);
    text += said;
    refusal += refused;
    if (thought) onDelta({ type: 'reasoning', text: thought });
    // Users see a refusal in place of the text.
    if (said || refused) onDelta({ type: 'text', text: said + refused });
    // `function_call` is the API's older field for a single call.
    const fragments = Array.isArray(delta.tool_calls)
      ? bounded(delta.tool_calls)
      : delta.function_call
        ? [{ index: 0, function: delta.function_call }]
        : [];
    // One delta per call, because showing a delta costs more than merging fragments.
    const shown = new Map<number, ToolCallDelta>();
    for (const fragment of fragments) {
      const added = tools.take(fragment);
      if (added) shown.set(added.index, joined(shown.get(added.index), added));
    }
    for (const added of shown.values()) onDelta(added);
    if (thought) reasoningField ||= field;
    if (reasoning.length <= bounds.keptReasoningChars) reasoning += thought;
    reasoningChars += thought.length;
    if (reasoningChars > bounds.reasoningChars) throw new LimitExceeded('its reasoning', bounds.reasoningChars, 'characters');
    // Each character is at least one byte of JSON. Checked last, because the step already received the delta and may stop the call first.
    const size = text.length + refusal.length + tools.size();
    if (size > bounds.answerBytes) throw new LimitExceeded('its answer', bounds.answerBytes, 'bytes of JSON');
  }

  function answer(): ModelAnswer {
    if (finish === undefined && !done) {
      throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without a finish reason' });
    }
    const finishReason = toFinishReason(finish);
    const calls = tools.calls();
    const silent = text === '' && refusal === '' && calls.length === 0;
    // An empty answer is valid if it was cut off by a limit or a filter; a retry would have the same result.
    if (silent && finishReason !== 'length' && finishReason !== 'content_filter') throw new Trouble({ kind: 'empty' });
    const parts: AnswerPart[] = [
      ...reasoningPart(reasoning, calls.length > 0 ? reasoningField : ''),
      ...(text ? [{ type: 'text' as const, text }] : []),
      ...(refusal ? [{ type: 'refusal' as const, text: refusal }] : []),
      ...calls.map((call) => ({ type: 'tool-call' as const, ...call })),
    ];
    return { parts, finishReason, usage };
  }

  return { event, count: () => count, isDone: () => done, isFinished: () => finish !== undefined, answer };
}

/** The delta fields in which servers send reasoning, and expect it back. */
export const reasoningFields = ['reasoning_content', 'reasoning'] as const;

function thoughtIn(delta: Record<string, unknown>): { field: string; thought: string } {
  for (const field of reasoningFields) {
    const thought = contentText(delta[field]);
    if (thought) return { field, thought };
  }
  // Mistral sends thinking as content parts, and doesn't need them back.
  const parts = Array.isArray(delta.content) ? bounded(delta.content) : [];
  const thought = parts.map((part) => (isObject(part) && part.type === 'thinking' ? contentText(part.thinking) : '')).join('');
  return { field: '', thought };
}

/**
 * Models that reason between tool calls need their reasoning back, in the field in which they sent it. Reasoning that was cut can't be sent back,
 * and is kept only for display.
 */
function reasoningPart(text: string, field: string): AnswerPart[] {
  if (text === '') return [];
  if (text.length > bounds.keptReasoningChars) return [{ type: 'reasoning', text: excerpt(text, bounds.keptReasoningChars) }];
  return [{ type: 'reasoning', text, ...(field && { opaque: { field } }) }];
}

function joined(before: ToolCallDelta | undefined, added: ToolCallDelta): ToolCallDelta {
  if (before?.arguments === undefined) return { ...before, ...added };
  return { ...before, ...added, arguments: before.arguments + (added.arguments ?? '') };
}

function bounded(list: unknown[]): unknown[] {
  if (list.length > bounds.eventItems) throw new LimitExceeded('a list in an event of its stream', bounds.eventItems, 'items');
  return list;
}

/** Only the first alternative counts; requests never ask for several. */
function firstChoice(choices: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(choices)) return undefined;
  return bounded(choices)
    .filter(isObject)
    .find((choice) => (choice.index ?? 0) === 0);
}

/** The text of a string, or of a list of parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return bounded(content)
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

function toFinishReason(reason: string | undefined): FinishReason {
  switch (reason) {
    case 'stop':
    case 'tool_calls':
    case 'length':
    case 'content_filter':
      return reason;
    case 'function_call':
      return 'tool_calls';
    // Of Together.
    case 'eos':
      return 'stop';
    default:
      return 'unknown';
  }
}

function toUsage(usage: Record<string, unknown>): Usage {
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const completionTokens = tokens(usage.completion_tokens);
  const inputTokens = tokens(usage.prompt_tokens);
  const total = tokens(usage.total_tokens);
  // Gemini's compatible endpoint counts its reasoning only in the total. Mistral does the same with audio input, which is not output.
  const unnamed = usage.prompt_audio_seconds === undefined ? Math.max(0, total - inputTokens - completionTokens) : 0;
  const reasoningTokens = tokens(completion.reasoning_tokens) || unnamed;
  // Some servers count reasoning separately from the answer. The total shows this, or an answer with fewer tokens than its reasoning.
  const isBeside = total === inputTokens + completionTokens + reasoningTokens || completionTokens < reasoningTokens;
  return {
    inputTokens,
    cachedInputTokens: tokens(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens),
    cacheWriteTokens: tokens(prompt.cache_write_tokens),
    outputTokens: isBeside ? completionTokens + reasoningTokens : completionTokens,
    reasoningTokens,
  };
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
