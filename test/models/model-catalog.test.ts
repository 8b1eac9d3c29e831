import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Usage } from '../../src/core/message';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { defaultModels } from '../../src/models/registry';

const usageOf = (inputTokens: number, outputTokens: number, cachedInputTokens = 0, cacheWriteTokens = 0): Usage => ({
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  outputTokens,
  reasoningTokens: 0,
});
const mine = { inputPerMillion: 2, cachedInputPerMillion: 0.5, outputPerMillion: 8, contextWindow: 32_000 };

describe('what a model costs', () => {
  const catalog = createModelCatalog();

  test('[B191] is found by the name and provider of the model', () => {
    // 1.25 $ a million in, 10 $ out.
    expect(catalog.cost('gpt-5', 'openai', usageOf(1e6, 1e6))).toBeCloseTo(11.25, 6);
    expect(catalog.cost('gpt-5-mini-2025-08-07', 'openai', usageOf(1e6, 0))).toBeCloseTo(0.25, 6);
    expect(catalog.describe('gpt-5', 'openai').prices).toMatchObject({
      inputPerMillion: 1.25,
      cachedInputPerMillion: 0.125,
      outputPerMillion: 10,
    });
  });

  test('cached input is part of the input, and cheaper', () => {
    expect(catalog.cost('gpt-5', 'openai', usageOf(1e6, 0, 1e6))).toBeCloseTo(0.125, 6);
    expect(catalog.cost('gpt-5', 'openai', usageOf(1e6, 0, 5e5))).toBeCloseTo(0.6875, 6);
  });

  test('input that is written to the cache costs the price of its provider', () => {
    // 3 $ a million in, 0.3 $ read, 3.75 $ written.
    expect(catalog.cost('claude-sonnet-4-5', 'anthropic', usageOf(1e5, 0, 0, 1e5))).toBeCloseTo(0.375, 6);
    expect(catalog.cost('claude-sonnet-4-5', 'anthropic', usageOf(1e5, 0, 5e4, 5e4))).toBeCloseTo(0.015 + 0.1875, 6);
  });

  test.each([
    ['a model that nobody knows', 'gpt-nope', 'openai'],
    ['a provider that nobody knows', 'gpt-5', 'acme'],
    ['no provider', 'gpt-5', ''],
    ['no model', '', 'openai'],
    ['a name that every object has', 'constructor', '__proto__'],
    ['a model of a compatible server', 'meta/llama-3', 'openai'],
  ])('%s has no price', (_what, model, provider) => {
    expect(catalog.cost(model, provider, usageOf(10, 10))).toBeUndefined();
    expect(catalog.describe(model, provider).windowTokens).toBeUndefined();
  });

  test.each([
    ['more cached than sent', usageOf(1e6, 0, 2e6), 0.125],
    ['less than nothing', usageOf(-5, -5, -5), 0],
    ['no numbers', usageOf(Number.NaN, undefined as never, null as never), 0],
  ])('a provider with unusual counts still gets a cost: %s', (_what, usage, dollars) => {
    expect(catalog.cost('gpt-5', 'openai', usage)).toBeCloseTo(dollars, 6);
  });
});

