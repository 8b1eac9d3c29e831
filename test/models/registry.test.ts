import { readConfig } from '../../src/config';
import type { ModelProvider } from '../../src/models/model';
import { createModels, defaultModels } from '../../src/models/registry';

const provider = (): ModelProvider => ({ call: () => Promise.reject(new Error('not called')) });
const openai = provider();
const other = provider();
const models = createModels({ openai, other });

test('a prefix that is a registered provider chooses it, and the rest is the name of the model', () => {
  expect(models.resolve('openai/gpt-5')).toEqual({ provider: openai, model: 'gpt-5', providerName: 'openai' });
  expect(models.resolve('other/a/b').provider).toBe(other);
  expect(models.resolve('other/a/b').model).toBe('a/b');
});

test('any other name goes whole to the default provider', () => {
  for (const name of ['gpt-5', 'meta/llama-3', 'constructor/x', '/x']) {
    expect(models.resolve(name).provider).toBe(openai);
    expect(models.resolve(name).model).toBe(name);
  }
});

test('a name without a model, or without a provider to send it to, is a failure that says what to write', () => {
  for (const name of ['', '  ', 'openai/']) {
    expect(() => models.resolve(name)).toThrow(
      expect.objectContaining({ kind: 'bad-request', message: expect.stringContaining('names no model') }),
    );
  }
  expect(() => createModels({ other }).resolve('gpt-5')).toThrow('Registered providers: other');
});

test('the default models speak to OpenAI', () => {
  expect(defaultModels().resolve('gpt-5').model).toBe('gpt-5');
});

test('the configuration is the environment, and an empty variable is an unset one', () => {
  expect(readConfig({ OPENAI_API_KEY: ' k ', OPENAI_BASE_URL: '', OPENAI_ORG_ID: 'o', OPENAI_PROJECT_ID: 'p' }).openai).toEqual({
    apiKey: 'k',
    baseUrl: undefined,
    organization: 'o',
    project: 'p',
  });
});
