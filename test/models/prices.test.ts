import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Usage } from '../../src/core/message';
import { createPrices } from '../../src/models/prices';

const usageOf = (inputTokens: number, outputTokens: number, cachedInputTokens = 0, cacheWriteTokens = 0): Usage => ({
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  outputTokens,
  reasoningTokens: 0,
});
const mine = { inputPerMillion: 2, cachedInputPerMillion: 0.5, outputPerMillion: 8, contextWindow: 32_000 };

describe('what a model costs', () => {
  const prices = createPrices();

  test('[B191] is found by the name and provider of the model', () => {
    // 1.25 $ a million in, 10 $ out.
    expect(prices.cost('gpt-5', 'openai', usageOf(1e6, 1e6))).toBeCloseTo(11.25, 6);
    expect(prices.cost('gpt-5-mini-2025-08-07', 'openai', usageOf(1e6, 0))).toBeCloseTo(0.25, 6);
    expect(prices.contextWindow('gpt-5', 'openai')).toBe(400_000);
  });

  test('cached input is part of the input, and cheaper', () => {
    expect(prices.cost('gpt-5', 'openai', usageOf(1e6, 0, 1e6))).toBeCloseTo(0.125, 6);
    expect(prices.cost('gpt-5', 'openai', usageOf(1e6, 0, 5e5))).toBeCloseTo(0.6875, 6);
  });

  test('input that is written to the cache costs the price of its provider', () => {
    // 3 $ a million in, 0.3 $ read, 3.75 $ written.
    expect(prices.cost('claude-sonnet-4-5', 'anthropic', usageOf(1e5, 0, 0, 1e5))).toBeCloseTo(0.375, 6);
    expect(prices.cost('claude-sonnet-4-5', 'anthropic', usageOf(1e5, 0, 5e4, 5e4))).toBeCloseTo(0.015 + 0.1875, 6);
  });

  test.each([
    ['a model that nobody knows', 'gpt-nope', 'openai'],
    ['a provider that nobody knows', 'gpt-5', 'acme'],
    ['no provider', 'gpt-5', ''],
    ['no model', '', 'openai'],
    ['a name that every object has', 'constructor', '__proto__'],
    ['a model of a compatible server', 'meta/llama-3', 'openai'],
  ])('%s has no price', (_what, model, provider) => {
    expect(prices.cost(model, provider, usageOf(10, 10))).toBeUndefined();
    expect(prices.contextWindow(model, provider)).toBeUndefined();
  });

  test.each([
    ['more cached than sent', usageOf(1e6, 0, 2e6), 0.125],
    ['less than nothing', usageOf(-5, -5, -5), 0],
    ['no numbers', usageOf(Number.NaN, undefined as never, null as never), 0],
  ])('a provider with unusual counts still gets a cost: %s', (_what, usage, dollars) => {
    expect(prices.cost('gpt-5', 'openai', usage)).toBeCloseTo(dollars, 6);
  });
});

describe('the window of a model', () => {
  const overrides = {
    'acme/two-2026': { inputPerMillion: 1, outputPerMillion: 1, contextWindow: 10_000, maxInputTokens: 8_000 },
    'acme/vendor/three': { inputPerMillion: 1, outputPerMillion: 1, contextWindow: 5_000 },
    'vendor/four': { inputPerMillion: 1, outputPerMillion: 1, contextWindow: 4_000 },
  };
  const windowOf = (model: string, provider: string) => createPrices({ overrides }).contextWindow(model, provider);

  test('[B107] is its maximum of input before its context window', () => {
    expect(windowOf('two-2026', 'acme')).toBe(8_000);
  });

  test.each([
    ['a date', 'gpt-5-2025-08-07', 'openai', 400_000],
    ['a date without dashes', 'claude-sonnet-4-5-20250929', 'anthropic', 200_000],
    ['a date after an at sign', 'claude-sonnet-4-5@20250929', 'anthropic', 200_000],
    ['a date, of a model of one’s own', 'two-2026-2026-01-31', 'acme', 8_000],
    ['the name of its provider', 'anthropic/claude-sonnet-4-5', 'gateway', 200_000],
    ['the name of its provider and a date', 'vendor/four-2026-01-31', 'gateway', 4_000],
    ['the name of its provider, and a window of its own', 'vendor/three', 'acme', 5_000],
  ])('[B107] is known for a name with %s', (_what, model, provider, window) => {
    expect(windowOf(model, provider)).toBe(window);
  });
});

