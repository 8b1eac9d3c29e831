import type { HostedTool, ModelSettings } from '../core/agent';
import type { FailureKind } from '../core/failure';
import type { JsonObject } from '../core/json';
import type { AnswerPart, FinishReason, Message, Usage } from '../core/message';
import type { ToolSpec } from '../core/tool';

/**
 * The input of one model call. `model` is the provider's own name, without the `provider/` prefix. Reasoning and opaque data in `messages`
 * come only from this provider and a model of the same family; data of others is removed beforehand (`own-data.ts`).
 */
export interface ModelRequest {
  model: string;
  instructions: string;
  messages: readonly Message[];
  tools: readonly ToolSpec[];
  /** Tools that the provider runs itself. If the provider doesn't offer one, the call fails as `bad-request`. */
  hostedTools?: readonly HostedTool[];
  /** JSON Schema that the answer must fit. */
  answer?: JsonObject;
  settings: ModelSettings;
  /** The most tokens that the model can write, if it is known. `settings.maxTokens` is never more. */
  maxOutputTokens?: number;
  /** The provider is to compact the conversation itself above so many input tokens. `prompt`: the agent's words for what its summary must contain. */
  compaction?: { atTokens: number; prompt?: string };
  /** At most 64 characters, and the same for all calls of a thread. With it some providers find more of a request in their prompt caches. */
  cacheKey?: string;
}

/** A fragment of an answer while it is streamed. For display only: the complete `ModelAnswer` is authoritative. */
export type ModelDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** Of the summary in a compaction by the provider. It is not shown. */
  | { type: 'compaction'; text: string }
  | { type: 'tool-call'; index: number; id?: string; name?: string; arguments?: string };

/**
 * One complete answer, normalised. Ids and names of tool calls are as the provider sent them; an id is empty if the provider sent none.
 * Arguments are the model's own text.
 */
export interface ModelAnswer {
  parts: AnswerPart[];
  finishReason: FinishReason;
  /** All that the call costs. */
  usage: Usage;
  /** If the provider compacted the conversation in this call: the tokens of the answer itself, as far as they were counted separately. */
  usageAfterCompaction?: Usage;
}

export interface ModelCallOptions {
  signal: AbortSignal;
  onDelta?: (delta: ModelDelta) => void;
}

/** A provider of models. Each call is one streamed HTTP request, without retries. */
export interface ModelProvider {
  /** Models of one family accept each other's opaque data. Default: each model is a family of its own. */
  family?(model: string): string;
  /**
   * The maximum length of answers that requests with these settings state, in tokens. It is kept free in the model's window. `most`: what the
   * model can write, if it is known.
   */
  answerTokens?(model: string, settings: ModelSettings, most?: number): number;
  /** Whether a model reasons with these settings: then a summary has room for its reasoning, too. Undefined: as the catalog of models says. */
  reasons?(model: string, settings: ModelSettings): boolean | undefined;
  /** The least `atTokens` of a model whose conversations the provider can compact itself. Undefined for models of which it can't. */
  compactsFrom?(model: string): number | undefined;
  /** Throws only `ModelFailure`, or the reason of `signal` if it is aborted. */
  call(request: ModelRequest, options: ModelCallOptions): Promise<ModelAnswer>;
  /** Releases connections and processes that the provider holds. Called once, after its last call. */
  close?: (() => Promise<void> | void) | undefined;
}

/** A failed model call. Its message is safe to show: it contains no key and no internal ids of the provider. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';

  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly details: { status?: number; code?: string; retryAfterMs?: number } = {},
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
