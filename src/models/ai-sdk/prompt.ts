import { sentId } from '../../core/call-ids';
import {
  type Content,
  type FilePart,
  fileWords,
  type ImagePart,
  type Message,
  type Part,
  type ToolMessage,
  textOf,
} from '../../core/message';
import { dataOf } from '../wire/data-url';
import { answerPrompt } from './answer-prompt';
import { fileData } from './files';
import type { PromptMessage, Reader, ResultItem, ResultOutput, ResultPromptPart, UserPromptPart } from './spec';

/** Writes transcripts for one model. Each message is converted only once, so that the prompt consists of the same objects in each turn. */
export function promptWriter(reader: Reader): (messages: readonly Message[]) => PromptMessage[] {
  const written = new WeakMap<Message, PromptMessage | ResultPromptPart | undefined>();
  const write = <T extends PromptMessage | ResultPromptPart>(message: Message, make: () => T | undefined): T | undefined => {
    if (!written.has(message)) written.set(message, make());
    return written.get(message) as T | undefined;
  };

  return (messages) => {
    const prompt: PromptMessage[] = [];
    const sent = new Map<string, string>();
    let results: ResultPromptPart[] = [];
    let files: UserPromptPart[] = [];
    /** The results of one answer are one message, directly after the answer. Their files follow after it. */
    const endResults = () => {
      if (results.length > 0) prompt.push({ role: 'tool', content: results });
      if (files.length > 0) prompt.push({ role: 'user', content: files });
      results = [];
      files = [];
    };
    for (const message of messages) {
      if (message.role === 'tool') {
        const callId = sent.get(message.toolCallId) ?? message.toolCallId;
        results.push(write(message, () => toResult(message, callId, reader)) as ResultPromptPart);
        if (!reader.filesInResults) files.push(...shownFiles(message, reader));
        continue;
      }
      endResults();
      if (message.role === 'assistant') {
        for (const part of message.content) if (part.type === 'tool-call') sent.set(part.id, sentId(part));
      }
      const made = write(message, () => (message.role === 'user' ? toUser(message.content, reader) : toAssistant(message.content, reader)));
      if (made) prompt.push(made);
    }
    endResults();
    return withoutOrphans(prompt);
  };
}

/** Removes results of hosted tools whose call is gone: it was in an earlier answer, which a shortened transcript no longer has. Providers reject them. */
function withoutOrphans(prompt: PromptMessage[]): PromptMessage[] {
  const called = new Set<string>();
  return prompt.flatMap((message): PromptMessage[] => {
    if (message.role !== 'assistant') return [message];
    for (const part of message.content) if (part.type === 'tool-call') called.add(part.toolCallId);
    const content = message.content.filter((part) => part.type !== 'tool-result' || called.has(part.toolCallId));
    if (content.length === message.content.length) return [message];
    return content.length > 0 ? [{ ...message, content }] : [];
  });
}

function toUser(content: Content, reader: Reader): PromptMessage | undefined {
  const parts = partsOf(content).map((part) => toUserPart(part, reader));
  return parts.length > 0 ? { role: 'user', content: parts } : undefined;
}

function toAssistant(parts: Parameters<typeof answerPrompt>[0], reader: Reader): PromptMessage | undefined {
  const content = answerPrompt(parts, reader);
  return content.length > 0 ? { role: 'assistant', content } : undefined;
}

/** Some providers reject blank text. */
function partsOf(content: Content): Part[] {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return parts.filter((part) => part.type !== 'text' || part.text.trim() !== '');
}

function toUserPart(part: Part, { version, provider }: Reader): UserPromptPart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { url } = part;
  const data = dataOf(url);
  if (!data && !URL.canParse(url)) return { type: 'text', text: wordsFor(part) };
  return {
    type: 'file',
    data: fileData(data?.data ?? new URL(url), version),
    mediaType: mediaTypeOf(part, data?.mediaType),
    ...(part.type === 'file' && part.name && { filename: part.name }),
    ...(part.type === 'image' && part.detail && { providerOptions: { [vendorOf(provider)]: { imageDetail: part.detail } } }),
  };
}

/** `groq.chat` belongs to `groq`, which is the key of its options. */
export function vendorOf(provider: string): string {
  return provider.split('.', 1)[0]?.trim() || provider;
}

/** The type of an image at an address is not known; the specification has a wildcard for that. */
function mediaTypeOf(part: ImagePart | FilePart, ofData = ''): string {
  if (part.type === 'file') return part.mediaType;
  return ofData.startsWith('image/') ? ofData : 'image/*';
}

const wordsFor = (part: ImagePart | FilePart) => (part.type === 'file' ? fileWords(part) : `[Image: ${part.url}]`);

function toResult(message: ToolMessage, toolCallId: string, reader: Reader): ResultPromptPart {
  return { type: 'tool-result', toolCallId, toolName: message.name, output: toOutput(message, reader) };
}

function toOutput({ content, isError }: ToolMessage, reader: Reader): ResultOutput {
  const files = partsOf(content).filter((part) => part.type !== 'text');
  const text = textOf(content);
  if (files.length > 0 && reader.filesInResults) {
    return { type: 'content', value: partsOf(content).map((part) => toItem(part, reader)) };
  }
  const note = `(${files.length === 1 ? 'An image or file' : `${files.length} images or files`} of this result: in the next message.)`;
  const words = [text, files.length > 0 ? note : ''].filter((one) => one.trim() !== '').join('\n');
  return { type: isError ? 'error-text' : 'text', value: words || '(no output)' };
}

function toItem(part: Part, { version }: Reader): ResultItem {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { type, url } = part;
  const data = dataOf(url);
  if (!data && (version === 'v2' || !URL.canParse(url))) return { type: 'text', text: wordsFor(part) };
  const named = type === 'file' && part.name ? { filename: part.name } : {};
  const mediaType = mediaTypeOf(part, data?.mediaType);
  if (version === 'v4') return { type: 'file', data: fileData(data?.data ?? new URL(url), version), mediaType, ...named };
  if (!data) return { type: `${type}-url`, url };
  if (version === 'v2') return { type: 'media', data: data.data, mediaType };
  return { type: `${type}-data`, data: data.data, mediaType, ...(type === 'file' && named) };
}

function shownFiles(message: ToolMessage, reader: Reader): UserPromptPart[] {
  const files = partsOf(message.content).filter((part) => part.type !== 'text');
  if (files.length === 0) return [];
  return [{ type: 'text', text: `From the result of ${message.name}:` }, ...files.map((part) => toUserPart(part, reader))];
}
