import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Agent, type AgentDefinition, defineAgent } from '../src/agents/define-agent';
import { defineTool, type ToolDefinition } from '../src/tools/defining/define-tool';
import { now } from './numbers';

/** Text that compresses about as badly as real text, and is the same in every run. */
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

/** When the newest call of each thread of `bench-ask` began to run, in epoch milliseconds. */
export const callsBegun = new Map<string, number>();

/** An agent with a prompt of 2,000 characters and ten tools, each of which returns 4,096 bytes immediately. */
export const agent = agentOf('bench', { execute: async () => toolResult });

/** The same, except that every tool needs approval. */
export const askingAgent = agentOf('bench-ask', {
  approval: 'always',
  async execute(_args, { threadId }) {
    callsBegun.set(threadId, now());
    return toolResult;
  },
});

/** The same, except that its tools return 16,384 characters of this project's pages, other ones in each turn. */
export const readingAgent = agentOf('bench-text', { execute: async () => nextPage() });

/** The same, with a model whose window has 128,000 tokens. */
export const fillingAgent = agentOf('bench-window', { execute: async () => nextPage() }, { context: { windowTokens: 128_000 } });

let pages: string | undefined;
let read = 0;

function nextPage(): string {
  const folder = join(process.cwd(), 'docs');
  pages ??= readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  read = (read + 10_007) % (pages.length - 16_384);
  return pages.slice(read, read + 16_384);
}

function agentOf(
  name: string,
  does: Pick<ToolDefinition<typeof input>, 'approval' | 'execute'>,
  more: Pick<AgentDefinition, 'context'> = {},
): Agent {
  return defineAgent({
    name,
    model: 'bench-model',
    instructions: systemPrompt,
    limits: { turns: 100_000 },
    ...more,
    tools: Array.from({ length: 10 }, (_, i) =>
      defineTool({ name: `tool_${i}`, description: `Searches a file, in way ${i} of ten.`, input, effect: 'pure', ...does }),
    ),
  });
}

/** The parameters of a session. They are encoded in its input, where the model server reads them. */
export interface Session {
  /** Identifies the session at the model server. */
  key: string;
  /** Turns with a tool call; one answer without a call follows. */
  turns: number;
  /** The model server begins to answer the first request of this turn (counted from 1), and then never finishes. */
  hold?: number;
  /** For how many milliseconds the last answer is streamed. */
  lastMs?: number;
}

export function inputOf({ key, turns, hold = 0, lastMs = 0 }: Session): string {
  return `key=${key} turns=${turns} hold=${hold} last=${lastMs} Find out what is wrong.`;
}

export function sessionOf(text: string): Required<Session> | undefined {
  const [, key = '', turns, hold, lastMs] = /key=([\w-]+) turns=(\d+) hold=(\d+) last=(\d+)/.exec(text) ?? [];
  return turns === undefined ? undefined : { key, turns: Number(turns), hold: Number(hold), lastMs: Number(lastMs) };
}
