import { z } from 'zod';
import { type Agent, defineAgent } from '../src/agents/define-agent';
import { defineTool, type ToolDefinition } from '../src/tools/define-tool';
import { now } from './numbers';

/** Words that compress about as badly as real ones, and are the same in every run. */
function words(length: number, seed: number): string {
  let state = seed;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += `${(state >>> 4).toString(36).slice(0, 2 + (state % 6))} `;
  }
  return text.slice(0, length);
}

const systemPrompt = words(2_000, 1);
/** What the model says in each turn before its call. */
export const answerText = words(240, 2);
/** About 100 bytes. */
export const callArguments = JSON.stringify({ path: 'src/module/file-0042.ts', pattern: words(40, 3), limit: 200 });
export const calledTool = 'tool_2';
export const toolResult = words(4_096, 4);

const input = z.object({
  path: z.string().describe('A file below the workspace.'),
  pattern: z.string().describe('What to look for.'),
  limit: z.number().int().describe('At most so many lines.'),
});

/** When the call of a thread of `bench-ask` began to run, epoch milliseconds: the newest. */
export const callsBegun = new Map<string, number>();

/** A prompt of 2,000 characters and ten tools, each of which answers with 4,096 bytes at once. */
export const agent = agentOf('bench', { execute: async () => toolResult });

/** The same but for its tools, each of which a person must agree to. */
export const askingAgent = agentOf('bench-ask', {
  approval: 'always',
  async execute(_args, { threadId }) {
    callsBegun.set(threadId, now());
    return toolResult;
  },
});

function agentOf(name: string, does: Pick<ToolDefinition<typeof input>, 'approval' | 'execute'>): Agent {
  return defineAgent({
    name,
    model: 'bench-model',
    instructions: systemPrompt,
    limits: { turns: 100_000 },
    tools: Array.from({ length: 10 }, (_, i) =>
      defineTool({ name: `tool_${i}`, description: `Searches a file, in way ${i} of ten.`, input, effect: 'pure', ...does }),
    ),
  });
}

/** What a session is told; the model server reads from it how to behave. */
export interface Session {
  /** Tells the sessions apart at the model server. */
  key: string;
  /** Turns with a tool call; one answer without a call follows. */
  turns: number;
  /** The first request of this turn is begun to be answered, and then held for ever. From 1. */
  hold?: number;
  /** The last answer is streamed for so many milliseconds. */
  lastMs?: number;
}

export function inputOf({ key, turns, hold = 0, lastMs = 0 }: Session): string {
  return `key=${key} turns=${turns} hold=${hold} last=${lastMs} Find out what is wrong.`;
}

export function sessionOf(text: string): Required<Session> | undefined {
  const [, key = '', turns, hold, lastMs] = /key=([\w-]+) turns=(\d+) hold=(\d+) last=(\d+)/.exec(text) ?? [];
  return turns === undefined ? undefined : { key, turns: Number(turns), hold: Number(hold), lastMs: Number(lastMs) };
}
