import { isObject, type JsonObject } from '../../core/json';
import { ModelFailure, type ModelProvider, type ModelRequest } from '../model';
import { onLine, type Patience } from '../wire/call';
import type { Callee } from '../wire/failure';
import { secretsOf } from '../wire/secrets';
import { mistralPrompt } from './mistral';
import { promptWriter, vendorOf } from './prompt';
import { looking, readInto, takeWhole, type Wait, waitOn } from './read';
import { type Effort, encodeRequest } from './request';
import { type AiSdkModel, type AiSdkSource, type CallOptions, isSpoken, type Reader, type SpecVersion } from './spec';
import { foldParts } from './stream';

export interface AiSdkOptions extends Patience {
  /** Sent with every request, by providers that support headers. */
  headers?: Record<string, string> | undefined;
  /** Keys of the provider, so that they can be removed from every message. Keys of well-known formats are always removed. */
  secrets?: readonly string[] | undefined;
  /** Whether answers are streamed. Default `true`. Set `false` for models that can't stream; the answer then arrives in one piece. */
  streaming?: boolean | undefined;
  /**
   * Returns the provider options for a reasoning effort. Default: `reasoningEffort` under the provider's name, and for version 4 models the
   * specification's own field.
   */
  reasoning?: ((effort: Effort, model: string) => JsonObject) | undefined;
  /** Whether images and files of tool results are sent inside the results, which few vendors accept. Default: in a message after the results. */
  filesInResults?: boolean | undefined;
  /** Whether an answer without a finish reason of the vendor counts as truncated. Default `true`. */
  needsFinishReason?: boolean | undefined;
}

const variables = { key: 'the key that its AI SDK provider was made with', baseUrl: "its provider's baseURL" };

/**
 * Adapts a provider of Vercel's AI SDK, such as `createGroq()`, or a function from a model's name to the model. Each call is one `doStream`,
 * without retries. The provider's own package reads the bytes; everything that it returns is bounded here.
 */
export function aiSdk(source: AiSdkSource, options: AiSdkOptions = {}): ModelProvider {
  const { streaming = true, filesInResults = false, needsFinishReason = true } = options;
  const writers = new Map<string, ReturnType<typeof promptWriter>>();
  /** Models that ignored the answer schema. Their instructions contain it. */
  const schemaless = new Set<string>();

  function writerFor(reader: Reader): ReturnType<typeof promptWriter> {
    const key = `${reader.version} ${reader.provider}`;
    const writer = writers.get(key) ?? promptWriter(reader);
    writers.set(key, writer);
    return writer;
  }

  function ask(request: ModelRequest, model: AiSdkModel, version: SpecVersion): CallOptions {
    const { provider } = model;
    const tellSchema =
      schemaless.has(request.model) || (model as { supportsStructuredOutputs?: unknown }).supportsStructuredOutputs === false;
    const written = writerFor({ version, provider, filesInResults })(request.messages);
    const prompt = vendorOf(provider) === 'mistral' ? mistralPrompt(written) : written;
    // A package that changes its input must not change the messages and schemas that later calls share.
    return copied(
      encodeRequest(request, prompt, { version, provider, headers: options.headers, tellSchema, reasoning: options.reasoning }),
    );
  }

  return {
    // It is not known whether another model of the vendor accepts this metadata.
    family: (model) => model,
    async call(request, { signal, onDelta }) {
      signal.throwIfAborted();
      const secrets = [...secretsOf(options), ...(options.secrets ?? [])];
      const callee: Callee = { host: 'the AI SDK', model: request.model, secrets, variables };
      return onLine(signal, { ...options, callee }, async (line) => {
        const wait = waitOn(line);
        const { model, version } = await modelOf(source, request.model, wait);
        const { provider } = model;
        callee.host = provider;
        const sent = { ...ask(request, model, version), abortSignal: line.signal } as never;
        const fold = foldParts({ request, provider, needsFinishReason, onSchemaLeftOut: () => schemaless.add(request.model), onDelta });
        if (streaming) await readInto(fold, () => model.doStream(sent), line, wait, options.idleTimeoutMs);
        else await takeWhole(fold, () => model.doGenerate(sent), wait);
        return looking(() => fold.answer());
      });
    },
  };
}

async function modelOf(source: AiSdkSource, name: string, wait: Wait): Promise<{ model: AiSdkModel; version: SpecVersion }> {
  const model = await wait(() => (typeof source === 'function' ? source(name) : source.languageModel(name)));
  const version = isObject(model) ? model.specificationVersion : undefined;
  if (isSpoken(version)) return { model, version };
  const what = typeof version === 'string' ? `of version ${version} of the AI SDK's specification` : 'not a language model of the AI SDK';
  throw new ModelFailure('bad-request', `What the AI SDK provider returned for model '${name}' is ${what}. Versions 2 to 4 are supported.`);
}

/** Copies objects and lists. Anything else, such as text or bytes, is shared. */
function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (!isObject(value) || ArrayBuffer.isView(value) || value instanceof URL) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner)])) as T;
}
