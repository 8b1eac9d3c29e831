import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ name: z.string() }),
  effect: 'pure',
  execute: ({ name }) => `content of ${name}. ${'x'.repeat(300)}`,
});

const models = { anthropic: 'anthropic/claude-opus-4-6', 'openai-responses': 'openai-responses/gpt-5.2' };

/** Agents that leave compaction to their provider, by its name. */
export const agents = Object.entries(models).map(([name, model]) =>
  defineAgent({
    name,
    model,
    instructions: 'Work.',
    tools: [read],
    context: { windowTokens: 80_000, reserveTokens: 8_000, compaction: 'provider' },
  }),
);
