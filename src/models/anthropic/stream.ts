import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, type Json, type JsonObject, parseObject } from '../../core/json';
import { type AnswerPart, addUsage, type FinishReason, type HostedToolPart, noUsage, type Usage } from '../../core/message';
import type { ModelAnswer, ModelDelta } from '../model';
import type { StreamFold } from '../wire/call';
import { factsOfBody, Trouble } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';
import { neutralName, readableResult } from './hosted-tools';

/** A content block while it is streamed. */
interface Draft {
  block: Record<string, unknown>;
  text: string[];
  signature: string[];
  json: string[];
  citations: Json[];
  /** For a compaction: its fields besides the summary. */
  extra?: JsonObject;
  /** For a tool call: its index among the calls. */
  call: number;
}

/** Builds one answer from the events of a Messages stream. */
export function foldStream(onDelta: (delta: ModelDelta) => void = () => {}): StreamFold {
  const drafts = new Map<number, Draft>();
  let usage: Record<string, unknown> = {};
  let stopReason: string | undefined;
  let messageId = '';
  let count = 0;
  let calls = 0;
  let said = 0;
  let reasoning = 0;
  let opaque = 0;
  let done = false;

  function event(data: string): void {
    count++;
    if (count > bounds.streamEvents) throw new LimitExceeded('its stream', bounds.streamEvents, 'events');
    if (isDeepJson(data, bounds.jsonDepth)) throw new LimitExceeded('a piece of its stream', bounds.jsonDepth, 'levels of nesting');
    const chunk = parseObject(data);
    if (!chunk) throw new Trouble({ kind: 'server', words: `a piece of its stream is not a JSON object: ${data}` });
    switch (chunk.type) {
      case 'error':
        throw new Trouble(factsOfBody(chunk.error));
      case 'message_start':
        if (isObject(chunk.message)) beginMessage(chunk.message);
        return;
      case 'content_block_start':
        if (isObject(chunk.content_block)) begin(placeOf(chunk.index), chunk.content_block);
        return;
      case 'content_block_delta':
        if (isObject(chunk.delta)) takeDelta(placeOf(chunk.index), chunk.delta);
        return;
      case 'content_block_stop':
        return endBlock(placeOf(chunk.index));
      case 'message_delta':
        takeUsage(chunk.usage);
        if (isObject(chunk.delta) && typeof chunk.delta.stop_reason === 'string') stopReason = chunk.delta.stop_reason;
        return;
      case 'message_stop':
        done = true;
        return;
      // Pings, and event types added to the API later.
      default:
        return;
    }
  }

  /** A gateway that retries upstream can send a second message after part of the first. Their blocks must not mix. */
  function beginMessage(message: Record<string, unknown>): void {
    const id = textIn(message.id);
    if (messageId && id !== messageId) {
      throw new Trouble({ kind: 'truncated-stream', words: 'another message began in the middle of the first' });
    }
    messageId ||= id;
    takeUsage(message.usage);
    // Calls made by running code (programmatic tool calling) arrive complete in this event, with the stop reason.
    const { content, stop_reason } = message;
    if (!Array.isArray(content) || content.length === 0 || drafts.size > 0) return;
    content.forEach((one, index) => {
      if (isObject(one)) begin(index, one);
      endBlock(index);
    });
    if (typeof stop_reason === 'string') stopReason = stop_reason;
  }

  /** Counts are cumulative, and a later event may omit some. */
  function takeUsage(told: unknown): void {
    if (!isObject(told)) return;
    usage = { ...usage, ...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null && value !== undefined)) };
  }

  function begin(index: number, block: Record<string, unknown>): void {
    if (drafts.size >= bounds.answerParts) throw new LimitExceeded('its answer', bounds.answerParts, 'parts');
    const draft: Draft = { block, text: [], signature: [], json: [], citations: [], call: calls };
    drafts.set(index, draft);
    if (block.type === 'tool_use') {
      calls++;
      if (calls > bounds.callsPerAnswer) throw new LimitExceeded('its answer', bounds.callsPerAnswer, 'tool calls');
      onDelta({ type: 'tool-call', index: draft.call, id: textIn(block.id), name: textIn(block.name) });
    }
    if (typeof block.text === 'string') addText(draft, block.text);
    if (typeof block.thinking === 'string') addThought(draft, block.thinking);
    if (block.type === 'compaction') addCompaction(draft, block);
    if (Array.isArray(block.citations)) for (const citation of block.citations) addCitation(draft, citation);
    if (isResult(block) || block.type === 'redacted_thinking') addOpaque(JSON.stringify(block).length);
  }

  function takeDelta(index: number, delta: Record<string, unknown>): void {
    const draft = drafts.get(index);
    if (!draft) return;
    switch (delta.type) {
      case 'text_delta':
        return addText(draft, textIn(delta.text));
      case 'thinking_delta':
        return addThought(draft, textIn(delta.thinking));
      case 'signature_delta':
        draft.signature.push(textIn(delta.signature));
        return addOpaque(textIn(delta.signature).length);
      case 'citations_delta':
        return addCitation(draft, delta.citation);
      case 'compaction_delta':
        return addCompaction(draft, delta);
      case 'input_json_delta': {
        const piece = textIn(delta.partial_json);
        if (piece === '') return;
        draft.json.push(piece);
        grow(piece.length);
        if (draft.block.type === 'tool_use') onDelta({ type: 'tool-call', index: draft.call, arguments: piece });
        return;
      }
      default:
        return;
    }
  }

  /** Reports arguments that arrived in the start of the block, as with programmatic tool calling, because no delta had them. */
  function endBlock(index: number): void {
    const draft = drafts.get(index);
    if (draft?.block.type !== 'tool_use' || draft.json.length > 0 || !isObject(draft.block.input)) return;
    if (Object.keys(draft.block.input).length > 0) onDelta({ type: 'tool-call', index: draft.call, arguments: argumentsOf(draft) });
  }

  function addText(draft: Draft, text: string): void {
    if (text === '') return;
    draft.text.push(text);
    onDelta({ type: 'text', text });
    grow(text.length);
  }

  function addThought(draft: Draft, text: string): void {
    if (text === '') return;
    draft.text.push(text);
    onDelta({ type: 'reasoning', text });
    reasoning += text.length;
    if (reasoning > bounds.reasoningChars) throw new LimitExceeded('its reasoning', bounds.reasoningChars, 'characters');
  }

  /** What the API adds to the summary, such as a signature, goes back with it. */
  function addCompaction(draft: Draft, { type: _, content, ...rest }: Record<string, unknown>): void {
    const kept = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
    draft.extra = { ...draft.extra, ...(kept as JsonObject) };
    if (Object.keys(kept).length > 0) addOpaque(JSON.stringify(kept).length);
    const text = textIn(content);
    if (text === '') return;
    draft.text.push(text);
    onDelta({ type: 'compaction', text });
    grow(text.length);
  }

  function addCitation(draft: Draft, citation: unknown): void {
    if (!isObject(citation)) return;
    // The API sends this field, but rejects it in a request.
    const { file_id: _, ...kept } = citation;
    draft.citations.push(kept as Json);
    addOpaque(JSON.stringify(kept).length);
  }

  function grow(chars: number): void {
    said += chars;
    if (said > bounds.answerBytes) throw new LimitExceeded('its answer', bounds.answerBytes, 'bytes of JSON');
  }

  function addOpaque(chars: number): void {
    opaque += chars;
    if (opaque > bounds.opaqueChars) throw new LimitExceeded('its opaque data', bounds.opaqueChars, 'characters of JSON');
  }

  function answer(): ModelAnswer {
    if (stopReason === undefined && !done) {
      throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without a stop reason' });
    }
    const finishReason = toFinishReason(stopReason);
    const parts = partsOf([...drafts.entries()].sort(([a], [b]) => a - b).map(([, draft]) => draft));
    const isSilent = parts.every((part) => silent.includes(part.type) || ('text' in part && part.text === ''));
    // An empty answer is valid if it was cut off by a limit or a filter, or interrupted; a retry would have the same result.
    if (isSilent && !['length', 'content_filter', 'pause'].includes(finishReason)) throw new Trouble({ kind: 'empty' });
    return { parts, finishReason, ...usageOf(usage) };
  }

  return { event, count: () => count, isDone: () => done, isFinished: () => stopReason !== undefined, answer };
}

