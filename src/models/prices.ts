import { readFileSync } from 'node:fs';
import { calcPrice } from '@pydantic/genai-prices';
import { z } from 'zod';
import type { Usage } from '../core/message';

/** A model's price in US dollars for a million tokens, and what it takes at once. */
export interface ModelPrice {
  inputPerMillion: number;
  /** Default: as any other input. */
  cachedInputPerMillion?: number;
  outputPerMillion: number;
  /** Tokens. */
  contextWindow?: number;
}

/** What models cost and hold, as far as it is known. `model` is the provider's own name, `provider` the one that it is registered under. */
export interface Prices {
  /** US dollars, never below zero; `undefined` where no price is known. */
  cost(model: string, provider: string, usage: Usage): number | undefined;
  /** Tokens; `undefined` where it is not known. */
  contextWindow(model: string, provider: string): number | undefined;
}

export interface PricesOptions {
  /** By `provider/model`; they win over the list that comes with the package. A text is the path of a JSON file that holds them. */
  overrides?: string | Readonly<Record<string, ModelPrice>>;
}

const dollars = z.number().min(0);
const overridesSchema = z.record(
  z.string().regex(/^[^/\s]+\/\S+$/, "is no 'provider/model'"),
  z.strictObject({
    inputPerMillion: dollars,
    cachedInputPerMillion: dollars.optional(),
    outputPerMillion: dollars,
    contextWindow: z.number().int().positive().optional(),
  }),
);

/** Throws an `Error` that names the file and every entry that is not right. */
export function createPrices({ overrides = {} }: PricesOptions = {}): Prices {
  const own = new Map(Object.entries(typeof overrides === 'string' ? fileOf(overrides) : checked('overrides', overrides)));
  return Object.freeze({
    cost(model: string, provider: string, usage: Usage) {
      const tokens = sane(usage);
      const price = own.get(`${provider}/${model}`);
      if (!price) return listed(model, provider, tokens)?.total_price;
      const { inputPerMillion, cachedInputPerMillion = inputPerMillion, outputPerMillion } = price;
      const { input_tokens: input, cache_read_tokens: cached, output_tokens: output } = tokens;
      return ((input - cached) * inputPerMillion + cached * cachedInputPerMillion + output * outputPerMillion) / 1e6;
    },
    contextWindow(model: string, provider: string) {
      return own.get(`${provider}/${model}`)?.contextWindow ?? listed(model, provider, {})?.model.context_window;
    },
  });
}

/** Models that the list does not have, so that not all of it is looked through anew with every call. */
const unlisted = new Set<string>();

/** What the list has of a model. It may not know it, or not be able to reckon with what it knows; without a provider it would guess. */
function listed(model: string, provider: string, tokens: Record<string, number>): ReturnType<typeof calcPrice> {
  const name = `${provider}/${model}`;
  if (provider === '' || unlisted.has(name)) return null;
  try {
    const found = calcPrice(tokens, model, { providerId: provider });
    if (!found) unlisted.add(name);
    return found;
  } catch {
    return null;
  }
}

/** Providers report what they like: a cost must come of it that can be added to others. */
function sane({ inputTokens, cachedInputTokens, outputTokens }: Usage) {
  const count = (value: number) => (Number.isFinite(value) && value > 0 ? value : 0);
  const input = count(inputTokens);
  return { input_tokens: input, cache_read_tokens: Math.min(count(cachedInputTokens), input), output_tokens: count(outputTokens) };
}

function fileOf(path: string): Record<string, ModelPrice> {
  const where = `The file of prices ${JSON.stringify(path)}`;
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
    '{ "provider/model": { "inputPerMillion": 1.25, "cachedInputPerMillion": 0.125, "outputPerMillion": 10, "contextWindow": 400000 } }';
  throw new Error(
    `${where} is not right. It must be ${shape}, in US dollars; cachedInputPerMillion and contextWindow may be left out:\n${problems.join('\n')}`,
  );
}
