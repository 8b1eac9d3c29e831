import { bounds } from '../../core/bounds';
import { excerpt, isObject, type Json } from '../../core/json';
import type { AnswerPart } from '../../core/message';
import { LimitExceeded } from '../wire/limit-exceeded';
import { clientCallOf } from './client-calls';
import { type Item, readablePart, textIn } from './hosted-tools';

/** For a part that represents a whole item. `before`: the id of the item that must follow a reasoning item. */
export type ItemOpaque = { item: Json; before?: string };
/** For a text or refusal: its message without the content, its index among the message's pieces, and its annotations. */
export type MessageOpaque = { message: Json; piece: number; annotations?: Json };

/** Items that are sent back to the model and not shown to people. */
const silent = ['mcp_list_tools', 'additional_tools', 'shell_call_output', 'tool_search_output', 'program_output'];
/** Items of hosted tools that the API accepts in the input. */
const hosted = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_call',
  'mcp_approval_request',
  'tool_search_call',
  'program',
  'custom_tool_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
];

/** Converts the items of a response to the parts of an answer. `toolNames`: the tools that the agent runs. */
export function partsOf(items: readonly Item[], toolNames: readonly string[]): AnswerPart[] {
  return items.flatMap((item, i) => partsOfItem(item, items[i + 1], items, toolNames));
}

function partsOfItem(item: Item, next: Item | undefined, items: readonly Item[], toolNames: readonly string[]): AnswerPart[] {
  const type = textIn(item.type);
  switch (type) {
    case 'message':
      return messageParts(item);
    case 'reasoning':
      return [reasoningPart(item, next)];
    case 'function_call': {
      const { type: _, call_id, name, arguments: args, ...rest } = withoutNulls(item);
      const id = textIn(call_id) || textIn(rest.id);
      return [{ type: 'tool-call', id, name: textIn(name), arguments: argumentsText(args), opaque: { item: rest as Json } }];
    }
    case 'compaction':
      return compactionPart(withoutNulls(item) as Json);
    case 'image_generation_call':
      return imageParts(item);
    default:
  }
  const result = items.find((one) => one !== item && isResultOf(one, item));
  const call = result ? undefined : clientCallOf(item);
  if (call && toolNames.includes(call.name)) {
    return [{ type: 'tool-call', id: textIn(item.call_id) || textIn(item.id), ...call, opaque: { item: withoutNulls(item) as Json } }];
  }
  if (silent.includes(type)) return [{ type: 'reasoning', text: '', opaque: { item: item as Json } }];
  if (hosted.includes(type)) return [{ ...readablePart(item, result), opaque: { item: item as Json } }];
  // An item type added to the API later; whether the API accepts it in the input is not known.
  return type.endsWith('_call') ? [readablePart(item, result)] : [];
}

/** The size above which a compaction is dropped, as if there were none: the answer would fail, and the thread would carry it along. */
const longestCompaction = bounds.opaqueChars / 2;

/** Only the API can read it. */
function compactionPart(item: Json): AnswerPart[] {
  return JSON.stringify(item).length > longestCompaction ? [] : [{ type: 'compaction', text: '', opaque: { item } }];
}

function isResultOf(one: Item, { call_id }: Item): boolean {
  return typeof call_id === 'string' && call_id !== '' && one.call_id === call_id && textIn(one.type).endsWith('_output');
}

function messageParts({ type: _, role: __, content, ...message }: Item): AnswerPart[] {
  const pieces = typeof content === 'string' ? [{ type: 'output_text', text: content }] : listIn(content);
  return pieces.flatMap((one, piece): AnswerPart[] => {
    const { annotations } = one;
    const notes = listIn(annotations);
    const opaque: MessageOpaque = {
      message: withoutNulls(message) as Json,
      piece,
      ...(Array.isArray(annotations) && { annotations: annotations as Json }),
    };
    if (one.type === 'refusal') return [{ type: 'refusal', text: textIn(one.refusal), opaque }];
    if (typeof one.text !== 'string') return [];
    return [{ type: 'text', text: one.text, opaque }, ...notes.map(toSource)];
  });
}

function toSource({ url, title, filename }: Item): AnswerPart {
  const name = textIn(title) || textIn(filename);
  return { type: 'source', ...(typeof url === 'string' && { url }), ...(name && { title: name }) };
}

/** Reasoning that is neither encrypted nor complete is kept only for display: the API has stored nothing under its id. */
function reasoningPart(item: Item, next: Item | undefined): AnswerPart {
  const texts = (list: unknown) => listIn(list).map(({ text }) => textIn(text));
  const summary = texts(item.summary).join('\n\n');
  const content = texts(item.content).join('\n\n');
  const text = summary || content;
  const isEncrypted = textIn(item.encrypted_content) !== '';
  if (!isEncrypted && (content === '' || content.length > bounds.keptReasoningChars)) {
    return { type: 'reasoning', text: excerpt(text, bounds.keptReasoningChars) };
  }
  const before = textIn(next?.id);
  return { type: 'reasoning', text, opaque: { item: withoutNulls(item) as Json, ...(before && { before }) } };
}

/** Keeps the image data once. The API sends more fields of it than it accepts back. */
function imageParts(item: Item): AnswerPart[] {
  const { result, type, id, status } = item;
  const data = textIn(result);
  const part = readablePart({ ...item, result: undefined }, undefined);
  if (data === '') return [part];
  return [
    part,
    {
      type: 'image',
      url: `data:${mediaTypeOf(item, data)};base64,${data}`,
      opaque: { item: withoutNulls({ type, id: id ?? null, status: status ?? null }) as Json },
    },
  ];
}

function mediaTypeOf({ output_format }: Item, data: string): string {
  if (typeof output_format === 'string') return `image/${output_format}`;
  if (data.startsWith('/9j/')) return 'image/jpeg';
  return data.startsWith('UklGR') ? 'image/webp' : 'image/png';
}

/** Some servers send the arguments as an object. */
function argumentsText(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textIn(value);
}

function withoutNulls(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
}

/** The items of a list that are objects. */
export function listIn(value: unknown): Item[] {
  if (!Array.isArray(value)) return [];
  if (value.length > bounds.eventItems) throw new LimitExceeded('a list in an event of its stream', bounds.eventItems, 'items');
  return value.filter(isObject);
}
