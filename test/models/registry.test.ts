import { inspect } from 'node:util';
import { readConfig, readVariables } from '../../src/config';
import type { ModelProvider } from '../../src/models/model';
import { createModels, defaultModels } from '../../src/models/registry';
import { checkProviders } from '../../src/worker/check-exports';

const provider = (): ModelProvider => ({ call: () => Promise.reject(new Error('not called')) });
const openai = provider();
const other = provider();
const models = createModels({ openai, other });

test('the prefix of a registered provider selects it, and the rest is the name of the model', () => {
  expect(models.resolve('openai/gpt-5')).toEqual({ provider: openai, model: 'gpt-5', providerName: 'openai', family: 'gpt-5' });
  expect(models.resolve('other/a/b').provider).toBe(other);
  expect(models.resolve('other/a/b').model).toBe('a/b');
});

test('any other name is passed unchanged to the default provider', () => {
  for (const name of ['gpt-5', 'meta/llama-3', 'constructor/x', '/x']) {
    expect(models.resolve(name).provider).toBe(openai);
    expect(models.resolve(name).model).toBe(name);
  }
});

test('a misspelt provider is refused instead of being sent to the default provider', () => {
  for (const name of ['opnai/gpt-5', 'OpenAI/gpt-5', 'othar/x', 'antropic/claude-sonnet-5']) {
    const resolve = () => defaultModels({}, { other }).resolve(name);
    expect(resolve).toThrow(expect.objectContaining({ kind: 'bad-request', message: expect.stringContaining('Did you mean') }));
  }
  expect(() => defaultModels().resolve('antropic/a/b')).toThrow(
    "No provider is named 'antropic' (model 'antropic/a/b'). Did you mean 'anthropic/a/b'?",
  );
  for (const name of ['meta-llama/llama-4', 'mistralai/m', 'openrouter/auto', 'x-ai/grok', 'deepseek/v4', 'qwen/q'])
    expect(defaultModels().resolve(name)).toMatchObject({ providerName: 'openai', model: name });
});

test('[A216] a name without a model, or without a provider for it, is a failure that says what to write', () => {
  for (const name of ['', '  ', 'openai/']) {
    expect(() => models.resolve(name)).toThrow(
      expect.objectContaining({ kind: 'bad-request', message: expect.stringContaining('names no model') }),
    );
  }
  expect(() => createModels({ other }).resolve('gpt-5')).toThrow('Registered providers: other');
});

test('[A216] two providers of one name are an error, also if they are the same', () => {
  expect(() =>
    createModels([
      ['other', other],
      ['more', other],
      ['other', other],
    ]),
  ).toThrow("two providers are named 'other'; the names are 'other', 'more', 'other'");
  expect(createModels(new Map([['other', other]])).resolve('other/x').providerName).toBe('other');
});

test('[A216] closing models closes each provider once, also after one that fails to close', async () => {
  const closed: string[] = [];
  const closing = (name: string, fail = false) => ({
    ...other,
    close: async () => {
      closed.push(name);
      if (fail) throw new Error(`${name} does not close`);
    },
  });
  const first = closing('first', true);
  const models = createModels({ first, same: first, second: closing('second'), other });
  await expect(models.close?.()).rejects.toThrow('first does not close');
  await expect(models.close?.()).rejects.toThrow('first does not close');
  expect(closed).toEqual(['first', 'second']);
});

test('[A216] a provider that never closes is given up after 5 s', async () => {
  jest.useFakeTimers();
  try {
    const closing = createModels({ first: { ...other, close: () => new Promise<void>(() => {}) }, other }).close?.();
    const rejected = expect(closing).rejects.toThrow("'first' did not close within 5 s");
    await jest.advanceTimersByTimeAsync(5_000);
    await rejected;
  } finally {
    jest.useRealTimers();
  }
});

test('the default models use OpenAI', () => {
  expect(defaultModels().resolve('gpt-5').model).toBe('gpt-5');
});

test('the configuration is the environment, and an empty variable counts as unset', () => {
  const { openai } = readConfig({ OPENAI_API_KEY: ' k ', OPENAI_BASE_URL: '', OPENAI_ORG_ID: 'o', OPENAI_PROJECT_ID: 'p' });
  expect(openai.apiKey).toBe('k');
  expect(openai).toEqual({ baseUrl: undefined, organization: 'o', project: 'p' });
});

test('a key is not printed with the configuration, with a provider that has it, or with a failure of one', async () => {
  const key = 'sk-0123456789abcdef';
  const config = readConfig({ OPENAI_API_KEY: key, OPENAI_BASE_URL: 'http://127.0.0.1:1/v1', SOME_TOKEN: key, LONGHAUL_PASS_ENV: 'CI' });
  const models = defaultModels(config);
  const { provider } = models.resolve('gpt-5');
  const request = { model: 'gpt-5', instructions: '', messages: [], tools: [], settings: {} };
  const failure = await provider.call(request, { signal: new AbortController().signal }).catch((error: Error) => error);
  for (const value of [config, models, provider, failure]) {
    for (const options of [{}, { depth: null, showHidden: true }]) expect(inspect(value, options)).not.toContain(key);
    expect(JSON.stringify(value)).not.toContain(key);
  }
  expect(config.openai.apiKey).toBe(key);
});

test('environment variables are passed on by name only', () => {
  const env = { LONGHAUL_PASS_ENV: 'CI, JAVA_HOME,UNSET', CI: '1', JAVA_HOME: '', OPENAI_API_KEY: 'k' };
  expect(readVariables(readConfig(env).passEnv, env)).toEqual({ CI: '1', JAVA_HOME: '' });
  expect(readConfig({}).passEnv).toEqual([]);
});

test('the vendors are available without setup, and providers of the user are added or replace them', () => {
  const models = defaultModels({}, { groq: other, google: openai });
  for (const name of ['openai', 'openai-responses', 'anthropic']) {
    expect(models.resolve(`${name}/m`)).toMatchObject({ providerName: name, model: 'm' });
  }
  expect(models.resolve('groq/m').provider).toBe(other);
  expect(models.resolve('google/m').provider).toBe(openai);
});

test.each([
  [[], 'providers must be an object of model providers, such as { groq: aiSdk(createGroq()) }; it is []'],
  [{ 'a/b': provider() }, `providers: "a/b" can't be a provider's name, which precedes the slash in a model's name`],
  [{ groq: () => 0 }, 'providers.groq must be a provider, with a method `call`, such as { groq: aiSdk(createGroq()) }; it is a function'],
  [undefined, undefined],
  [{ groq: provider() }, undefined],
])('an invalid provider is refused with a message: %#', (providers, words) => {
  expect(checkProviders(providers)).toBe(words);
});
