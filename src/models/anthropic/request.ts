import type Anthropic from '@anthropic-ai/sdk';
import type { ModelSettings } from '../../core/agent';
import { sentId } from '../../core/call-ids';
import { isObject, parseObject } from '../../core/json';
import {
  type AnswerPart,
  type Content,
  compactionIn,
  type FilePart,
  fileWords,
  type ImagePart,
  type Message,
  type Part,
  type ToolMessage,
} from '../../core/message';
import type { ModelRequest } from '../model';
import { schemaWords } from '../schema-words';
import { dataOf } from '../wire/data-url';
import { answerSchema } from './answer-schema';
import { toHostedTool } from './hosted-tools';
import { thinkingFields, traitsOf } from './model-traits';
import type { HostedBlocks } from './stream';

type Block = Anthropic.ContentBlockParam;
type Role = 'user' | 'assistant';

const cacheControl = { type: 'ephemeral' as const };

/**
 * The body of the HTTP request, as bytes. `settings.providerOptions` are merged last and override every field but `stream`; `null` removes a
 * field. With `caching`, cache breakpoints mark the instructions and each of the last two user turns, so that the next request reads the
 * prefix that both have in common from the cache.
 */
export function encodeRequest(request: ModelRequest, { caching }: { caching: boolean }): Uint8Array {
  const fields = fieldsOf(request, caching);
  // Messages given in the provider options replace the transcript.
  if ('messages' in fields) return Buffer.from(JSON.stringify(fields));
  const turns = turnsOf(withoutLost(request.messages));
  const marked = caching ? turns.filter(({ role }) => role === 'user').slice(-2) : [];
  const pieces = turns.map((turn) => encodedTurn(turn, marked.includes(turn)));
  return Buffer.concat([Buffer.from('{"messages":['), ...joined(pieces), Buffer.from(`],${JSON.stringify(fields).slice(1)}`)]);
}

function fieldsOf(request: ModelRequest, caching: boolean): object {
  const { model, instructions, settings, tools, hostedTools = [], answer, compaction, maxOutputTokens } = request;
  const traits = traitsOf(model, maxOutputTokens);
  const choice = toToolChoice(settings.toolChoice);
  // The API rejects thinking together with a forced tool call.
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const { thinking, effort, max_tokens } = thinkingFields(traits, isForced ? { maxTokens: settings.maxTokens } : settings);
  const thinks = thinking !== undefined && (thinking as { type: string }).type !== 'disabled';
  const schema = answer && traits.structuredOutput ? answerSchema(answer) : undefined;
  const system = answer && !schema ? `${instructions}\n\n${schemaWords(answer)}` : instructions;
  const output = {
    ...(effort && { effort }),
    ...(schema && { format: { type: 'json_schema', schema } }),
  };
  const fields = {
    model,
    max_tokens,
    ...(system.trim() && { system: [{ type: 'text', text: system, ...(caching && { cache_control: cacheControl }) }] }),
    ...(tools.length + hostedTools.length > 0 && {
      tools: [
        ...tools.map(({ name, description, parameters }) => ({ name, ...(description && { description }), input_schema: parameters })),
        ...hostedTools.map(toHostedTool),
      ],
      ...(choice && { tool_choice: choice }),
    }),
    ...(thinking && { thinking }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    // The API rejects a temperature together with thinking.
    ...(settings.temperature !== undefined && !thinks && { temperature: settings.temperature }),
    ...(compaction && { context_management: { edits: [toEdit(compaction)] } }),
    ...settings.providerOptions,
  };
  return { ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)), stream: true };
}

const compactionBeta = 'compact-2026-01-12';

/** The beta headers of a request: the API accepts compactions, in either direction, only with one. `given`: those of the provider's options. */
export function betasOf({ compaction, messages }: ModelRequest, given: string | undefined): { 'anthropic-beta'?: string } {
  const isNeeded = compaction || messages.some((message) => message.role === 'assistant' && compactionIn(message.content));
  const betas = (given ?? '').split(',').map((beta) => beta.trim());
  return isNeeded ? { 'anthropic-beta': [...new Set([...betas, compactionBeta])].filter((beta) => beta !== '').join(',') } : {};
}

function toEdit({ atTokens, prompt }: NonNullable<ModelRequest['compaction']>): Anthropic.Beta.BetaCompact20260112Edit {
  return {
    type: 'compact_20260112',
    trigger: { type: 'input_tokens', value: atTokens },
    // They replace the API's own prompt, which asks for these tags.
    ...(prompt !== undefined && { instructions: `${prompt.trim()}\nWrap your summary in a <summary></summary> block.` }),
  };
}

