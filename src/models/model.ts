import type { ModelSettings } from '../core/agent';
import type { FailureKind } from '../core/failure';
import type { JsonObject } from '../core/json';
import type { FinishReason, Message, ToolCall, Usage } from '../core/message';
import type { ToolSpec } from '../core/tool';

/** Everything a model is told. `model` is the provider's own name, without our `provider/` prefix. */
export interface ModelRequest {
  model: string;
  instructions: string;
  messages: readonly Message[];
  tools: readonly ToolSpec[];
  /** The answer is to be JSON that fits this schema. */
  answer?: JsonObject;
  settings: ModelSettings;
}

/** What arrives while the model speaks. For the eye only: the answer is the truth. */
export type ModelDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool-call'; index: number; id?: string; name?: string; arguments?: string };

/** One whole answer, normalised. Ids and names of tool calls are as the provider sent them; arguments are the model's own text. */
export interface ModelAnswer {
  text: string;
  refusal?: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  usage: Usage;
  /** What the provider must see again in the next request. */
  opaque?: JsonObject;
}

export interface ModelCallOptions {
  signal: AbortSignal;
  onDelta?: (delta: ModelDelta) => void;
}

/** A provider of models: one HTTP request a call, always streamed, no retries of its own. */
export interface ModelProvider {
  /** Throws `ModelFailure`, and nothing else; when `signal` aborts, the signal's reason. */
  call(request: ModelRequest, options: ModelCallOptions): Promise<ModelAnswer>;
}

/** Why a model call failed, in words that are safe to show: no key, no provider-internal ids. */
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
