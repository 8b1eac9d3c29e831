/**
 * The part of the AI SDK's language-model specification that is used here, versions 2, 3 and 4. The types are structural, so that models of
 * any release fit, and neither this package nor its types need `@ai-sdk/provider`.
 */
export interface AiSdkModel {
  /** `v2`, `v3` or `v4`. */
  readonly specificationVersion: string;
  /** Such as `groq.chat`. */
  readonly provider: string;
  readonly modelId: string;
  /** `never`: each version has different options; `specificationVersion` decides which are passed. */
  doStream(options: never): PromiseLike<{ stream: AiSdkStream }>;
  doGenerate(options: never): PromiseLike<{ content: readonly unknown[] }>;
}

/** A `ReadableStream` of any implementation. */
export interface AiSdkStream {
  getReader(): {
    read(): PromiseLike<{ done: boolean; value?: unknown }>;
    cancel(reason?: unknown): PromiseLike<unknown>;
  };
}

/** An AI SDK provider (`createGroq()`), or a function from a model's name to the model. */
export type AiSdkSource =
  | ((modelId: string) => AiSdkModel | PromiseLike<AiSdkModel>)
  | { languageModel(modelId: string): AiSdkModel | PromiseLike<AiSdkModel> };

const versions = ['v2', 'v3', 'v4'] as const;
export type SpecVersion = (typeof versions)[number];

export function isSpoken(version: unknown): version is SpecVersion {
  return (versions as readonly unknown[]).includes(version);
}

/** Vendor-specific fields, by the name of the vendor. */
export type ByProvider = Record<string, Record<string, unknown>>;

interface Tagged {
  providerOptions?: ByProvider;
}

/** Data as base64, or an address; in version 4 inside an object that says which. */
export type FileData = string | URL | { type: 'data'; data: string } | { type: 'url'; url: URL };

export interface FilePromptPart extends Tagged {
  type: 'file';
  data: FileData;
  mediaType: string;
  filename?: string;
}

export type UserPromptPart = ({ type: 'text'; text: string } & Tagged) | FilePromptPart;

export type ResultItem =
  | { type: 'text'; text: string }
  | { type: 'media' | 'image-data' | 'file-data'; data: string; mediaType: string; filename?: string }
  | { type: 'image-url' | 'file-url'; url: string }
  | { type: 'file'; data: FileData; mediaType: string; filename?: string };

export type ResultOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: unknown }
  | { type: 'content'; value: ResultItem[] };

export interface ResultPromptPart extends Tagged {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: ResultOutput;
}

export type AnswerPromptPart =
  | UserPromptPart
  | ({ type: 'reasoning'; text: string } & Tagged)
  | ({ type: 'reasoning-file'; data: FileData; mediaType: string } & Tagged)
  | ({ type: 'custom'; kind: string } & Tagged)
  | ({ type: 'tool-call'; toolCallId: string; toolName: string; input: unknown; providerExecuted?: boolean } & Tagged)
  | ResultPromptPart;

export type PromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: UserPromptPart[] }
  | { role: 'assistant'; content: AnswerPromptPart[] }
  | { role: 'tool'; content: ResultPromptPart[] };

export type ToolOption =
  | { type: 'function'; name: string; description?: string; inputSchema: object }
  /** `provider-defined` in version 2. */
  | { type: 'provider' | 'provider-defined'; id: string; name: string; args: Record<string, unknown> };

export interface CallOptions {
  prompt: PromptMessage[];
  maxOutputTokens?: number;
  temperature?: number;
  responseFormat?: { type: 'json'; schema: object; name: string };
  tools?: ToolOption[];
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string };
  includeRawChunks: false;
  /** From version 4 on. */
  reasoning?: string;
  providerOptions?: ByProvider;
  headers?: Record<string, string>;
  abortSignal?: AbortSignal;
}

/** The model for which a prompt is written. */
export interface Reader {
  version: SpecVersion;
  /** The model's `provider`. */
  provider: string;
  /** Whether images and files of tool results are sent inside the results. */
  filesInResults: boolean;
}