describe('the window of a model', () => {
  const overrides = {
    'acme/two-2026': { inputPerMillion: 1, outputPerMillion: 1, contextWindow: 10_000, maxInputTokens: 8_000 },
    'acme/vendor/three': { inputPerMillion: 1, outputPerMillion: 1, contextWindow: 5_000 },
    'vendor/four': { inputPerMillion: 1, outputPerMillion: 1, contextWindow: 4_000 },
  };
  const windowOf = (model: string, provider: string) => createModelCatalog({ overrides }).describe(model, provider).windowTokens;

  test('[B107] is its maximum of input before its context window', () => {
    expect(windowOf('two-2026', 'acme')).toBe(8_000);
  });

  test.each([
    ['a date', 'gpt-5-2025-09-09', 'openai', 272_000],
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

describe('what is known of a model', () => {
  const catalog = createModelCatalog();
  const all = { images: true, pdf: true, tools: true, structuredOutput: true, reasoning: true, promptCaching: true };

  test('is its window, its limit of output, what it can do, its prices, and where that comes from', () => {
    expect(catalog.describe('claude-opus-4-5', 'anthropic')).toEqual({
      windowTokens: 200_000,
      maxOutputTokens: 64_000,
      capabilities: all,
      prices: { inputPerMillion: 5, cachedInputPerMillion: 0.5, cacheWritePerMillion: 6.25, outputPerMillion: 25 },
      sources: [expect.stringMatching(/^LiteLLM \d/), '@pydantic/genai-prices'],
    });
  });

  test('is nothing for an unknown model', () => {
    expect(catalog.describe('gpt-nope', 'openai')).toEqual({ capabilities: {}, sources: [] });
  });

  test.each([
    ['a date that the list contains', 'gpt-4o-2024-08-06', 'openai', 16_384],
    ['a date that it does not contain', 'claude-opus-4-5-20260101', 'anthropic', 64_000],
    ['the alias of its newest version', 'claude-sonnet-4-5-latest', 'anthropic', 64_000],
    ['the name of a fine-tuned model', 'ft:gpt-4o-2024-08-06:acme::abc123', 'openai', 16_384],
    ['the name of a fine-tuned model of an unlisted version', 'ft:gpt-4o:acme:support:abc123', 'openai', 16_384],
    ['a name in OpenAI’s other API', 'gpt-4o', 'openai-responses', 16_384],
    ['a name of Bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0', 'bedrock', 64_000],
    ['a name of Bedrock with a region', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon-bedrock', 64_000],
    ['a name of Azure', 'gpt-4o', 'azure', 16_384],
    ['a name of Vertex', 'claude-sonnet-4-5@20250929', 'vertex', 64_000],
    ['a name of Gemini', 'gemini-2.5-pro', 'google', 65_536],
    ['the name of its provider', 'anthropic/claude-sonnet-4.5', 'openrouter', 64_000],
  ])('[B107] is found by %s', (_what, model, provider, maxOutputTokens) => {
    expect(catalog.describe(model, provider)).toMatchObject({ maxOutputTokens, capabilities: { tools: true } });
  });

  test('of a model that only the price list has is its window', () => {
    expect(catalog.describe('claude-3-haiku-20240307', 'anthropic')).toMatchObject({
      windowTokens: 200_000,
      capabilities: {},
      sources: ['@pydantic/genai-prices'],
    });
  });

  test('contains what it can’t do only for its own provider, as other servers may add it', () => {
    expect(catalog.describe('o3-mini', 'openai').capabilities.images).toBe(false);
    expect(catalog.describe('openai/o3-mini', 'openrouter').capabilities.images).toBeUndefined();
    expect(catalog.describe('openai/o3-mini', 'openrouter').capabilities.tools).toBe(true);
  });

  test('is overridden field by field, also for names with a date', () => {
    const own = createModelCatalog({ overrides: { 'openai/o3-mini': { maxOutputTokens: 9_000, capabilities: { images: true } } } });
    expect(own.describe('o3-mini-2025-12-31', 'openai')).toMatchObject({
      windowTokens: 200_000,
      maxOutputTokens: 9_000,
      capabilities: { images: true, tools: true },
      sources: ['overrides', expect.stringMatching(/^LiteLLM /)],
    });
  });

  test('a window of one’s own counts before the listed maximum of input', () => {
    expect(createModelCatalog({ overrides: { 'openai/gpt-5': { contextWindow: 300_000 } } }).describe('gpt-5', 'openai').windowTokens).toBe(
      300_000,
    );
  });

  test('the names are those of the list and of the overrides, and each is described', () => {
    const own = createModelCatalog({ overrides: { 'acme/one': { contextWindow: 5 } } });
    const names = own.names();
    expect(names).toEqual(expect.arrayContaining(['acme/one', 'openai/gpt-5', 'anthropic/claude-opus-4-5', 'google/gemini-2.5-pro']));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) {
      const { sources } = own.describe(name.slice(name.indexOf('/') + 1), name.slice(0, name.indexOf('/')));
      expect([name, sources.length > 0]).toEqual([name, true]);
    }
  });

  test('a name of an object’s own fields is not a model', () => {
    expect(catalog.describe('constructor', '__proto__')).toEqual({ capabilities: {}, sources: [] });
  });

  test('every built-in provider has models in the list', () => {
    const models = defaultModels();
    for (const name of ['openai/gpt-5', 'openai-responses/gpt-5', 'anthropic/claude-opus-4-5', 'google/gemini-2.5-pro']) {
      const { model, providerName } = models.resolve(name);
      expect(catalog.describe(model, providerName).maxOutputTokens).toBeGreaterThan(0);
    }
  });
});

describe('facts of one’s own', () => {
  test('override the list, and add to it', () => {
    const catalog = createModelCatalog({
      overrides: { 'openai/gpt-5': mine, 'local/meta/llama-3': { inputPerMillion: 0, outputPerMillion: 0 } },
    });
    expect(catalog.cost('gpt-5', 'openai', usageOf(1e6, 1e6, 5e5))).toBeCloseTo(1 + 0.25 + 8, 9);
    expect(catalog.describe('gpt-5', 'openai').windowTokens).toBe(32_000);
    expect(catalog.cost('meta/llama-3', 'local', usageOf(1e6, 1e6))).toBe(0);
    expect(catalog.describe('meta/llama-3', 'local').windowTokens).toBeUndefined();
    expect(catalog.cost('gpt-5-mini', 'openai', usageOf(1e6, 0))).toBeCloseTo(0.25, 6);
  });

  test('a cached token without a price of its own costs as much as any other', () => {
    const catalog = createModelCatalog({ overrides: { 'acme/one': { inputPerMillion: 3, outputPerMillion: 0 } } });
    expect(catalog.cost('one', 'acme', usageOf(1e6, 0, 1e6))).toBeCloseTo(3, 9);
  });

  const folder = mkdtempSync(join(tmpdir(), 'longhaul-models-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const written = (text: string) => {
    const path = join(folder, 'models.json');
    writeFileSync(path, text);
    return path;
  };

  test('may be in a file', () => {
    const catalog = createModelCatalog({ overrides: written(JSON.stringify({ 'acme/one': mine })) });
    expect(catalog.cost('one', 'acme', usageOf(0, 1e6))).toBe(8);
  });

  test('a file that is missing, or not JSON, is named', () => {
    const gone = join(folder, 'gone.json');
    expect(() => createModelCatalog({ overrides: gone })).toThrow(`The file of models "${gone}" can't be read: ENOENT`);
    expect(() => createModelCatalog({ overrides: written('{ "acme/one": ') })).toThrow(/models\.json" is not JSON: /);
  });

  test.each([
    ['a negative price', { 'acme/one': { ...mine, inputPerMillion: -1 } }, /- "acme\/one" "inputPerMillion": /],
    ['a price in words', { 'acme/one': { ...mine, outputPerMillion: '8' } }, /- "acme\/one" "outputPerMillion": /],
    ['half a price', { 'acme/one': { inputPerMillion: 1 } }, /- "acme\/one" "outputPerMillion": is missing/],
    ['only a price of cached input', { 'acme/one': { cachedInputPerMillion: 1 } }, /- "acme\/one" "inputPerMillion": is missing/],
    [
      'more input than the window',
      { 'acme/one': { contextWindow: 5, maxInputTokens: 6 } },
      /- "acme\/one" "maxInputTokens": is larger than/,
    ],
    ['half a token', { 'acme/one': { maxOutputTokens: 0.5 } }, /- "acme\/one" "maxOutputTokens": /],
    ['a misspelt capability', { 'acme/one': { capabilities: { image: true } } }, /- "acme\/one" "capabilities".*image/],
    ['a capability in words', { 'acme/one': { capabilities: { tools: 'no' } } }, /- "acme\/one" "capabilities" "tools": /],
    ['a misspelt field', { 'acme/one': { ...mine, perMillion: 1 } }, /- "acme\/one": .*"perMillion"/],
    ['no provider', { one: mine }, /- "one": is not of the form 'provider\/model'/],
    ['a window of nothing', { 'acme/one': { ...mine, contextWindow: 0 } }, /- "acme\/one" "contextWindow": /],
    ['a list', [mine], /It must be \{ "provider\/model"/],
    ['nothing', null, /It must be \{ "provider\/model"/],
  ])('%s is refused, in a file and in code', (_what, overrides, message) => {
    expect(() => createModelCatalog({ overrides: overrides as never })).toThrow(message);
    expect(() => createModelCatalog({ overrides: written(JSON.stringify(overrides)) })).toThrow(message);
    expect(() => createModelCatalog({ overrides: written(JSON.stringify(overrides)) })).toThrow(/^The file of models ".*" is not valid/);
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
      const catalog = createModelCatalog(listed ? {} : { overrides: { 'openai/gpt-5': own } });
      const cost = (u: Usage) => catalog.cost('gpt-5', 'openai', u) ?? Number.NaN;
      const both = usageOf(a.inputTokens + b.inputTokens, a.outputTokens + b.outputTokens, a.cachedInputTokens + b.cachedInputTokens);
      expect(cost(a)).toBeGreaterThanOrEqual(0);
      expect(cost(both)).toBeCloseTo(cost(a) + cost(b), 6);
    }),
  );
});

test('a cost is never below zero, whatever the model', () => {
  const odd = fc.oneof(fc.double(), fc.integer(), fc.constant(undefined as never));
  const models = fc.constantFrom('openai/gpt-5.4', 'anthropic/claude-sonnet-4-5', 'google/gemini-2.5-pro', 'openai/gpt-4o', 'acme/none');
  const catalog = createModelCatalog();
  fc.assert(
    fc.property(models, odd, odd, odd, (name, i, o, c) => {
      const [provider = '', model = ''] = name.split('/');
      const cost = catalog.cost(model, provider, usageOf(i, o, c));
      expect(cost === undefined || cost >= 0).toBe(true);
    }),
  );
});
