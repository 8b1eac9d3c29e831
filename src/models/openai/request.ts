import type OpenAI from 'openai';
import type { ModelSettings } from '../../core/agent';
import { sentId } from '../../core/call-ids';
import { type JsonObject, parseObject } from '../../core/json';
import { type AssistantMessage, type Content, type Message, type Part, type ToolMessage, textOf } from '../../core/message';
import type { ModelRequest } from '../model';
import { replayExtras } from './opaque';

type ChatMessage = OpenAI.Chat.ChatCompletionMessageParam;
type ChatPart = OpenAI.Chat.ChatCompletionContentPart;
type ToolChoice = OpenAI.Chat.ChatCompletionToolChoiceOption;

/** OpenAI's newer models refuse `max_tokens`; most compatible servers know nothing else. */
export type MaxTokensField = 'max_tokens' | 'max_completion_tokens';

/**
 * The body of the HTTP request, as bytes. `settings.providerOptions` come last and win over everything but `stream`;
 * a `null` among them takes the field out (`{ stream_options: null }` for a server that refuses it).
 */
export function encodeRequest(request: ModelRequest, maxTokensField: MaxTokensField): Uint8Array {
  const fields = fieldsOf(request, maxTokensField);
  // Someone who brings messages of his own in the provider's options gets them.
  if ('messages' in fields) return Buffer.from(JSON.stringify(fields));
  const pieces: Buffer[] = [Buffer.from('{"messages":[')];
  for (const piece of encodedMessages(request)) {
    if (pieces.length > 1) pieces.push(comma);
    pieces.push(piece);
  }
  pieces.push(Buffer.from(`],${JSON.stringify(fields).slice(1)}`));
  return Buffer.concat(pieces);
}

const comma = Buffer.from(',');

function fieldsOf({ model, settings, tools, answer }: ModelRequest, maxTokensField: MaxTokensField): object {
  const fields = {
    model,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, ...(description && { description }), parameters },
      })),
    }),
    // Without tools the API refuses a `tool_choice`, and takes its absence as `none`.
    ...(tools.length > 0 && settings.toolChoice !== undefined && { tool_choice: toToolChoice(settings.toolChoice) }),
    ...(answer && { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: answer } } }),
    ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    ...(settings.maxTokens !== undefined && { [maxTokensField]: settings.maxTokens }),
    stream_options: { include_usage: true },
    ...settings.providerOptions,
  };
  return { ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)), stream: true };
}

function toToolChoice(choice: NonNullable<ModelSettings['toolChoice']>): ToolChoice {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } };
}

/**
 * A transcript of hundreds of messages is sent anew with each turn, and is the same but for its end. So each message is written as JSON
 * once, and kept for as long as the message itself is: writing it all anew is what makes the turns of a long thread slower.
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

function* encodedMessages({ instructions, messages }: ModelRequest): Generator<Buffer> {
  if (instructions) yield Buffer.from(JSON.stringify({ role: 'system', content: instructions } satisfies ChatMessage));
  let images: ChatPart[] = [];
  const sent = new Map<string, string>();
  for (const message of messages) {
    if (message.role === 'assistant') for (const call of message.toolCalls) sent.set(call.id, sentId(call));
    const callId = message.role === 'tool' ? (sent.get(message.toolCallId) ?? message.toolCallId) : '';
    // The API wants all results of an answer directly after it, so images wait until the last of them is there.
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

/** `callId`: of a tool's result, the id by which the provider knows the call. */
function toChatMessages(message: Message, callId: string): ChatMessage[] {
  if (message.role === 'tool') return [{ role: 'tool', tool_call_id: callId, content: toolText(message) }];
  if (message.role === 'user') return [{ role: 'user', content: userContent(message.content) }];
  return toAssistant(message);
}

function userContent(content: Content): string | ChatPart[] {
  if (typeof content === 'string') return content;
  const parts = content.filter((part) => part.type !== 'text' || part.text !== '').map(toPart);
  return parts.length > 0 ? parts : '';
}

function toPart(part: Part): ChatPart {
  if (part.type === 'text') return part;
  return { type: 'image_url', image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } };
}

/** An answer without words and calls (a filter swallowed it) is left out: the API refuses an empty one. */
function toAssistant(message: AssistantMessage): ChatMessage[] {
  const content = message.content || message.refusal || null;
  if (message.toolCalls.length === 0) return content === null ? [] : [{ role: 'assistant', content }];
  const calls = message.toolCalls.map((call) => ({
    id: sentId(call),
    type: 'function' as const,
    function: { name: call.name, arguments: replayable(call.arguments) },
  }));
  return [{ role: 'assistant', content, tool_calls: replayExtras(calls, message.opaque) }];
}

/**
 * The arguments as the model wrote them. OpenAI takes any text, but many servers parse the arguments of old calls and refuse the whole request
 * when they can't, so what is no JSON object travels inside one, where the model still sees what it wrote.
 */
function replayable(text: string): string {
  if (text.trim() === '') return '{}';
  if (parseObject(text)) return text;
  return JSON.stringify({ malformed_arguments: text } satisfies JsonObject);
}

/** Tool messages are text only, and never empty: some servers refuse that. */
function toolText(message: ToolMessage): string {
  const text = textOf(message.content);
  const images = imageParts(message.content).length;
  if (images === 0) return text || '(no output)';
  const note = `(${images === 1 ? 'An image' : `${images} images`} of this result: in the next message.)`;
  return text ? `${text}\n${note}` : note;
}

function imagesOf(message: ToolMessage, callId: string): ChatPart[] {
  const images = imageParts(message.content);
  if (images.length === 0) return [];
  return [{ type: 'text', text: `From the result of ${message.name} (call ${callId}):` }, ...images.map(toPart)];
}

function imageParts(content: Content): Part[] {
  return typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');
}
