import type { Json } from './json';

export interface TextPart {
  type: 'text';
  text: string;
}

/** `url` is `https:` or a `data:` URL. */
export interface ImagePart {
  type: 'image';
  url: string;
  detail?: 'auto' | 'low' | 'high' | undefined;
}

/** A PDF or another file. `url` is `https:` or a `data:` URL. */
export interface FilePart {
  type: 'file';
  url: string;
  /** As in `application/pdf`. */
  mediaType: string;
  name?: string | undefined;
}

/** A piece of a user's message or of a tool's result. */
export type Part = TextPart | ImagePart | FilePart;

export type Content = string | Part[];

/** A call that the model requested. `arguments` is the text that the model wrote. It is sent back unchanged, and parsed only to run the tool. */
export interface ToolCall {
  /** Unique in the thread, over its whole life. */
  id: string;
  /** The provider's own id of the call, if it differs from `id`. Requests to the provider use it. */
  providerId?: string;
  name: string;
  arguments: string;
}

/** The model's reasoning before an answer or a call: its text or a summary of it, and empty if the provider hides it. */
export interface ReasoningPart {
  type: 'reasoning';
  text: string;
}

export interface ToolCallPart extends ToolCall {
  type: 'tool-call';
}

/** A call of a tool that the provider ran itself, such as a web search. `output` is its result as far as the provider reports it. */
export interface HostedToolPart {
  type: 'hosted-tool';
  id: string;
  name: string;
  input: Json;
  output?: Json;
  isError?: boolean;
}

/** A source that the answer cites. */
export interface SourcePart {
  type: 'source';
  url?: string;
  title?: string;
  /** The cited text. */
  quote?: string;
}

/** The model declines to answer. This is shown to people instead of text. */
export interface RefusalPart {
  type: 'refusal';
  text: string;
}

/**
 * The provider replaced the conversation before this answer by its own summary: `text`, which is empty if only the provider can read it. Models
 * that read this part need none of the earlier messages.
 */
export interface CompactionPart {
  type: 'compaction';
  text: string;
}

/**
 * A piece of an answer. `opaque` is the provider's own data, such as a signature or encrypted reasoning. It is sent back with the part, but
 * only to models of the same provider and family.
 */
export type AnswerPart = (
  | TextPart
  | ReasoningPart
  | ToolCallPart
  | HostedToolPart
  | SourcePart
  | ImagePart
  | FilePart
  | RefusalPart
  | CompactionPart
) & {
  opaque?: Json;
};

interface Recorded {
  id: string;
  /** The run and step that added it to the transcript. */
  runId?: string;
  stepId?: string;
}

export interface UserMessage extends Recorded {
  role: 'user';
  content: Content;
  /** The author, unless it is a client: the engine (a prompt to continue or verify), a hook, or a background tool call. */
  origin?: 'engine' | 'hook' | 'tool';
  /** The summary that a compaction put in place of earlier messages. */
  summary?: true;
  /**
   * This is the note before an answer with a `compaction` part. Models that read the part get the note, and then the earlier messages with these
   * ids once more, after the results of that answer. Other models get neither.
   */
  repeats?: string[];
}

export interface AssistantMessage extends Recorded {
  role: 'assistant';
  /** In the order in which the model wrote them. */
  content: AnswerPart[];
  /** The model that wrote it, as the step named it: `provider/model`, or a bare model name. */
  model?: string;
  /** Which attempt of the model step wrote it. */
  attempt: number;
  /** Random for each attempt: attempts share the message id, and attempt numbers repeat when the step is scheduled again. */
  token?: string;
  /** Whether a hook changed the model's text. */
  revised?: true;
}

export interface ToolMessage extends Recorded {
  role: 'tool';
  toolCallId: string;
  name: string;
  content: Content;
  isError: boolean;
  outputRef?: OutputRef;
}

/** The whole output of a tool in the artifact store. Of an output with images or files, its text and a line for each of them. */
export interface OutputRef {
  /** What the model calls `ref`. */
  id: string;
  bytes: number;
  /** 0 if it is not text. */
  lines: number;
  /** As in `text/plain`. */
  mediaType: string;
  /** The content shows only the beginning and the end of it. */
  trimmed?: true;
}

/** One entry of the transcript. The instructions (system prompt) belong to the agent and are not in the transcript. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/**
 * Tokens as the provider counted them. `inputTokens` includes those that were read from the provider's cache (`cachedInputTokens`) and
 * written to it (`cacheWriteTokens`); `outputTokens` includes `reasoningTokens`.
 */
export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

export const noUsage: Usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** The counts that are not 0: most are, and every model call writes them to the history. `{ ...noUsage, ...counted }` restores the others. */
export function countedUsage(usage: Usage): Partial<Usage> {
  return Object.fromEntries(Object.entries(usage).filter(([, tokens]) => tokens !== 0));
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

/**
 * Why the model stopped. `pause`: the provider interrupted a long turn, and continues it with the next request.
 * `unknown`: the stream ended normally but gave no reason.
 */
export const finishReasons = ['stop', 'tool_calls', 'length', 'content_filter', 'pause', 'unknown'] as const;
export type FinishReason = (typeof finishReasons)[number];

/** Returns the text of a message or an answer, without its other parts. */
export function textOf(content: Content | readonly AnswerPart[]): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of content) if (part.type === 'text') text += part.text;
  return text;
}

/** Returns the text of a refusal; empty if there is none. */
export function refusalOf(content: readonly AnswerPart[]): string {
  let text = '';
  for (const part of content) if (part.type === 'refusal') text += part.text;
  return text;
}

/** Returns what users read of an answer: its refusal or else its text. */
export function wordsOf(content: readonly AnswerPart[]): string {
  return refusalOf(content) || textOf(content);
}

/** Returns the last compaction in an answer. */
export function compactionIn(content: readonly AnswerPart[]): CompactionPart | undefined {
  return content.findLast((part) => part.type === 'compaction');
}

/** Returns the readable reasoning of an answer. */
export function reasoningOf(content: readonly AnswerPart[]): string {
  return content.flatMap((part) => (part.type === 'reasoning' && part.text !== '' ? part.text : [])).join('\n\n');
}

/** Replaces an answer's text. The new text is where the old text began, without the `opaque` data of the replaced parts. */
export function withText(content: readonly AnswerPart[], text: string): AnswerPart[] {
  const at = content.findIndex(({ type }) => type === 'text');
  const others = content.filter(({ type }) => type !== 'text');
  const begin =
    at === -1 ? others.findLastIndex(({ type }) => type === 'reasoning' || type === 'compaction') + 1 : content.slice(0, at).length;
  return text === '' ? others : others.toSpliced(begin, 0, { type: 'text', text });
}

/** Describes a file as text, for places that accept only text. */
export function fileWords({ name, mediaType, url }: FilePart): string {
  return `[File ${name ?? ''} (${mediaType})${url.startsWith('data:') ? '' : `: ${url}`}]`.replace('  ', ' ');
}

/** Returns a message's content as it is shown; for an answer, its refusal or text. */
export function shownContent(message: Message): Content {
  return message.role === 'assistant' ? wordsOf(message.content) : message.content;
}

/** Returns the tool calls of an answer, in order. */
export function toolCallsOf(content: readonly AnswerPart[]): ToolCall[] {
  const calls: ToolCall[] = [];
  for (const part of content) if (part.type === 'tool-call') calls.push(callOf(part));
  return calls;
}

/** Returns the call without the fields of its answer part. */
function callOf({ id, providerId, name, arguments: args }: ToolCall): ToolCall {
  return { id, ...(providerId !== undefined && { providerId }), name, arguments: args };
}
