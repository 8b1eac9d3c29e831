import { defineAgent } from '../../src/agents';
import type { ContextOptions } from '../../src/agents/context-options';
import { defaultModels } from '../../src/models/registry';
import { compactionWarnings } from '../../src/worker/compaction-warnings';

const models = defaultModels();
const agent = (model: string | string[], context: ContextOptions | null = { compaction: 'provider' }) =>
  defineAgent({ name: 'a', model, instructions: 'Work.', context });

test('a worker warns about models whose provider can not compact, of agents that leave it to the provider', () => {
  const [warning, ...more] = compactionWarnings([agent(['anthropic/claude-opus-4-6', 'anthropic/claude-sonnet-4-5', 'gpt-4.1'])], models);
  expect(more).toEqual([]);
  expect(warning).toMatch(/^Agent 'a' .* the provider of anthropic\/claude-sonnet-4-5, gpt-4\.1 does not compact; the engine does\.$/);
});

test('a worker does not warn where all models can be compacted, or where the engine is to compact', () => {
  const agents = [
    agent(['anthropic/claude-opus-4-6', 'openai-responses/gpt-5.2']),
    agent('gpt-4.1', { compaction: 'engine' }),
    agent('gpt-4.1', null),
    agent('gpt-4.1', {}),
  ];
  expect(compactionWarnings(agents, models)).toEqual([]);
});
