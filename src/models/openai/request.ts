import type OpenAI from 'openai';
import type { ModelSettings } from '../../core/agent';
import { sentId } from '../../core/call-ids';
import { isObject, type Json, type JsonObject, parseObject } from '../../core/json';
import {
  type AssistantMessage,
  type Content,
  type FilePart,
  type Message,
  type Part,
  type ToolMessage,
  textOf,
  wordsOf,
} from '../../core/message';
import { ModelFailure, type ModelRequest } from '../model';
import { traitsOf } from '../openai-responses/model-traits';
import { reasoningFields } from './stream';
import { extraField } from './tool-calls';

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type ChatPart = OpenAI.Chat.ChatCompletionContentPart;
type ToolChoice = OpenAI.Chat.ChatCompletionToolChoiceOption;

/**
 * `openai`: OpenAI and Azure. Their newer models reject `max_tokens`, and their reasoning models have developer messages instead of system messages.
 * `compatible`: any other server; many support only `max_tokens` and the role `system`.
 */
export type Dialect = 'openai' | 'compatible';

/**
 * The body of the HTTP request, as bytes. `settings.providerOptions` are merged last and override every field but `stream`; `null` removes a
 * field (`{ stream_options: null }` for a server that rejects it).
 */
export function encodeRequest(request: ModelRequest, dialect: Dialect): Uint8Array {
  const fields = fieldsOf(request, dialect);
  // Messages given in the provider options replace the transcript.
  if ('messages' in fields) return Buffer.from(JSON.stringify(fields));
  const pieces: Buffer[] = [Buffer.from('{"messages":[')];
  for (const piece of encodedMessages(request, dialect)) {
    if (pieces.length > 1) pieces.push(comma);
    pieces.push(piece);
  }
  pieces.push(Buffer.from(`],${JSON.stringify(fields).slice(1)}`));
  return Buffer.concat(pieces);
}

const comma = Buffer.from(',');

function fieldsOf({ model, settings, tools, hostedTools = [], answer, cacheKey }: ModelRequest, dialect: Dialect): object {
  const [hosted] = hostedTools;
  if (hosted) {
    const others = 'openai-responses, anthropic and google have such tools.';
    throw new ModelFailure('bad-request', `Chat Completions has no hosted tools, so not '${hosted.name}' either. The providers ${others}`);
  }
  const fields = {
    model,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, ...(description && { description }), parameters },
      })),
    }),
    // Without tools the API rejects a `tool_choice`, and its absence means `none`.
    ...(tools.length > 0 && settings.toolChoice !== undefined && { tool_choice: toToolChoice(settings.toolChoice) }),
    ...(answer && { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: answer } } }),
    ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    ...(settings.reasoningEffort !== undefined && { reasoning_effort: settings.reasoningEffort }),
    ...(settings.maxTokens !== undefined && { [dialect === 'openai' ? 'max_completion_tokens' : 'max_tokens']: settings.maxTokens }),
    ...(cacheKey && dialect === 'openai' && { prompt_cache_key: cacheKey }),
    stream_options: { include_usage: true },
    ...settings.providerOptions,
  };
  return { ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)), stream: true };
}

function toToolChoice(choice: NonNullable<ModelSettings['toolChoice']>): ToolChoice {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } };
}

/**
 * Each request sends the whole transcript, possibly hundreds of messages, of which only the end is new. So each message is encoded only once,
 * and its bytes are kept as long as the message: encoding everything again would slow down the turns of a long thread.
 */
const encoded = new WeakMap<Message, Buffer>();

function encode(message: Message, callId: string): Buffer {
  let bytes = encoded.get(message);
  if (!bytes) {
    bytes = Buffer.from(
      toChatMessages(message, callId)
        .map((wire) => JSON.stringify(wire))
        .join(','),
    );
    encoded.set(message, bytes);
  }
  return bytes;
}

