import { ModelFailure, type ModelProvider } from './model';
import { type OpenAiOptions, openAi } from './openai/client';

export interface Models {
  /**
   * `openai/gpt-5` is model `gpt-5` of provider `openai`. A name whose prefix is no provider's goes whole to the default provider,
   * because compatible servers have names like `meta/llama-3`. Throws `ModelFailure` where there is nothing to call.
   */
  resolve(name: string): { provider: ModelProvider; model: string; providerName?: string };
}

const defaultProvider = 'openai';

export function createModels(providers: Record<string, ModelProvider>): Models {
  const known = new Map(Object.entries(providers));
  return {
    resolve(name) {
      const slash = name.indexOf('/');
      const named = slash > 0 ? known.get(name.slice(0, slash)) : undefined;
      const model = (named ? name.slice(slash + 1) : name).trim();
      if (model === '') {
        throw new ModelFailure(
          'bad-request',
          `'${name}' names no model. Write provider/model, as in openai/gpt-5, or the model's name alone.`,
        );
      }
      const provider = named ?? known.get(defaultProvider);
      if (!provider) {
        const names = [...known.keys()].join(', ') || 'none';
        throw new ModelFailure('bad-request', `No provider for model '${name}'. Registered providers: ${names}. Write provider/model.`);
      }
      return { provider, model, providerName: named ? name.slice(0, slash) : defaultProvider };
    },
  };
}

/** The providers there are without any set-up beyond the configuration. */
export function defaultModels(config: { openai?: OpenAiOptions } = {}): Models {
  return createModels({ openai: openAi(config.openai) });
}
