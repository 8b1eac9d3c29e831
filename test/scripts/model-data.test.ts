import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import data from '../../src/models/catalog/model-data.json';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-model-data-'));
afterAll(() => rmSync(folder, { recursive: true }));

const facts = { mode: 'chat', max_input_tokens: 100, max_output_tokens: 10, supports_function_calling: true, supports_vision: false };
const list = {
  sample_spec: { litellm_provider: 'one of many', mode: 'one of: chat, embedding', max_input_tokens: 'a number' },
  'b-model': { ...facts, litellm_provider: 'openai' },
  'a-model': { ...facts, litellm_provider: 'openai' },
  'other-model': { ...facts, litellm_provider: 'openai', supports_vision: true, max_output_tokens: 'unknown' },
  embeddings: { ...facts, litellm_provider: 'openai', mode: 'embedding' },
  'unheard/model': { ...facts, litellm_provider: 'unheard' },
  'silent-model': { litellm_provider: 'openai', mode: 'chat' },
  'gemini/flash': { ...facts, litellm_provider: 'gemini' },
  'eu.vendor.model-v1:0': { ...facts, litellm_provider: 'bedrock_converse' },
  'vendor.model-v1:0': { ...facts, litellm_provider: 'bedrock_converse' },
  'bedrock/us-east-1/vendor.model-v1:0': { ...facts, litellm_provider: 'bedrock' },
  'azure_ai/one': { ...facts, litellm_provider: 'azure_ai', max_output_tokens: 5 },
  'azure/one': { ...facts, litellm_provider: 'azure' },
};

test('the list of models has the models of known providers by their own names, once, grouped by what is known of them', () => {
  const [file, target] = [join(folder, 'list.json'), join(folder, 'data.json')];
  writeFileSync(file, JSON.stringify(list));
  execFileSync(process.execPath, ['scripts/model-data.js', file, '9.9.9', target], { cwd: join(__dirname, '../..') });
  const written = JSON.parse(readFileSync(target, 'utf8'));
  const known = { input: 100, output: 10, can: 'tools', cannot: 'images' };
  expect(written.source).toBe('LiteLLM 9.9.9');
  const providers = Object.entries(written.providers).filter(([, groups]) => (groups as unknown[]).length > 0);
  expect(Object.fromEntries(providers)).toEqual({
    openai: [
      { ...known, models: ['a-model', 'b-model'] },
      { input: 100, can: 'images tools', models: ['other-model'] },
    ],
    google: [{ ...known, models: ['flash'] }],
    bedrock: [{ ...known, models: ['vendor.model-v1:0'] }],
    azure: [{ ...known, models: ['one'] }],
  });
});

test('the list of the package knows the models that agents usually run on, and all of them take tools', () => {
  const groups: Record<string, { can?: string; output?: number; models: string[] }[]> = data.providers;
  for (const name of [
    'openai/gpt-5',
    'openai/gpt-4o',
    'anthropic/claude-sonnet-4-5',
    'anthropic/claude-opus-4-6',
    'google/gemini-2.5-pro',
  ]) {
    const [provider = '', model = ''] = name.split('/');
    const found = groups[provider]?.find(({ models }) => models.includes(model));
    expect([name, found?.can]).toEqual([name, expect.stringContaining('images pdf tools')]);
    expect(found?.output).toBeGreaterThan(4_096);
  }
});