function* encodedMessages({ model, settings, instructions, messages }: ModelRequest, dialect: Dialect): Generator<Buffer> {
  const role = dialect === 'openai' && traitsOf(model, settings).reasons ? 'developer' : 'system';
  if (instructions) yield Buffer.from(JSON.stringify({ role, content: instructions } satisfies ChatMessage));
  let images: ChatPart[] = [];
  const sent = new Map<string, string>();
  for (const message of messages) {
    if (message.role === 'assistant') for (const part of message.content) if (part.type === 'tool-call') sent.set(part.id, sentId(part));
    const callId = message.role === 'tool' ? (sent.get(message.toolCallId) ?? message.toolCallId) : '';
    // The API requires all results of an answer directly after it, so images wait until after the last result.
    if (message.role !== 'tool' && images.length > 0) {
      yield Buffer.from(JSON.stringify({ role: 'user', content: images } satisfies ChatMessage));
      images = [];
    }
    const bytes = encode(message, callId);
    if (bytes.length > 0) yield bytes;
    if (message.role === 'tool') images.push(...imagesOf(message, callId));
  }
  if (images.length > 0) yield Buffer.from(JSON.stringify({ role: 'user', content: images } satisfies ChatMessage));
}

/** `callId`: for a tool result, the provider's id of the call. */
function toChatMessages(message: Message, callId: string): ChatMessage[] {
  if (message.role === 'tool') return [{ role: 'tool', tool_call_id: callId, content: toolText(message) }];
  if (message.role === 'assistant') return toAssistant(message);
  const content = userContent(message.content);
  return content === '' ? [] : [{ role: 'user', content }];
}

function userContent(content: Content): string | ChatPart[] {
  if (typeof content === 'string') return content;
  const parts = content.filter((part) => part.type !== 'text' || part.text !== '').map(toPart);
  return parts.length > 0 ? parts : '';
}

function toPart(part: Part): ChatPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } };
    case 'file':
      return filePart(part);
  }
}

/** The API accepts a file's data, but no address. */
function filePart({ url, name = 'file' }: FilePart): ChatPart {
  if (url.startsWith('data:')) return { type: 'file', file: { filename: name, file_data: url } };
  return { type: 'text', text: `[File ${name}: ${url}]` };
}

/** Omits an answer without text and calls (removed by a filter): the API rejects an empty message. */
function toAssistant({ content: parts }: AssistantMessage): ChatMessage[] {
  const content = wordsOf(parts) || null;
  const calls = parts.flatMap((part) =>
    part.type !== 'tool-call'
      ? []
      : {
          id: sentId(part),
          type: 'function' as const,
          function: { name: part.name, arguments: replayable(part.arguments) },
          ...extraOf(part.opaque),
        },
  );
  if (calls.length === 0) return content === null ? [] : [{ role: 'assistant', content }];
  return [{ role: 'assistant', content, ...thoughts(parts), tool_calls: calls }];
}

/** What the server attached to a call. Data of any other form is of a provider that had this model before, such as one that this worker lacks. */
function extraOf(opaque: Json | undefined): object {
  return isObject(opaque) && opaque[extraField] !== undefined ? { [extraField]: opaque[extraField] } : {};
}

/** The model's reasoning, in the field in which its server sent it. */
function thoughts(parts: AssistantMessage['content']): Record<string, string> {
  const part = parts.find(({ type }) => type === 'reasoning');
  const field = part?.type === 'reasoning' && isObject(part.opaque) ? part.opaque.field : undefined;
  return part?.type === 'reasoning' && reasoningFields.some((known) => known === field) ? { [field as string]: part.text } : {};
}

/**
 * The arguments as the model wrote them. OpenAI accepts any text, but many servers parse the arguments of earlier calls and reject the request if
 * that fails. So text that is not a JSON object is wrapped in one, where the model still sees what it wrote.
 */
export function replayable(text: string): string {
  if (text.trim() === '') return '{}';
  if (parseObject(text)) return text;
  return JSON.stringify({ malformed_arguments: text } satisfies JsonObject);
}

/** Tool messages contain only text, and are never empty, because some servers reject empty ones. */
function toolText(message: ToolMessage): string {
  const text = textOf(message.content);
  const parts = otherParts(message.content).length;
  if (parts === 0) return text || '(no output)';
  const note = `(${parts === 1 ? 'An image or file' : `${parts} images or files`} of this result: in the next message.)`;
  return text ? `${text}\n${note}` : note;
}

function imagesOf(message: ToolMessage, callId: string): ChatPart[] {
  const images = otherParts(message.content);
  if (images.length === 0) return [];
  return [{ type: 'text', text: `From the result of ${message.name} (call ${callId}):` }, ...images.map(toPart)];
}

function otherParts(content: Content): Part[] {
  return typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text');
}
