import { closest } from '../core/closest';
import { type AnthropicOptions, anthropic } from './anthropic/client';
import { type GoogleOptions, google } from './google/client';
import { ModelFailure, type ModelProvider } from './model';
import { type OpenAiOptions, openAi } from './openai/client';
import { openAiResponses } from './openai-responses/client';

export interface ResolvedModel {
  provider: ModelProvider;
  /** The provider's own name for the model. */
  model: string;
  /** The name that the provider is registered under. */
  providerName: string;
  /** Models of the same provider and family accept each other's opaque data. */
  family: string;
}

export interface Models {
  /**
   * Resolves `openai/gpt-5` to model `gpt-5` of provider `openai`. If the prefix is not a registered provider, the whole name goes to the
   * default provider, because compatible servers have names like `meta/llama-3`. Throws `ModelFailure` if no model or provider matches, or if the
   * prefix is most likely a misspelt provider.
   */
  resolve(name: string): ResolvedModel;
  /**
   * Closes each provider that can be closed, once, also if another fails to close or takes longer than 5 s; rejects with the first failure. A worker
   * closes the models that it made from its option `providers`; whoever passes `models` to a worker closes them after it.
   */
  close?: (() => Promise<void>) | undefined;
}

const defaultProvider = 'openai';

/** How long a provider may take to close. */
const closeMs = 5_000;

/** Shorter names are similar by chance: `zai` is not a misspelt `xai`. */
const leastChecked = 5;

/**
 * Providers by name, as an object or as pairs of name and provider.
 * @throws TypeError if two pairs have the same name, which one object can't have
 */
export function createModels(
  providers: Readonly<Record<string, ModelProvider>> | Iterable<readonly [name: string, provider: ModelProvider]>,
): Models {
  const known = byName(Symbol.iterator in providers ? [...providers] : Object.entries(providers));
  let closed: Promise<void> | undefined;
  return {
    close: () => (closed ??= closeAll(new Map([...known].map(([name, provider]) => [provider, name])))),
    resolve(name) {
      const slash = name.indexOf('/');
      const prefix = slash > 0 ? name.slice(0, slash) : undefined;
      const named = prefix === undefined ? undefined : known.get(prefix);
      const meant = named || prefix === undefined || prefix.length < leastChecked ? undefined : closest(prefix, [...known.keys()]);
      if (meant !== undefined) {
        throw new ModelFailure(
          'bad-request',
          `No provider is named '${prefix}' (model '${name}'). Did you mean '${meant}${name.slice(slash)}'?`,
        );
      }
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
      return { provider, model, providerName: named ? name.slice(0, slash) : defaultProvider, family: provider.family?.(model) ?? model };
    },
  };
}

function byName(pairs: readonly (readonly [string, ModelProvider])[]): Map<string, ModelProvider> {
  const known = new Map<string, ModelProvider>();
  for (const [name, provider] of pairs) {
    if (known.has(name)) {
      throw new TypeError(`createModels: two providers are named '${name}'; the names are ${listed(pairs)}. Rename or remove one of them.`);
    }
    known.set(name, provider);
  }
  return known;
}

function listed(pairs: readonly (readonly [string, ModelProvider])[]): string {
  return pairs.map(([name]) => `'${name}'`).join(', ');
}

async function closeAll(providers: ReadonlyMap<ModelProvider, string>): Promise<void> {
  const closed = await Promise.allSettled([...providers].map(([provider, name]) => closeInTime(provider, name)));
  for (const outcome of closed) if (outcome.status === 'rejected') throw outcome.reason;
}

/** A provider that never closes must not keep its worker's process alive. */
async function closeInTime(provider: ModelProvider, name: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`'${name}' did not close within ${closeMs / 1_000} s`)), closeMs);
  });
  await Promise.race([(async () => provider.close?.())(), late]).finally(() => clearTimeout(timer));
}

export interface VendorOptions {
  openai?: OpenAiOptions | undefined;
  anthropic?: AnthropicOptions | undefined;
  google?: GoogleOptions | undefined;
}

/** The built-in providers with their options, plus `providers`, which override built-in ones of the same name. */
export function defaultModels(options: VendorOptions = {}, providers: Readonly<Record<string, ModelProvider>> = {}): Models {
  return createModels({
    openai: openAi(options.openai),
    'openai-responses': openAiResponses(options.openai),
    anthropic: anthropic(options.anthropic),
    google: google(options.google),
    ...providers,
  });
}
