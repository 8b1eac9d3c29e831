/** Prices in US dollars per million tokens. */
export interface ModelPrices {
  inputPerMillion: number;
  /** Default: `inputPerMillion`. */
  cachedInputPerMillion?: number | undefined;
  /** For input that is written to the provider's cache. Default: `inputPerMillion`. */
  cacheWritePerMillion?: number | undefined;
  outputPerMillion: number;
}

/** What models may be able to do: read images, read PDF files, call tools, answer by a JSON Schema, reason, use a prompt cache. */
export const capabilities = ['images', 'pdf', 'tools', 'structuredOutput', 'reasoning', 'promptCaching'] as const;
export type Capability = (typeof capabilities)[number];

/** What a model can (`true`) and cannot do (`false`). What is not known is absent. */
export type Capabilities = Partial<Record<Capability, boolean>>;

/** What is known of a model. */
export interface ModelInfo {
  /** The most tokens that a request may have, together with its answer unless the model limits both. */
  windowTokens?: number;
  /** The most tokens that an answer may have, with its reasoning. */
  maxOutputTokens?: number;
  capabilities: Capabilities;
  /** For a short prompt, if the price depends on its length. */
  prices?: ModelPrices;
  /** Where this comes from, such as `LiteLLM 1.110.2`. */
  sources: string[];
}

/** Your own facts about a model, which override those of the list, each by itself. Prices are given all together. */
export interface ModelOverride extends Partial<ModelPrices> {
  contextWindow?: number | undefined;
  /** The most tokens that a request may have, if that is less than the window. */
  maxInputTokens?: number | undefined;
  maxOutputTokens?: number | undefined;
  capabilities?: Capabilities | undefined;
}
