import type { ActivityDependencies } from '../../src/activities/steps/dependencies';
import { modelInput } from '../../src/activities/steps/model-input';
import { defineAgent } from '../../src/agents';
import type { CallModelRequest } from '../../src/contract/activities';
import type { ModelSettings } from '../../src/core/agent';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { defaultModels } from '../../src/models/registry';
import { createToolbox } from '../../src/tools/running/toolbox';

const keys = { openai: { apiKey: 'k' }, anthropic: { apiKey: 'k' }, google: { apiKey: 'k' } };
const deps = { models: defaultModels(keys), catalog: createModelCatalog() } as Partial<ActivityDependencies> as ActivityDependencies;

/** The maximum length that a request for a summary of 2,000 tokens states. */
function mostOfSummary(model: string, settings: ModelSettings): number | undefined {
  const agent = defineAgent({ name: 'a', model, instructions: 'Be brief.', settings });
  const request = { model, messageId: 'm', summary: { end: 1, maxTokens: 2_000, charsPerToken: 4 } } as CallModelRequest;
  const messages = [{ id: 'u', role: 'user' as const, content: 'Hi.' }];
  return modelInput(deps, agent, createToolbox([]), request, { instructions: 'Be brief.', messages }).settings.maxTokens;
}

test.each([
  ['openai/gpt-5', {}, 18_000],
  ['openai/gpt-4o', {}, 2_000],
  ['openai-responses/o3', {}, 18_000],
  ['google/gemini-2.5-pro', {}, 18_000],
  ['google/gemini-3-pro-preview', {}, 18_000],
  ['google/gemini-2.0-flash', {}, 2_000],
  ['anthropic/claude-sonnet-4-5', {}, 2_000],
  ['anthropic/claude-sonnet-4-5', { reasoningEffort: 'none' }, 2_000],
  ['anthropic/claude-sonnet-4-5', { reasoningEffort: 'low' }, 18_000],
] as const)('a summary by %s with %j has room for reasoning only if the model reasons', (model, settings, most) => {
  expect(mostOfSummary(model, settings)).toBe(most);
});
