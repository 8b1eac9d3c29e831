import { z } from 'zod';
import { defineAgent } from '../../src/agents/define-agent';
import { defineTool } from '../../src/tools/defining/define-tool';

/** Small, so that the transcript is summarized often. */
export const windowTokens = 16_000;

export const objective = 'Carry out the steps one after another, until I tell you that it is enough. Never forget: report in verse.';

/** Turns that state a fact which later requests must contain. */
const statesFact = new Set([1, 100, 500]);

export function factOf(turn: number): string | undefined {
  return statesFact.has(turn) ? `Fact ${turn}: the door of room ${turn * 7} opens with code ${(turn * 7_919).toString(36)}.` : undefined;
}

/** What the model says in a turn before its call. */
export function answerOf(turn: number): string {
  return [`I carry out step ${turn}.`, factOf(turn)].filter((text) => text !== undefined).join(' ');
}

const work = defineTool({
  name: 'work',
  description: 'Carries out a step.',
  input: z.object({ step: z.number().int() }),
  effect: 'pure',
  execute: ({ step }) => `Step ${step} is done. ${`It took ${(step * 31) % 97} seconds; `.repeat(12)}`,
});

export const agent = defineAgent({
  name: 'endless',
  model: 'endless',
  instructions: 'You carry out steps.',
  tools: [work],
  limits: { turns: 1_000_000 },
  context: { windowTokens, reserveTokens: 2_000, summaryTokens: 1_000 },
});