describe('prices of one’s own', () => {
  test('override the list, and add to it', () => {
    const prices = createPrices({ overrides: { 'openai/gpt-5': mine, 'local/meta/llama-3': { inputPerMillion: 0, outputPerMillion: 0 } } });
    expect(prices.cost('gpt-5', 'openai', usageOf(1e6, 1e6, 5e5))).toBeCloseTo(1 + 0.25 + 8, 9);
    expect(prices.contextWindow('gpt-5', 'openai')).toBe(32_000);
    expect(prices.cost('meta/llama-3', 'local', usageOf(1e6, 1e6))).toBe(0);
    expect(prices.contextWindow('meta/llama-3', 'local')).toBeUndefined();
    expect(prices.cost('gpt-5-mini', 'openai', usageOf(1e6, 0))).toBeCloseTo(0.25, 6);
  });

  test('a cached token without a price of its own costs as much as any other', () => {
    const prices = createPrices({ overrides: { 'acme/one': { inputPerMillion: 3, outputPerMillion: 0 } } });
    expect(prices.cost('one', 'acme', usageOf(1e6, 0, 1e6))).toBeCloseTo(3, 9);
  });

  const folder = mkdtempSync(join(tmpdir(), 'longhaul-prices-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const written = (text: string) => {
    const path = join(folder, 'prices.json');
    writeFileSync(path, text);
    return path;
  };

  test('may be in a file', () => {
    const prices = createPrices({ overrides: written(JSON.stringify({ 'acme/one': mine })) });
    expect(prices.cost('one', 'acme', usageOf(0, 1e6))).toBe(8);
  });

  test('a file that is missing, or not JSON, is named', () => {
    const gone = join(folder, 'gone.json');
    expect(() => createPrices({ overrides: gone })).toThrow(`The price file "${gone}" can't be read: ENOENT`);
    expect(() => createPrices({ overrides: written('{ "acme/one": ') })).toThrow(/prices\.json" is not JSON: /);
  });

  test.each([
    ['a negative price', { 'acme/one': { ...mine, inputPerMillion: -1 } }, /- "acme\/one" "inputPerMillion": /],
    ['a price in words', { 'acme/one': { ...mine, outputPerMillion: '8' } }, /- "acme\/one" "outputPerMillion": /],
    ['half a price', { 'acme/one': { inputPerMillion: 1 } }, /- "acme\/one" "outputPerMillion": /],
    ['a misspelt field', { 'acme/one': { ...mine, perMillion: 1 } }, /- "acme\/one": .*"perMillion"/],
    ['no provider', { one: mine }, /- "one": is not of the form 'provider\/model'/],
    ['a window of nothing', { 'acme/one': { ...mine, contextWindow: 0 } }, /- "acme\/one" "contextWindow": /],
    ['a list', [mine], /It must be \{ "provider\/model"/],
    ['nothing', null, /It must be \{ "provider\/model"/],
  ])('%s is refused, in a file and in code', (_what, overrides, message) => {
    expect(() => createPrices({ overrides: overrides as never })).toThrow(message);
    expect(() => createPrices({ overrides: written(JSON.stringify(overrides)) })).toThrow(message);
    expect(() => createPrices({ overrides: written(JSON.stringify(overrides)) })).toThrow(/^The price file ".*" is not valid/);
  });
});

test('a cost is linear in the tokens and never below zero', () => {
  const tokens = fc.nat({ max: 1_000_000 });
  const usage = fc
    .tuple(tokens, tokens, fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([i, o, share]) => usageOf(i, o, Math.floor(i * share)));
  const price = fc.record(
    {
      inputPerMillion: fc.double({ min: 0, max: 500, noNaN: true }),
      outputPerMillion: fc.double({ min: 0, max: 500, noNaN: true }),
      cachedInputPerMillion: fc.double({ min: 0, max: 500, noNaN: true }),
    },
    { requiredKeys: ['inputPerMillion', 'outputPerMillion'] },
  );
  fc.assert(
    fc.property(usage, usage, price, fc.boolean(), (a, b, own, listed) => {
      // Of the list a model whose price does not rise with the length of the prompt.
      const prices = createPrices(listed ? {} : { overrides: { 'openai/gpt-5': own } });
      const cost = (u: Usage) => prices.cost('gpt-5', 'openai', u) ?? Number.NaN;
      const both = usageOf(a.inputTokens + b.inputTokens, a.outputTokens + b.outputTokens, a.cachedInputTokens + b.cachedInputTokens);
      expect(cost(a)).toBeGreaterThanOrEqual(0);
      expect(cost(both)).toBeCloseTo(cost(a) + cost(b), 6);
    }),
  );
});

test('a cost is never below zero, whatever the model', () => {
  const odd = fc.oneof(fc.double(), fc.integer(), fc.constant(undefined as never));
  const models = fc.constantFrom('openai/gpt-5.4', 'anthropic/claude-sonnet-4-5', 'google/gemini-2.5-pro', 'openai/gpt-4o', 'acme/none');
  const prices = createPrices();
  fc.assert(
    fc.property(models, odd, odd, odd, (name, i, o, c) => {
      const [provider = '', model = ''] = name.split('/');
      const cost = prices.cost(model, provider, usageOf(i, o, c));
      expect(cost === undefined || cost >= 0).toBe(true);
    }),
  );
});
