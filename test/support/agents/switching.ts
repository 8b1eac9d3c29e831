import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { aiSdk, defineAgent, defineHooks, defineTool } from 'longhaul';
import { z } from 'zod';

const models: Record<string, string> = {
  openai: 'openai/gpt-test',
  'openai-responses': 'openai-responses/gpt-5',
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-3-flash-preview',
  compat: 'compat/llama-test',
};
const order = (process.env.SWITCHING_ORDER ?? '').split(',');

/** Each turn uses the next vendor of the order; the instructions contain the number of the turn. */
const hooks = defineHooks({
  'before:llm': (_, { turn }) => ({
    model: models[order[turn - 1] ?? ''] ?? '',
    instructions: `It is turn ${turn}.`,
    settings: { reasoningEffort: 'low' },
  }),
});

const note = defineTool({
  name: 'note',
  description: 'Notes a turn.',
  input: z.object({ turn: z.number() }),
  effect: 'keyed',
  execute: ({ turn }) => `noted ${turn}`,
});

export const switching = defineAgent({
  name: 'switching',
  model: 'openai/gpt-test',
  instructions: 'Note each turn.',
  tools: [note],
  hooks,
  limits: { turns: 100 },
});

export const providers = {
  compat: aiSdk(createOpenAICompatible({ name: 'compat', baseURL: `${process.env.SWITCHING_URL}/compat`, apiKey: 'test' })),
};