function toToolChoice(choice: ModelSettings['toolChoice']): Anthropic.ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === 'object') return { type: 'tool', name: choice.tool };
  return { type: choice === 'required' ? 'any' : choice };
}

/**
 * Removes calls of hosted tools whose result never came, and results whose call is gone. The API rejects both, and with them every later request
 * of the conversation. The result may arrive in the next answer, so a call in the newest answer is kept. If the transcript was shortened
 * between the two answers, only the result is left.
 */
function withoutLost(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(hasHalf)) return messages;
  const newest = messages.findLastIndex(({ role }) => role !== 'tool');
  const found = new Set(messages.flatMap((message) => idsOf(message, 'result')));
  const called = new Set<string>();
  return messages.map((message, i) => {
    for (const id of idsOf(message, 'use')) called.add(id);
    if (message.role !== 'assistant' || !hasHalf(message)) return message;
    const isWanted = (part: AnswerPart) => {
      if (part.type !== 'hosted-tool') return true;
      if (isOpenCall(part)) return i === newest || found.has(part.id);
      return !isLateResult(part) || called.has(part.id);
    };
    return message.content.every(isWanted) ? message : { ...message, content: message.content.filter(isWanted) };
  });
}

function hasHalf(message: Message): boolean {
  return message.role === 'assistant' && message.content.some((part) => isOpenCall(part) || isLateResult(part));
}

function isOpenCall(part: AnswerPart): boolean {
  const { use, result } = hostedBlocks(part);
  return use !== undefined && result === undefined;
}

/** The result of a call in an earlier answer. */
function isLateResult(part: AnswerPart): boolean {
  const { use, result } = hostedBlocks(part);
  return use === undefined && result !== undefined;
}

/** The ids of the hosted tools whose call, or whose result, is in a message. */
function idsOf(message: Message, block: 'use' | 'result'): string[] {
  if (message.role !== 'assistant') return [];
  return message.content.flatMap((part) => (part.type === 'hosted-tool' && hostedBlocks(part)[block] !== undefined ? [part.id] : []));
}

function hostedBlocks({ type, opaque }: AnswerPart): Partial<HostedBlocks> {
  return type === 'hosted-tool' && isObject(opaque) ? opaque : {};
}

interface Turn {
  role: Role;
  messages: Message[];
}

/** Merges consecutive messages of one side into a turn. Tool results come first in it, because they follow their calls. */
function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    if (blocksOf(message, messages).length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.messages.push(message);
    else turns.push({ role, messages: [message] });
  }
  return turns;
}

interface Encoded {
  blocks: Block[];
  bytes: Buffer;
}

/** Each request sends the whole transcript, of which only the end is new. So each message is encoded only once. */
const encoded = new WeakMap<Message, Encoded>();

function encode(message: Message, messages: readonly Message[]): Encoded {
  const known = encoded.get(message);
  if (known) return known;
  const blocks = toBlocks(message, messages);
  const made = { blocks, bytes: Buffer.from(blocks.map((block) => JSON.stringify(block)).join(',')) };
  encoded.set(message, made);
  return made;
}

const blocksOf = (message: Message, messages: readonly Message[]): Block[] => encode(message, messages).blocks;

function encodedTurn({ role, messages }: Turn, isMarked: boolean): Buffer {
  const head = Buffer.from(`{"role":"${role}","content":[`);
  const pieces = messages.map((message) => encode(message, messages).bytes);
  if (isMarked) {
    const { blocks } = encode(messages.at(-1) as Message, messages);
    pieces[pieces.length - 1] = Buffer.from(
      blocks.map((block, i) => JSON.stringify(i < blocks.length - 1 ? block : marked(block))).join(','),
    );
  }
  return Buffer.concat([head, ...joined(pieces), Buffer.from(']}')]);
}

function marked(block: Block): Block {
  return { ...block, cache_control: cacheControl } as Block;
}

const comma = Buffer.from(',');

function joined(pieces: readonly Buffer[]): Buffer[] {
  return pieces.flatMap((piece, i) => (i === 0 ? [piece] : [comma, piece]));
}

function toBlocks(message: Message, messages: readonly Message[]): Block[] {
  switch (message.role) {
    case 'user':
      return partsOf(message.content).map(toBlock);
    case 'tool':
      return [toResult(message, messages)];
    case 'assistant':
      return answerBlocks(message.content);
  }
}

