import { sentId } from '../../core/call-ids';
import { isObject, type Json, parseObject } from '../../core/json';
import {
  type AnswerPart,
  type Content,
  fileWords,
  type Message,
  type Part,
  type ToolCallPart,
  type ToolMessage,
  textOf,
} from '../../core/message';
import type { HostedParts } from './answer-parts';
import { filePart, imagePart } from './media';

/** A part of a content in the API's format. */
export interface RequestPart {
  text?: string;
  thought?: true;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  fileData?: { mimeType?: string; fileUri: string };
  functionCall?: { id?: string; name: string; args: Record<string, unknown> };
  functionResponse?: { id?: string; name: string; response: Record<string, unknown>; parts?: { inlineData: object }[] };
}

/** Replaces the signature of a call that another model made. The API documents this value for histories from elsewhere. */
const noSignature = 'skip_thought_signature_validator';

/** A message as JSON. For a tool result, `rest` holds the parts that the result can't contain; they follow the results of the whole answer. */
interface Encoded {
  bytes: Buffer;
  rest: Buffer;
}

/**
 * Each request sends the whole transcript, of which only the end is new. So each message is encoded only once for each variant: for older or
 * newer models, and with or without a call id.
 */
const encoded = new WeakMap<Message, Map<string, Encoded>>();

/** The calls of the transcript so far, by the thread's call ids, with their positions in their answers. */
type Calls = Map<string, { part: ToolCallPart & { opaque?: Json }; place: number }>;

/**
 * The contents of a request, as JSON. Consecutive messages of one side are merged into one content. Tool results come first in it, in the order
 * of their calls, because the API matches results without ids by position. `opening`: text of the user before all messages.
 */
export function encodedContents(messages: readonly Message[], { isNew, opening }: { isNew: boolean; opening: string }): Buffer[] {
  const turns: { role: 'user' | 'model'; pieces: Buffer[] }[] = [];
  const add = (role: 'user' | 'model', pieces: Buffer[]) => {
    const filled = pieces.filter(({ length }) => length > 0);
    const last = turns.at(-1);
    if (filled.length === 0) return;
    if (last?.role === role) last.pieces.push(...filled);
    else turns.push({ role, pieces: filled });
  };
  if (opening !== '') add('user', [json([{ text: opening }])]);
  const calls: Calls = new Map();
  for (let at = 0; at < messages.length; ) {
    const message = messages[at] as Message;
    if (message.role === 'tool') {
      const results: ToolMessage[] = [];
      for (let next = messages[at]; next?.role === 'tool'; next = messages[++at]) results.push(next);
      add('user', resultPieces(results, isNew, calls));
      continue;
    }
    if (message.role === 'assistant') noteCalls(message.content, calls);
    add(message.role === 'user' ? 'user' : 'model', [encode(message, `${isNew}`, () => ({ parts: toParts(message, isNew) })).bytes]);
    at++;
  }
  return turns.map(({ role, pieces }) => Buffer.concat([Buffer.from(`{"role":"${role}","parts":[`), ...joined(pieces), Buffer.from(']}')]));
}

function encode(message: Message, way: string, make: () => { parts: RequestPart[]; rest?: RequestPart[] }): Encoded {
  const ways = encoded.get(message) ?? new Map<string, Encoded>();
  const known = ways.get(way);
  if (known) return known;
  const { parts, rest = [] } = make();
  const made = { bytes: json(parts), rest: json(rest) };
  encoded.set(message, ways.set(way, made));
  return made;
}

/** Parts as JSON, without the brackets of the list. */
function json(parts: readonly RequestPart[]): Buffer {
  return Buffer.from(parts.map((part) => JSON.stringify(part)).join(','));
}

const comma = Buffer.from(',');

export function joined(pieces: readonly Buffer[]): Buffer[] {
  return pieces.flatMap((piece, i) => (i === 0 ? [piece] : [comma, piece]));
}

function noteCalls(content: readonly AnswerPart[], calls: Calls): void {
  let place = 0;
  for (const part of content) if (part.type === 'tool-call') calls.set(part.id, { part, place: place++ });
}

function resultPieces(results: readonly ToolMessage[], isNew: boolean, calls: Calls): Buffer[] {
  const placed = results.map((message) => ({ message, call: calls.get(message.toolCallId) }));
  const ordered = placed.sort((a, b) => (a.call?.place ?? 0) - (b.call?.place ?? 0));
  const made = ordered.map(({ message, call }) => {
    const id = call && ownId(call.part);
    return encode(message, `${isNew} ${id ?? ''}`, () => toResult(message, isNew, id));
  });
  return [...made.map(({ bytes }) => bytes), ...made.map(({ rest }) => rest)];
}

