import { calcPrice } from '@pydantic/genai-prices';
import type { Usage } from '../../core/message';
import type { ModelPrices } from './model-info';

export const priceSource = '@pydantic/genai-prices';

/** The cost of a call in US dollars, by the price list of the package `@pydantic/genai-prices`; `undefined` if it has no price. */
export function listedCost(model: string, provider: string, usage: Usage): number | undefined {
  return listed(model, provider, countsOf(usage))?.total_price;
}

/** The context window in the price list. */
export function pricedWindow(model: string, provider: string): number | undefined {
  return listed(model, provider, {})?.model.context_window;
}

/** Today's prices for a short prompt. */
export function listedPrices(model: string, provider: string): ModelPrices | undefined {
  const price = listed(model, provider, {})?.model_price;
  const [input, output] = [perMillion(price?.input_mtok), perMillion(price?.output_mtok)];
  if (input === undefined || output === undefined) return undefined;
  const [cached, written] = [perMillion(price?.cache_read_mtok), perMillion(price?.cache_write_mtok)];
  return {
    inputPerMillion: input,
    ...(cached !== undefined && { cachedInputPerMillion: cached }),
    ...(written !== undefined && { cacheWritePerMillion: written }),
    outputPerMillion: output,
  };
}

export function costAt(prices: ModelPrices, usage: Usage): number {
  const { inputPerMillion, cachedInputPerMillion = inputPerMillion, cacheWritePerMillion = inputPerMillion, outputPerMillion } = prices;
  const { input_tokens: input, cache_read_tokens: cached, cache_write_tokens: written, output_tokens: output } = countsOf(usage);
  const fresh = (input - cached - written) * inputPerMillion;
  return (fresh + cached * cachedInputPerMillion + written * cacheWritePerMillion + output * outputPerMillion) / 1e6;
}

/** Providers that the price list has under another name. */
const otherNames: Readonly<Record<string, string>> = { 'openai-responses': 'openai', togetherai: 'together' };

/** Models that are not in the list. Remembered, so that the whole list is not searched again for each call. */
const unlisted = new Set<string>();

/** Looks a model up in the list. Returns `null` if the list lacks the model or can't compute a price. Without a provider the list would guess. */
function listed(model: string, provider: string, tokens: Record<string, number>): ReturnType<typeof calcPrice> {
  const name = `${provider}/${model}`;
  if (provider === '' || unlisted.has(name)) return null;
  try {
    const found = calcPrice(tokens, model, { providerId: Object.hasOwn(otherNames, provider) ? otherNames[provider] : provider });
    if (!found) unlisted.add(name);
    return found;
  } catch {
    return null;
  }
}

/** A price may rise with the length of the prompt. */
function perMillion(price: number | { base: number } | undefined): number | undefined {
  return typeof price === 'object' ? price.base : price;
}

/** Sanitizes token counts as reported by a provider, so that the computed cost is a finite, non-negative number. */
function countsOf({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }: Usage) {
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