/** The API rejects blank text. */
function partsOf(content: Content): Part[] {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return parts.filter((part) => part.type !== 'text' || part.text.trim() !== '');
}

function toBlock(part: Part): Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', source: imageSource(part) };
    case 'file':
      return toDocument(part);
  }
}

function imageSource({ url }: ImagePart): Anthropic.ImageBlockParam['source'] {
  const { mediaType, data } = dataOf(url) ?? {};
  if (data === undefined) return { type: 'url', url };
  return { type: 'base64', media_type: mediaType as Anthropic.Base64ImageSource['media_type'], data };
}

function toDocument(part: FilePart): Anthropic.DocumentBlockParam | Anthropic.TextBlockParam {
  const { url, mediaType, name } = part;
  const titled = name ? { title: name } : {};
  const data = dataOf(url)?.data;
  if (mediaType === 'application/pdf') {
    const source =
      data === undefined ? { type: 'url' as const, url } : { type: 'base64' as const, media_type: 'application/pdf' as const, data };
    return { type: 'document', source, ...titled };
  }
  if (data !== undefined && /^text\/|\/json$|\/xml$/.test(mediaType)) {
    const text = Buffer.from(data, 'base64').toString();
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...titled };
  }
  return { type: 'text', text: fileWords(part) };
}

/** The API accepts letters, digits, `_` and `-`; ids of other providers' models may have other characters. */
const plainId = (id: string) => id.replace(/[^\w-]/g, '_') || '_';
const plainName = (name: string) => name.replace(/[^\w-]/g, '_').slice(0, 128) || '_';

function toResult({ toolCallId, content, isError }: ToolMessage, messages: readonly Message[]): Anthropic.ToolResultBlockParam {
  const parts = partsOf(content);
  const only = parts.length === 1 && parts[0]?.type === 'text' ? parts[0].text : undefined;
  return {
    type: 'tool_result',
    tool_use_id: plainId(providersId(toolCallId, messages)),
    content: parts.length === 0 ? '(no output)' : (only ?? parts.map(toBlock)),
    ...(isError && { is_error: true }),
  };
}

/** The provider's id of a call. */
function providersId(id: string, messages: readonly Message[]): string {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) if (part.type === 'tool-call' && part.id === id) return sentId(part);
  }
  return id;
}

/** Blocks in their original order: the result of a hosted tool may come after the results of tools that it used itself. */
function answerBlocks(parts: readonly AnswerPart[]): Block[] {
  const blocks: Block[] = [];
  const waiting = new Map<string, Block[]>();
  for (const part of parts) {
    if (part.type !== 'hosted-tool') {
      blocks.push(...partBlocks(part));
      continue;
    }
    const { use, result, behind } = hostedBlocks(part);
    if (use) blocks.push(use as unknown as Block);
    const others = waiting.get(part.id) ?? [];
    if (!result) blocks.push(...others);
    else if (behind === undefined) blocks.push(result as unknown as Block, ...others);
    else waiting.set(behind, [...others, ...(waiting.get(behind) ?? []), result as unknown as Block]);
  }
  return blocks;
}

/** Returns no block for data of other models or for empty parts: the API rejects blank text, and reasoning without its signature. */
function partBlocks(part: Exclude<AnswerPart, { type: 'hosted-tool' }>): Block[] {
  const opaque = isObject(part.opaque) ? part.opaque : {};
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text, ...opaque } as Anthropic.TextBlockParam];
    case 'refusal':
      return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
    case 'reasoning':
      if (typeof opaque.redacted === 'string') return [{ type: 'redacted_thinking', data: opaque.redacted }];
      return typeof opaque.signature === 'string' ? [{ type: 'thinking', thinking: part.text, signature: opaque.signature }] : [];
    case 'tool-call': {
      const { name, arguments: text } = part;
      return [{ type: 'tool_use', id: plainId(sentId(part)), name: plainName(name), input: inputOf(text) }];
    }
    case 'image':
    case 'file':
      return [{ type: 'text', text: `[${part.type === 'image' ? 'Image' : fileWords(part)}]` }];
    case 'compaction':
      // The API rejects an empty one. Its type is only among those of the beta.
      return part.text === '' ? [] : [{ ...opaque, type: 'compaction', content: part.text } as unknown as Block];
    case 'source':
      return [];
  }
}

/** The API requires an object. Other arguments are wrapped in one, so that the model still sees what it wrote. */
function inputOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  return parseObject(text) ?? { malformed_arguments: text };
}
