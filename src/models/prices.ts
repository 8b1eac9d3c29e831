import { readFileSync } from 'node:fs';
import { calcPrice } from '@pydantic/genai-prices';
import { z } from 'zod';
import type { Usage } from '../core/message';

/** A model's price in US dollars per million tokens, and its context window. */
export interface ModelPrice {
  inputPerMillion: number;
  /** Default: `inputPerMillion`. */
  cachedInputPerMillion?: number;
  /** For input that is written to the provider's cache. Default: `inputPerMillion`. */
  cacheWritePerMillion?: number;
  outputPerMillion: number;
  /** Tokens. */
  contextWindow?: number;
  /** The most tokens that a request may have, if that is less than the window. */
  maxInputTokens?: number;
}

/** Prices and context windows of models. `model` is the provider's own name, `provider` the name under which the provider is registered. */
export interface Prices {
  /** US dollars, never negative; `undefined` if no price is known. */
  cost(model: string, provider: string, usage: Usage): number | undefined;
  /** The most tokens that a request may have, together with its answer unless the model limits both; `undefined` if not known. */
  contextWindow(model: string, provider: string): number | undefined;
}

export interface PricesOptions {
  /** Keyed by `provider/model`; they override the list in the package. A string is the path of a JSON file with such an object. */
  overrides?: string | Readonly<Record<string, ModelPrice>>;
}

const dollars = z.number().min(0);
const overridesSchema = z.record(
  z.string().regex(/^[^/\s]+\/\S+$/, "is not of the form 'provider/model'"),
  z.strictObject({
    inputPerMillion: dollars,
    cachedInputPerMillion: dollars.optional(),
    cacheWritePerMillion: dollars.optional(),
    outputPerMillion: dollars,
    contextWindow: z.number().int().positive().optional(),
    maxInputTokens: z.number().int().positive().optional(),
  }),
);

/** Creates the price list. Throws an `Error` that names the file and every invalid entry. */
export function createPrices({ overrides = {} }: PricesOptions = {}): Prices {
  const own = new Map(Object.entries(typeof overrides === 'string' ? fileOf(overrides) : checked('overrides', overrides)));
  return Object.freeze({
    cost(model: string, provider: string, usage: Usage) {
      const tokens = sane(usage);
      const price = own.get(`${provider}/${model}`);
      if (!price) return listed(model, provider, tokens)?.total_price;
      const { inputPerMillion, cachedInputPerMillion = inputPerMillion, cacheWritePerMillion = inputPerMillion, outputPerMillion } = price;
      const { input_tokens: input, cache_read_tokens: cached, cache_write_tokens: written, output_tokens: output } = tokens;
      const fresh = (input - cached - written) * inputPerMillion;
      return (fresh + cached * cachedInputPerMillion + written * cacheWritePerMillion + output * outputPerMillion) / 1e6;
    },
    contextWindow(model: string, provider: string) {
      for (const name of namesOf(provider, model)) {
        const { maxInputTokens, contextWindow } = own.get(`${name.provider}/${name.model}`) ?? {};
        const window = maxInputTokens ?? contextWindow ?? listed(name.model, name.provider, {})?.model.context_window;
        if (window !== undefined) return window;
      }
      return undefined;
    },
  });
}

/**
 * The names under which a model's window may be known: its own, that without a date (`gpt-5-2025-08-07`, `claude-opus-4@20250514`) and, if a
 * provider serves models of others (`openrouter/openai/gpt-5`), that of the other provider. Prices differ between providers, windows do not.
 */
function namesOf(provider: string, model: string): { provider: string; model: string }[] {
  const undated = model.replace(/[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$/, '');
  const names = [...new Set([model, undated])];
  const slash = model.indexOf('/');
  const others = slash <= 0 ? [] : names.map((name) => ({ provider: name.slice(0, slash), model: name.slice(slash + 1) }));
  return [...names.map((name) => ({ provider, model: name })), ...others];
}

/** Providers that offer the models of another provider. */
const sameModels: Readonly<Record<string, string>> = { 'openai-responses': 'openai' };

/** Models that are not in the list. Remembered, so that the whole list is not searched again for each call. */
const unlisted = new Set<string>();

/** Looks a model up in the list. Returns `null` if the list lacks the model or can't compute a price. Without a provider the list would guess. */
function listed(model: string, provider: string, tokens: Record<string, number>): ReturnType<typeof calcPrice> {
  const name = `${provider}/${model}`;
  if (provider === '' || unlisted.has(name)) return null;
  try {
    const found = calcPrice(tokens, model, { providerId: Object.hasOwn(sameModels, provider) ? sameModels[provider] : provider });
    if (!found) unlisted.add(name);
    return found;
  } catch {
    return null;
  }
}

/** Sanitizes token counts as reported by a provider, so that the computed cost is a finite, non-negative number. */
function sane({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }: Usage) {
  const count = (value: number) => (Number.isFinite(value) && value > 0 ? value : 0);
  const input = count(inputTokens);
  const cached = Math.min(count(cachedInputTokens), input);
  return {
    input_tokens: input,
    cache_read_tokens: cached,
    cache_write_tokens: Math.min(count(cacheWriteTokens), input - cached),
    output_tokens: count(outputTokens),
  };
}

function fileOf(path: string): Record<string, ModelPrice> {
  const where = `The price file ${JSON.stringify(path)}`;
  const why = (error: unknown) => (error as Error | undefined)?.message ?? String(error);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${where} can't be read: ${why(error)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${where} is not JSON: ${why(error)}`);
  }
  return checked(where, value);
}

function checked(where: string, value: unknown): Record<string, ModelPrice> {
  const parsed = overridesSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    const words = issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message).join('; ') : issue.message;
    return `- ${[...issue.path.map((key) => JSON.stringify(key)), ''].join(' ').replace(/ $/, ': ')}${words}`;
  });
  const shape =
    '{ "provider/model": { "inputPerMillion": 1.25, "cachedInputPerMillion": 0.125, "cacheWritePerMillion": 1.25, "outputPerMillion": 10, "contextWindow": 400000, "maxInputTokens": 272000 } }';
  throw new Error(
    `${where} is not valid. It must be ${shape}, in US dollars; cachedInputPerMillion, cacheWritePerMillion, contextWindow and maxInputTokens may be left out:\n${problems.join('\n')}`,
  );
}
