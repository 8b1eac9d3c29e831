import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, parseObject } from '../../core/json';
import type { AnswerPart } from '../../core/message';
import type { ModelAnswer, ModelDelta } from '../model';
import type { StreamFold } from '../wire/call';
import { Trouble } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';
import { listIn, partsOf } from './answer-parts';
import { fits, type ItemDraft, indexOf, isAnother, itemFor, itemOf, type PieceEvent, type PieceKind, pieceIn } from './drafts';
import { toFinishReason, toUsage } from './ending';
import { type Item, textIn } from './hosted-tools';
import { troubleOf } from './trouble';

/** Builds one answer from the events of a Responses stream. `toolNames`: the tools that the agent runs. */
export function foldStream(toolNames: readonly string[], onDelta: (delta: ModelDelta) => void = () => {}): StreamFold {
  /** In their order of arrival. */
  const drafts: ItemDraft[] = [];
  /** The current item of each index: some servers use an index twice. */
  const current = new Map<number, ItemDraft>();
  const byId = new Map<string, ItemDraft>();
  /** The response of the last event. */
  let end: Item | undefined;
  let isOver = false;
  let count = 0;
  let calls = 0;
  let said = 0;
  let reasoning = 0;
  let opaque = 0;
  let pieces = 0;

  function event(data: string): void {
    count++;
    if (count > bounds.streamEvents) throw new LimitExceeded('its stream', bounds.streamEvents, 'events');
    // The event before this one says whether the answer is complete.
    if (data.startsWith('[DONE]')) {
      isOver = true;
      return;
    }
    if (isDeepJson(data, bounds.jsonDepth)) throw new LimitExceeded('a piece of its stream', bounds.jsonDepth, 'levels of nesting');
    const chunk = parseObject(data);
    if (!chunk) throw new Trouble({ kind: 'server', words: `a piece of its stream is not a JSON object: ${data}` });
    const piece = pieceIn(chunk);
    if (piece) return takePiece(chunk, piece);
    switch (chunk.type) {
      case 'response.output_item.added':
        if (isObject(chunk.item)) begin(chunk, chunk.item);
        return;
      case 'response.output_item.done':
        if (isObject(chunk.item)) finish(chunk, chunk.item);
        return;
      case 'response.output_text.annotation.added':
        if (isObject(chunk.annotation)) takeAnnotation(chunk, chunk.annotation);
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        return close(textIn(chunk.type), isObject(chunk.response) ? chunk.response : {});
      case 'response.failed':
      case 'response.cancelled':
        throw troubleOf(isObject(chunk.response) ? chunk.response.error : chunk.error);
      case 'error':
        throw troubleOf(chunk.error ?? chunk);
      // Keepalives, partial images, progress of tools, and event types added to the API later.
      default:
        if (chunk.error) throw troubleOf(chunk.error);
    }
  }

  function begin(event: Item, item: Item): ItemDraft {
    const index = placeOf(event) ?? drafts.length;
    const there = byId.get(textIn(item.id)) ?? current.get(index);
    if (there && !isAnother(there, item)) return there;
    if (drafts.length >= bounds.answerParts) throw new LimitExceeded('its answer', bounds.answerParts, 'parts');
    const draft: ItemDraft = { item, index, isDone: false, pieces: new Map(), size: { said: 0, opaque: 0 }, isShown: false };
    drafts.push(draft);
    current.set(index, draft);
    if (textIn(item.id) !== '') byId.set(textIn(item.id), draft);
    if (item.type === 'function_call') {
      draft.call = calls;
      calls++;
      if (calls > bounds.callsPerAnswer) throw new LimitExceeded('its answer', bounds.callsPerAnswer, 'tool calls');
      onDelta({ type: 'tool-call', index: draft.call, id: textIn(item.call_id) || textIn(item.id), name: textIn(item.name) });
    }
    return draft;
  }

  /** The completed item overrides its pieces. */
  function finish(event: Item, item: Item): void {
    const draft = begin(event, item);
    draft.item = item;
    draft.isDone = true;
    const parts = partsOf([item], toolNames);
    const size = sizeOf(parts);
    kept(size.said - draft.size.said, size.opaque - draft.size.opaque);
    draft.size = size;
    if (!draft.isShown) show(draft, parts);
  }

  /** Some servers send only whole items. */
  function show(draft: ItemDraft, parts: readonly AnswerPart[]): void {
    draft.isShown = true;
    for (const part of parts) {
      if (part.type === 'text' || part.type === 'refusal') onDelta({ type: 'text', text: part.text });
      if (part.type === 'reasoning' && part.text !== '') onDelta({ type: 'reasoning', text: part.text });
      if (part.type !== 'tool-call') continue;
      const { id, name, arguments: args } = part;
      if (draft.call === undefined) onDelta({ type: 'tool-call', index: calls++, id, name, arguments: args });
      else onDelta({ type: 'tool-call', index: draft.call, arguments: args });
    }
  }

  /** The item that a piece belongs to. Some servers use a new id in each event, others use one index for several items. */
  function draftOf(event: Item, kind: PieceKind): ItemDraft {
    const named = byId.get(textIn(event.item_id));
    if (named && fits(named, kind)) return named;
    const index = placeOf(event);
    const there = index === undefined ? drafts.at(-1) : current.get(index);
    return there && !there.isDone && fits(there, kind) ? there : begin(event, itemFor(kind, event));
  }

  function takePiece(event: Item, { kind, place, text, isWhole }: PieceEvent): void {
    const draft = draftOf(event, kind);
    const piece = pieceOf(draft, kind, place);
    const isNew = piece.text.length === 0;
    if (isWhole && text !== '' && !isNew) piece.text = [text];
    if (text === '' || (isWhole && !isNew)) return;
    piece.text.push(text);
    draft.isShown = true;
    // Each summary is a paragraph.
    if (kind === 'summary') onDelta({ type: 'reasoning', text: isNew && place > 0 ? `\n\n${text}` : text });
    if (kind === 'thought') onDelta({ type: 'reasoning', text });
    if (kind === 'text' || kind === 'refusal') onDelta({ type: 'text', text });
    if (kind === 'arguments' && draft.call !== undefined) onDelta({ type: 'tool-call', index: draft.call, arguments: text });
    if (kind === 'summary' || kind === 'thought') {
      reasoning += text.length;
      if (reasoning > bounds.reasoningChars) throw new LimitExceeded('its reasoning', bounds.reasoningChars, 'characters');
    } else {
      draft.size.said += text.length;
      kept(text.length, 0);
    }
  }

  function pieceOf(draft: ItemDraft, kind: PieceKind, place: number): { text: string[]; annotations: Item[] } {
    const key = `${kind} ${place}`;
    const known = draft.pieces.get(key);
    if (known) return known;
    pieces++;
    if (pieces > bounds.answerParts) throw new LimitExceeded('its answer', bounds.answerParts, 'parts');
    const piece = { kind, place, text: [], annotations: [] };
    draft.pieces.set(key, piece);
    return piece;
  }

  function takeAnnotation(event: Item, annotation: Item): void {
    const draft = draftOf(event, 'text');
    if (draft.isDone) return;
    pieceOf(draft, 'text', indexOf(event.content_index)).annotations.push(annotation);
    const chars = JSON.stringify(annotation).length;
    draft.size.opaque += chars;
    kept(0, chars);
  }

  function kept(saidChars: number, opaqueChars: number): void {
    said += saidChars;
    opaque += opaqueChars;
    if (said > bounds.answerBytes) throw new LimitExceeded('its answer', bounds.answerBytes, 'bytes of JSON');
    if (opaque > bounds.opaqueChars) throw new LimitExceeded('its opaque data', bounds.opaqueChars, 'characters of JSON');
  }

  function close(type: string, response: Item): void {
    if (response.status === 'failed' || response.status === 'cancelled') throw troubleOf(response.error);
    end = { status: type === 'response.incomplete' ? 'incomplete' : 'completed', ...response };
    if (drafts.length > 0) return;
    // Only the last event arrived, so it has all items.
    for (const item of listIn(response.output)) finish({}, item);
  }

  /**
   * The completed items. If some were not completed, uses the list of the last event, unless the server leaves it empty; otherwise assembles
   * them from their pieces.
   */
  function items(status: string): Item[] {
    const listed = listIn(end?.output);
    const inOrder = drafts.toSorted((a, b) => a.index - b.index);
    const isWhole = inOrder.every(({ isDone }) => isDone) && inOrder.length >= listed.length;
    if (!isWhole && listed.length >= inOrder.length) return listed;
    return inOrder.map((draft) => itemOf(draft, status));
  }

  function answer(): ModelAnswer {
    if (!end) throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without the end of the response' });
    const parts = partsOf(items(textIn(end.status) || 'completed'), toolNames);
    const size = sizeOf(parts);
    kept(size.said - said, size.opaque - opaque);
    const finishReason = toFinishReason(end, parts);
    const isSilent = parts.every((part) => part.type === 'reasoning' || ('text' in part && part.text === ''));
    // An empty answer is valid if it was cut off by a limit or a filter, or only compacts; a retry would have the same result.
    if (isSilent && !['length', 'content_filter', 'pause'].includes(finishReason)) throw new Trouble({ kind: 'empty' });
    return { parts, finishReason, usage: toUsage(isObject(end.usage) ? end.usage : {}) };
  }

  return { event, count: () => count, isDone: () => end !== undefined || isOver, isFinished: () => end !== undefined, answer };
}

function placeOf({ output_index }: Item): number | undefined {
  return typeof output_index === 'number' && Number.isInteger(output_index) ? output_index : undefined;
}

/** Sizes of what people see, in characters, and of what is sent back, as JSON. */
function sizeOf(parts: readonly AnswerPart[]): { said: number; opaque: number } {
  let said = 0;
  let opaque = 0;
  for (const part of parts) {
    if (part.opaque !== undefined) opaque += JSON.stringify(part.opaque).length;
    if (part.type === 'text' || part.type === 'refusal') said += part.text.length;
    else if (part.type === 'tool-call') said += part.arguments.length;
    else if (part.type === 'image') said += part.url.length;
    else if (part.type === 'hosted-tool') said += JSON.stringify([part.input, part.output]).length;
  }
  return { said, opaque };
}