/** Only ids that the API assigned are sent back; it matches calls without one by position. */
function ownId(part: ToolCallPart & { opaque?: Json }): string | undefined {
  return isObject(part.opaque) && part.opaque.hasId === true ? sentId(part) : undefined;
}

function toParts(message: Exclude<Message, ToolMessage>, isNew: boolean): RequestPart[] {
  return message.role === 'user' ? partsOf(message.content) : answerParts(message.content, isNew);
}

function partsOf(content: Content): RequestPart[] {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return parts.filter((part) => part.type !== 'text' || part.text !== '').map(toPart);
}

function toPart(part: Part): RequestPart {
  switch (part.type) {
    case 'text':
      return { text: part.text };
    case 'image':
      return imagePart(part);
    case 'file':
      return filePart(part);
  }
}

/** File types that newer models accept inside a tool result. */
const withinResults = /^(?:image\/(?:png|jpeg|webp)|application\/pdf|text\/plain)$/;

function toResult(message: ToolMessage, isNew: boolean, id: string | undefined): { parts: RequestPart[]; rest: RequestPart[] } {
  const { content, isError } = message;
  const name = plainName(message.name);
  const others = typeof content === 'string' ? [] : partsOf(content.filter(({ type }) => type !== 'text'));
  const within = others.filter(({ inlineData }) => isNew && inlineData && withinResults.test(inlineData.mimeType));
  const behind = others.filter((part) => !within.includes(part));
  const text = textOf(content) || (others.length > 0 ? '(see the images or files)' : '(no output)');
  const functionResponse = {
    ...(id !== undefined && { id }),
    name,
    response: isError ? { error: text } : { output: text },
    ...(within.length > 0 && { parts: within.map(({ inlineData }) => ({ inlineData: inlineData as object })) }),
  };
  return { parts: [{ functionResponse }], rest: behind.length > 0 ? [{ text: `From the result of ${name}:` }, ...behind] : [] };
}

/** The API accepts letters, digits and a few other characters, and a letter first; models of other providers may use other names. */
function plainName(name: string): string {
  return name
    .replace(/[^\w.:-]/g, '_')
    .replace(/^(?![a-z_])/i, '_')
    .slice(0, 64);
}

/** Parts in their original order: `behind` other parts may be between a hosted tool and its result. */
function answerParts(content: readonly AnswerPart[], isNew: boolean): RequestPart[] {
  const parts: RequestPart[] = [];
  const waiting: { left: number; result: RequestPart }[] = [];
  let needsSignature = isNew;
  for (const part of content) {
    for (const one of answerPart(part)) {
      const unsigned = one.functionCall && one.thoughtSignature === undefined;
      // Of parallel calls only the first has a signature.
      parts.push(unsigned && needsSignature ? { ...one, thoughtSignature: noSignature } : one);
      if (one.functionCall) needsSignature = false;
    }
    for (const one of waiting) if (one.left-- === 0) parts.push(one.result);
    const { result, behind = 0 } = hostedIn(part);
    if (result && behind > 0) waiting.push({ left: behind - 1, result });
    else if (result) parts.push(result);
  }
  return [...parts, ...waiting.filter(({ left }) => left >= 0).map(({ result }) => result)];
}

function hostedIn(part: AnswerPart): { use?: RequestPart; result?: RequestPart; behind?: number } {
  return part.type === 'hosted-tool' && isObject(part.opaque) ? (part.opaque as unknown as HostedParts) : {};
}

/** Omits empty parts and data of other models. */
function answerPart(part: AnswerPart): RequestPart[] {
  const { signature } = isObject(part.opaque) ? part.opaque : {};
  const signed = typeof signature === 'string' ? { thoughtSignature: signature } : {};
  switch (part.type) {
    case 'text':
      return part.text === '' && !signed.thoughtSignature ? [] : [{ text: part.text, ...signed }];
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }];
    case 'reasoning':
      return signed.thoughtSignature ? [{ text: part.text, thought: true, ...signed }] : [];
    case 'tool-call': {
      const id = ownId(part);
      const functionCall = { ...(id !== undefined && { id }), name: plainName(part.name), args: argumentsOf(part.arguments) };
      return [{ functionCall, ...signed }];
    }
    case 'hosted-tool': {
      const { use } = hostedIn(part);
      return use ? [use] : [];
    }
    case 'image':
      return [{ ...(/^data:/i.test(part.url) ? imagePart(part) : { text: `[Image: ${part.url}]` }), ...signed }];
    case 'file':
      return [{ ...(/^data:/i.test(part.url) ? filePart(part) : { text: fileWords(part) }), ...signed }];
    case 'source':
    case 'compaction':
      return [];
  }
}

/** The API requires an object. Other arguments are wrapped in one, so that the model still sees what it wrote. */
function argumentsOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  return parseObject(text) ?? { malformed_arguments: text };
}
