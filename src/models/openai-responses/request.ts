import type OpenAI from 'openai';
import type { ModelSettings } from '../../core/agent';
import type { Content, FilePart, Message, Part, ToolCallPart, ToolMessage } from '../../core/message';
import type { ModelRequest } from '../model';
import { answerItems, callIdOf, callItemOf } from './answer-items';
import { toResultItem } from './client-calls';
import { includesOf, toHostedTool } from './hosted-tools';
import { traitsOf } from './model-traits';

type InputItem = OpenAI.Responses.ResponseInputItem;
type InputPart = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage | OpenAI.Responses.ResponseInputFile;

/**
 * The body of the HTTP request, as bytes. `settings.providerOptions` are merged last and override every field but `stream`; `null` removes a
 * field (`{ include: null }` for a server that rejects it).
 */
export function encodeRequest(request: ModelRequest): Uint8Array {
  const fields = fieldsOf(request);
  // Input given in the provider options replaces the transcript.
  if ('input' in fields) return Buffer.from(JSON.stringify(fields));
  const pieces: Buffer[] = [Buffer.from('{"input":[')];
  for (const piece of encodedMessages(request.messages)) {
    if (pieces.length > 1) pieces.push(comma);
    pieces.push(piece);
  }
  pieces.push(Buffer.from(`],${JSON.stringify(fields).slice(1)}`));
  return Buffer.concat(pieces);
}

const comma = Buffer.from(',');

function fieldsOf({ model, instructions, settings, tools, hostedTools = [], answer, compaction, cacheKey }: ModelRequest): object {
  const { reasons, takesTemperature } = traitsOf(model, settings);
  const { reasoningEffort: effort, toolChoice, temperature, maxTokens } = settings;
  const include = [...(reasons ? ['reasoning.encrypted_content'] : []), ...includesOf(hostedTools)];
  const fields = {
    model,
    ...(instructions && { instructions }),
    ...(tools.length + hostedTools.length > 0 && {
      tools: [
        // In this API schemas are strict by default, and a strict schema with optional fields would be rejected.
        ...tools.map(({ name, description, parameters }) => ({
          type: 'function' as const,
          name,
          ...(description && { description }),
          parameters,
          strict: false,
        })),
        ...hostedTools.map(toHostedTool),
      ],
      ...(toolChoice !== undefined && { tool_choice: toToolChoice(toolChoice) }),
    }),
    ...(answer && { text: { format: { type: 'json_schema', name: 'answer', schema: answer, strict: false } } }),
    ...(reasons && { reasoning: { ...(effort !== undefined && { effort }), summary: 'auto' } }),
    ...(!reasons && effort !== undefined && { reasoning: { effort } }),
    ...(temperature !== undefined && takesTemperature && { temperature }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(include.length > 0 && { include }),
    ...(cacheKey && { prompt_cache_key: cacheKey }),
    ...(compaction && { context_management: [{ type: 'compaction', compact_threshold: compaction.atTokens }] }),
    store: false,
    ...settings.providerOptions,
  };
  return { ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)), stream: true };
}

function toToolChoice(choice: NonNullable<ModelSettings['toolChoice']>): OpenAI.Responses.ResponseCreateParams['tool_choice'] {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.tool };
}

/**
 * Each request sends the whole transcript, of which only the end is new. So each message is encoded only once. A tool result is encoded again if
 * its call is sent as another item than before: models of other families receive the calls of this one as plain function calls.
 */
const encoded = new WeakMap<Message, { bytes: Buffer; call: ToolCallPart | undefined }>();

function* encodedMessages(messages: readonly Message[]): Generator<Buffer> {
  const calls = new Map<string, ToolCallPart>();
  for (const message of messages) {
    if (message.role === 'assistant') for (const part of message.content) if (part.type === 'tool-call') calls.set(part.id, part);
    const call = message.role === 'tool' ? calls.get(message.toolCallId) : undefined;
    let known = encoded.get(message);
    if (!known || known.call !== call) {
      const items = toItems(message, call);
      known = { bytes: Buffer.from(items.map((item) => JSON.stringify(item)).join(',')), call };
      encoded.set(message, known);
    }
    if (known.bytes.length > 0) yield known.bytes;
  }
}

/** `call`: for a tool result, its call. */
function toItems(message: Message, call: ToolCallPart | undefined): InputItem[] {
  switch (message.role) {
    case 'user':
      return userItems(message.content);
    case 'assistant':
      return answerItems(message.content);
    case 'tool':
      return [toResultItem(call && callItemOf(call), call ? callIdOf(call) : message.toolCallId, message, outputOf(message))];
  }
}

function userItems(content: Content): InputItem[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'message', role: 'user', content }];
  const parts = partsIn(content);
  return parts.length > 0 ? [{ type: 'message', role: 'user', content: parts }] : [];
}

function partsIn(content: readonly Part[]): InputPart[] {
  return content.filter((part) => part.type !== 'text' || part.text !== '').map(toInputPart);
}

function toInputPart(part: Part): InputPart {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' };
    case 'file':
      return filePart(part);
  }
}

/** The API requires a name for file data, and accepts none for an address. */
function filePart({ url, name, mediaType }: FilePart): InputPart {
  if (!url.startsWith('data:')) return { type: 'input_file', file_url: url };
  return { type: 'input_file', filename: name ?? `file.${/\/([a-z0-9]+)$/.exec(mediaType)?.[1] ?? 'bin'}`, file_data: url };
}

function outputOf({ content }: ToolMessage): string | InputPart[] {
  if (typeof content === 'string') return content || '(no output)';
  const parts = partsIn(content);
  const [only] = parts;
  if (!only) return '(no output)';
  return parts.length === 1 && only.type === 'input_text' ? only.text : parts;
}
