import type { JsonObject } from './json';

/** A piece of a message that is more than text. `url` is `https:` or a `data:` URL. */
export type Part = { type: 'text'; text: string } | { type: 'image'; url: string; detail?: 'auto' | 'low' | 'high' };

export type Content = string | Part[];

/** What the model asked for. `arguments` is the text the model wrote: replayed to it as it was, parsed only to run the tool. */
export interface ToolCall {
  /** Unique in the thread, for as long as it lives. */
  id: string;
  /** The provider's own id of the call, where ours is another. The provider is sent this one. */
  providerId?: string;
  name: string;
  arguments: string;
}

interface Recorded {
  id: string;
  /** The run and step that brought it into the transcript. */
  runId?: string;
  stepId?: string;
}

export interface UserMessage extends Recorded {
  role: 'user';
  content: Content;
  /** Who said it, where it was not a person or program outside: the engine (to go on, to verify), a hook, or a tool in the background. */
  origin?: 'engine' | 'hook' | 'tool';
}

export interface AssistantMessage extends Recorded {
  role: 'assistant';
  content: string;
  toolCalls: ToolCall[];
  refusal?: string;
  /** What the provider must see again (reasoning signatures and the like). Never the raw response. */
  opaque?: JsonObject;
  /** Which attempt of the model step wrote it. */
  attempt: number;
  /** Random, by attempt: several attempts share the id, and the number of an attempt repeats where the step is scheduled anew. */
  token?: string;
  /** A hook changed what the model said. */
  revised?: true;
}

export interface ToolMessage extends Recorded {
  role: 'tool';
  toolCallId: string;
  name: string;
  content: Content;
  isError: boolean;
}

/** One entry of the transcript. The instructions (system prompt) are the agent's, and not part of it. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** Tokens as the provider counted them; `inputTokens` includes `cachedInputTokens`, `outputTokens` includes `reasoningTokens`. */
export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

export const noUsage: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

/** Why the model stopped. `unknown`: the stream ended well but gave no reason. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'unknown';

/** The text of a message, without its images. */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