/** Parts that are no answer if no other follows. */
const silent: readonly AnswerPart['type'][] = ['reasoning', 'compaction'];

/**
 * The blocks of a hosted tool. `behind`: the id of the hosted call after whose result this result came. Without `use`, it is the result of a
 * call in an earlier answer: one that paused, or one that also called the client's tools.
 */
export type HostedBlocks = { use?: Json; result?: Json; behind?: string };

function isResult({ type }: Record<string, unknown>): boolean {
  return typeof type === 'string' && type.endsWith('_tool_result');
}

function partsOf(drafts: readonly Draft[]): AnswerPart[] {
  const parts: AnswerPart[] = [];
  const hosted = new Map<string, HostedToolPart & { opaque: HostedBlocks }>();
  /** The id of the hosted call that began last. */
  let newest = '';
  for (const draft of drafts) {
    const { block, citations } = draft;
    const text = draft.text.join('');
    switch (block.type) {
      case 'text':
        parts.push({ type: 'text', text, ...(citations.length > 0 && { opaque: { citations } }) }, ...citations.map(toSource));
        break;
      case 'thinking':
        parts.push({ type: 'reasoning', text, opaque: { signature: draft.signature.join('') || textIn(block.signature) } });
        break;
      case 'redacted_thinking':
        parts.push({ type: 'reasoning', text: '', opaque: { redacted: textIn(block.data) } });
        break;
      // The API could not make a summary: it ignores such a block.
      case 'compaction':
        if (text.trim() !== '') parts.push({ type: 'compaction', text, opaque: draft.extra ?? {} });
        break;
      case 'tool_use':
        parts.push({ type: 'tool-call', id: textIn(block.id), name: textIn(block.name), arguments: argumentsOf(draft) });
        break;
      case 'server_tool_use':
      case 'mcp_tool_use': {
        const input = (parseObject(draft.json.join('')) ?? block.input ?? {}) as Json;
        const id = textIn(block.id);
        const part = { type: 'hosted-tool' as const, id, name: neutralName(textIn(block.name)), input };
        const whole = { ...part, opaque: { use: { ...block, input } as Json } };
        hosted.set(id, whole);
        newest = id;
        parts.push(whole);
        break;
      }
      default: {
        if (!isResult(block)) break;
        const id = textIn(block.tool_use_id);
        const use = hosted.get(id);
        const { output, isError } = readableResult(block);
        if (!use) {
          const name = neutralName(textIn(block.type).replace(/_tool_result$/, ''));
          parts.push({ type: 'hosted-tool', id, name, input: {}, output, ...(isError && { isError }), opaque: { result: block as Json } });
          break;
        }
        Object.assign(use, { output, ...(isError && { isError }) });
        use.opaque.result = block as Json;
        if (newest !== use.id) use.opaque.behind = newest;
      }
    }
  }
  return parts;
}

