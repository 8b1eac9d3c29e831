import { createHash } from 'node:crypto';
import type OpenAI from 'openai';
import { sentId } from '../../core/call-ids';
import { isObject } from '../../core/json';
import { type AnswerPart, fileWords, type ToolCall } from '../../core/message';
import { replayable } from '../openai/request';
import type { MessageOpaque } from './answer-parts';
import { clientCallOf, needsResult } from './client-calls';
import { type Item, textIn } from './hosted-tools';

type InputItem = OpenAI.Responses.ResponseInputItem;

/** An item, or a placeholder for an item that is not sent. */
interface Draft {
  item?: Item;
  /** For reasoning: the id of the item that must follow it. */
  before?: string;
  isReasoning?: true;
}

/** Converts an answer to input items. Items that this API produced are sent back unchanged, other parts as plain messages and calls. */
export function answerItems(parts: readonly AnswerPart[]): InputItem[] {
  const drafts: Draft[] = [];
  const results = new Set(parts.flatMap((part) => resultIdOf(itemIn(part))));
  for (const part of parts) {
    if (part.type === 'source') continue;
    const piece = isObject(part.opaque) && typeof part.opaque.piece === 'number' ? part.opaque.piece : 0;
    const last = drafts.at(-1)?.item;
    if (piece > 0 && last?.type === 'message' && Array.isArray(last.content)) last.content.push(contentPiece(part));
    else drafts.push(draftOf(part, results));
  }
  return withoutLooseReasoning(drafts) as unknown as InputItem[];
}

function itemIn({ opaque }: AnswerPart): Item | undefined {
  return isObject(opaque) && isObject(opaque.item) ? opaque.item : undefined;
}

/** The original item of a tool call, if it is not a plain function call. */
export const callItemOf = itemIn;

/** The API accepts at most 64 characters; ids of other providers may be longer. */
export function callIdOf(call: ToolCall): string {
  const id = sentId(call);
  return id.length <= 64 ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}

const plainName = (name: string) => name.replace(/[^\w-]/g, '_').slice(0, 64) || '_';

function resultIdOf(item: Item | undefined): string[] {
  return textIn(item?.type).endsWith('_output') ? [textIn(item?.call_id)] : [];
}

function draftOf(part: Exclude<AnswerPart, { type: 'source' }>, results: ReadonlySet<string>): Draft {
  const item = itemIn(part);
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { item: messageOf(part) };
    case 'reasoning':
      if (item && item.type !== 'reasoning') return { item };
      return { isReasoning: true, ...(item && { item }), ...before(part) };
    case 'tool-call': {
      const { name, arguments: args } = part;
      const call_id = callIdOf(part);
      if (item && clientCallOf(item)) return { item: { ...item, call_id } };
      return { item: { type: 'function_call', ...item, call_id, name: plainName(name), arguments: replayable(args) } };
    }
    case 'compaction':
      return item ? { item } : {};
    case 'hosted-tool':
      return item && (!needsResult(item) || results.has(textIn(item.call_id))) ? { item } : {};
    case 'image': {
      const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(part.url) ?? [];
      return item && data !== undefined ? { item: { ...item, result: data } } : { item: said('[Image]') };
    }
    case 'file':
      return { item: said(fileWords(part)) };
  }
}

function before({ opaque }: AnswerPart): { before?: string } {
  return isObject(opaque) && typeof opaque.before === 'string' ? { before: opaque.before } : {};
}

/** Omits blank text of other models. */
function messageOf(part: Extract<AnswerPart, { type: 'text' | 'refusal' }>): Item | undefined {
  const { message } = (isObject(part.opaque) ? part.opaque : {}) as Partial<MessageOpaque>;
  if (!isObject(message)) return part.text.trim() === '' ? undefined : said(part.text);
  return { type: 'message', role: 'assistant', ...message, content: [contentPiece(part)] };
}

function said(text: string): Item {
  return { type: 'message', role: 'assistant', content: text };
}

function contentPiece(part: AnswerPart): Item {
  const text = 'text' in part ? part.text : '';
  if (part.type === 'refusal') return { type: 'refusal', refusal: text };
  const { annotations = [] } = (isObject(part.opaque) ? part.opaque : {}) as Partial<MessageOpaque>;
  return { type: 'output_text', text, annotations };
}

/**
 * The API rejects a reasoning item without the item that it led to, and an item whose reasoning, known by its id, is missing. So if one of
 * the two is missing, the reasoning is omitted, and the other item is sent without its id.
 */
function withoutLooseReasoning(drafts: readonly Draft[]): Item[] {
  const kept: Item[] = [];
  let next: Item | undefined;
  for (const { item, before: belongsTo, isReasoning } of drafts.toReversed()) {
    const isLoose = isReasoning && item && (!next || (belongsTo !== undefined && next.id !== belongsTo));
    const sent = isLoose ? undefined : item;
    if (isReasoning && !sent && next && (next.type === 'message' || next.type === 'function_call')) {
      const { id: _, ...nameless } = next;
      kept[kept.length - 1] = nameless;
    }
    if (sent) kept.push(sent);
    next = sent;
  }
  return kept.reverse();
}
