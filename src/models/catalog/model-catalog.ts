import type { Usage } from '../../core/message';
import { listedModel, listedNames, listSource } from './listed-models';
import type { Capabilities, ModelInfo, ModelOverride, ModelPrices } from './model-info';
import { readOverrides } from './overrides';
import { costAt, listedCost, listedPrices, pricedWindow, priceSource } from './price-list';

/** What is known of models. `model` is the provider's own name, `provider` the name under which the provider is registered. */
export interface ModelCatalog {
  /** What is known of a model; of an unknown model nothing. */
  describe(model: string, provider: string): ModelInfo;
  /** US dollars, never negative; `undefined` if no price is known. */
  cost(model: string, provider: string, usage: Usage): number | undefined;
  /** The models of the list and of the overrides, as `provider/model`. The catalog may know more: by a name without its date, for example. */
  names(): string[];
}

export interface ModelCatalogOptions {
  /** Keyed by `provider/model`; they override the lists in the package. A string is the path of a JSON file with such an object. */
  overrides?: string | Readonly<Record<string, ModelOverride>> | undefined;
}

/** Creates the catalog of models. Throws an `Error` that names the file and every invalid entry. */
export function createModelCatalog({ overrides = {} }: ModelCatalogOptions = {}): ModelCatalog {
  const own = readOverrides(overrides);
  const overrideSource = typeof overrides === 'string' ? overrides : 'overrides';
  return Object.freeze({
    describe: (model: string, provider: string) => describe(model, provider, own, overrideSource),
    cost(model: string, provider: string, usage: Usage) {
      const prices = pricesOf(own.get(`${provider}/${model}`));
      return prices ? costAt(prices, usage) : listedCost(model, provider, usage);
    },
    names: () => [...new Set([...own.keys(), ...listedNames()])].sort(),
  });
}

function describe(model: string, provider: string, own: ReadonlyMap<string, ModelOverride>, overrideSource: string): ModelInfo {
  const names = namesOf(provider, model);
  const override = firstOf(names, (name) => own.get(`${name.provider}/${name.model}`));
  const listed = firstOf(names, (name) => withoutDoubts(listedModel(name.model, name.provider), name.isOther));
  const knownWindow = override?.maxInputTokens ?? override?.contextWindow ?? listed?.windowTokens;
  // The price list still has windows of models that the list of models no longer has.
  const pricedTokens = knownWindow === undefined ? firstOf(names, (name) => pricedWindow(name.model, name.provider)) : undefined;
  const windowTokens = knownWindow ?? pricedTokens;
  const maxOutputTokens = override?.maxOutputTokens ?? listed?.maxOutputTokens;
  const ownPrices = pricesOf(own.get(`${provider}/${model}`));
  const prices = ownPrices ?? listedPrices(model, provider);
  const usesPriceList = pricedTokens !== undefined || (prices !== undefined && !ownPrices);
  return {
    ...(windowTokens !== undefined && { windowTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    capabilities: { ...listed?.capabilities, ...override?.capabilities },
    ...(prices && { prices }),
    sources: [...(override ? [overrideSource] : []), ...(listed ? [listSource] : []), ...(usesPriceList ? [priceSource] : [])],
  };
}

interface Name {
  provider: string;
  model: string;
  /** It is the name that another provider has for the model. */
  isOther?: true;
}

/** Names of the same model, from the most to the least exact, and a server's variants that do not differ in what is known here. */
const spellings: ((model: string) => string)[] = [
  (model) => model,
  // The region of Amazon Bedrock.
  (model) => model.replace(/^(?:us|eu|apac|jp|au|ca|sa|me|af|global|us-gov)\./, ''),
  // A fine-tuned model of OpenAI: ft:gpt-4o-2024-08-06:acme::id.
  (model) => model.replace(/^(ft:[^:]+):.*$/, '$1'),
  (model) => model.replace(/^ft:([^:]+).*$/, '$1'),
  (model) => model.replace(/-latest$/, ''),
  // A date: gpt-5-2025-08-07, claude-opus-4@20250514.
  (model) => model.replace(/[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$/, ''),
  // OpenRouter writes claude-sonnet-4.5.
  (model) => (model.startsWith('claude-') ? model.replaceAll('.', '-') : model),
];

/**
 * The names under which a model may be known: its own, those that say less, and, if a provider serves models of others
 * (`openrouter/openai/gpt-5`), those of the other provider. Prices differ between providers, windows do not.
 */
function namesOf(provider: string, model: string): Name[] {
  const slash = model.indexOf('/');
  const own = spelt(model).map((name) => ({ provider, model: name }));
  if (slash <= 0) return own;
  return [
    ...own,
    ...spelt(model.slice(slash + 1)).map((name) => ({ provider: model.slice(0, slash), model: name, isOther: true as const })),
  ];
}

/** Each spelling is applied to the result of those before it. */
function spelt(model: string): string[] {
  const names = [model];
  for (const spell of spellings) names.push(spell(names.at(-1) ?? model));
  return [...new Set(names)];
}

/** What a model can't do at its own provider, the server of another may still do: it may run the model itself, or add what is missing. */
function withoutDoubts<T extends { capabilities: Capabilities }>(facts: T | undefined, isOther = false): T | undefined {
  if (!facts || !isOther) return facts;
  return { ...facts, capabilities: Object.fromEntries(Object.entries(facts.capabilities).filter(([, can]) => can)) };
}

function firstOf<T>(names: readonly Name[], find: (name: Name) => T | undefined): T | undefined {
  for (const name of names) {
    const found = find(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function pricesOf({
  inputPerMillion,
  outputPerMillion,
  cachedInputPerMillion,
  cacheWritePerMillion,
}: ModelOverride = {}): ModelPrices | undefined {
  if (inputPerMillion === undefined || outputPerMillion === undefined) return undefined;
  return {
    inputPerMillion,
    ...(cachedInputPerMillion !== undefined && { cachedInputPerMillion }),
    ...(cacheWritePerMillion !== undefined && { cacheWritePerMillion }),
    outputPerMillion,
  };
}