function argumentsOf({ block, json }: Draft): string {
  const text = json.join('');
  return text !== '' ? text : JSON.stringify(isObject(block.input) ? block.input : {});
}

function toSource(citation: Json): AnswerPart {
  const { url, title, document_title, cited_text, source } = citation as Record<string, unknown>;
  const name = title ?? document_title;
  const where = url ?? source;
  return {
    type: 'source',
    ...(typeof where === 'string' && { url: where }),
    ...(typeof name === 'string' && { title: name }),
    ...(typeof cited_text === 'string' && { quote: cited_text }),
  };
}

function toFinishReason(reason: string | undefined): FinishReason {
  switch (reason) {
    case 'end_turn':
    case 'stop_sequence':
      return 'stop';
    case 'tool_use':
      return 'tool_calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal':
      return 'content_filter';
    case 'pause_turn':
    // After `pause_after_compaction`.
    case 'compaction':
      return 'pause';
    default:
      return 'unknown';
  }
}

/**
 * The usage of the answer alone does not include that of a compaction. What the iterations of hosted tools and of the compaction took is listed, and
 * the last iteration of the answer has what is left in the window.
 */
function usageOf(usage: Record<string, unknown>): Pick<ModelAnswer, 'usage' | 'usageAfterCompaction'> {
  const iterations = Array.isArray(usage.iterations) ? usage.iterations.filter(isObject) : [];
  const own = iterations.filter(({ type }) => type === 'message');
  const compactions = iterations.filter(({ type }) => type === 'compaction');
  if (compactions.length === 0) return { usage: toUsage(usage) };
  const { reasoningTokens } = toUsage(usage);
  const last = own.at(-1);
  return {
    usage: { ...[...own, ...compactions].map(toUsage).reduce(addUsage, noUsage), reasoningTokens },
    ...(last && { usageAfterCompaction: toUsage(last) }),
  };
}

/** The API counts cache reads and cache writes separately from the input. */
function toUsage(usage: Record<string, unknown>): Usage {
  const read = tokens(usage.cache_read_input_tokens);
  const written = tokens(usage.cache_creation_input_tokens);
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return {
    ...noUsage,
    inputTokens: tokens(usage.input_tokens) + read + written,
    cachedInputTokens: read,
    cacheWriteTokens: written,
    outputTokens: tokens(usage.output_tokens),
    reasoningTokens: tokens(details.thinking_tokens),
  };
}

/** `Number` can throw for other types. */
function placeOf(index: unknown): number {
  return typeof index === 'number' || typeof index === 'string' ? Number(index) : Number.NaN;
}

function tokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
