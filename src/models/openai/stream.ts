import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, parseObject } from '../../core/json';
import { type FinishReason, noUsage, type Usage } from '../../core/message';
import { LimitExceeded } from '../limit-exceeded';
import type { ModelAnswer, ModelDelta } from '../model';
import { factsOfBody, Trouble } from './failure';
import { keepExtras } from './opaque';
import { assembleToolCalls } from './tool-calls';

/** Makes one answer of the events of a Chat Completions stream. */
export interface StreamFold {
  /** Takes the `data` of one event; throws `Trouble` when it tells of one, and `LimitExceeded` when the answer becomes too large. */
  event(data: string): void;
  /** Events taken, `[DONE]` included. */
  count(): number;
  /** `[DONE]` came: nothing follows. */
  isDone(): boolean;
  /** The model has said why it stopped: at most the usage follows, so a wire that breaks from here on costs nothing. */
  isFinished(): boolean;
  /** Throws `Trouble` when the stream ended before the answer did, or the answer says nothing. */
  answer(): ModelAnswer;
}

export function foldStream(toolNames: readonly string[], onDelta: (delta: ModelDelta) => void = () => {}): StreamFold {
  const tools = assembleToolCalls(toolNames);
  let text = '';
  let refusal = '';
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
    if (!chunk) throw new Trouble({ kind: 'server', words: `a piece of its stream is no JSON object: ${data.slice(0, 200)}` });
    if (chunk.error) throw new Trouble(factsOfBody(chunk.error));
    if (isObject(chunk.usage)) usage = toUsage(chunk.usage);
    const choice = firstChoice(chunk.choices);
    if (!choice) return;
    // A server that plays back a stored answer may send the whole message.
    const delta = choice.delta ?? choice.message;
    if (isObject(delta)) takeDelta(delta);
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') finish = choice.finish_reason;
  }

  function takeDelta(delta: Record<string, unknown>): void {
    const said = contentText(delta.content);
    const refused = contentText(delta.refusal);
    const thought = contentText(delta.reasoning_content) || contentText(delta.reasoning);
    text += said;
    refusal += refused;
    if (thought) onDelta({ type: 'reasoning', text: thought });
    // A refusal is what the user gets to read in place of the text.
    if (said || refused) onDelta({ type: 'text', text: said + refused });
    // `function_call` is what the API had before it had several calls.
    const fragments = Array.isArray(delta.tool_calls)
      ? delta.tool_calls
      : delta.function_call
        ? [{ index: 0, function: delta.function_call }]
        : [];
    for (const fragment of fragments) {
      const added = tools.take(fragment);
      if (added) onDelta(added);
    }
    reasoningChars += thought.length;
    if (reasoningChars > bounds.reasoningChars) throw new LimitExceeded('its reasoning', bounds.reasoningChars, 'characters');
    // Each character is a byte of JSON at least. What the step does about it comes first, as it was shown the delta.
    const size = text.length + refusal.length + tools.size();
    if (size > bounds.answerBytes) throw new LimitExceeded('its answer', bounds.answerBytes, 'bytes of JSON');
  }

  function answer(): ModelAnswer {
    if (finish === undefined && !done) {
      throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without a finish reason' });
    }
    const finishReason = toFinishReason(finish);
    const toolCalls = tools.calls();
    const silent = text === '' && refusal === '' && toolCalls.length === 0;
    // Cut off by a limit or a filter, saying nothing is an answer; asking again would bring the same.
    if (silent && finishReason !== 'length' && finishReason !== 'content_filter') throw new Trouble({ kind: 'empty' });
    const opaque = keepExtras(tools.extras());
    return { text, ...(refusal && { refusal }), toolCalls, finishReason, usage, ...(opaque && { opaque }) };
  }

  return { event, count: () => count, isDone: () => done, isFinished: () => finish !== undefined, answer };
}

/** Of several alternatives, which we never ask for, only the first counts. */
function firstChoice(choices: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.filter(isObject).find((choice) => (choice.index ?? 0) === 0);
}

/** A string, or a list of parts of which the text counts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
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
    default:
      return 'unknown';
  }
}

function toUsage(usage: Record<string, unknown>): Usage {
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  return {
    inputTokens: tokens(usage.prompt_tokens),
    cachedInputTokens: tokens(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens),
    outputTokens: tokens(usage.completion_tokens),
    reasoningTokens: tokens(completion.reasoning_tokens),
  };
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
