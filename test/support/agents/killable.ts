import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineTool, type ToolContext } from 'longhaul';
import { z } from 'zod';

/** One line of the file `trace` in the workspace, which records the effect of a tool. */
export interface Trace {
  thread: string;
  tool: string;
  what: 'begins' | 'ends';
  key: string;
  attempt: number;
  pid: number;
  at: number;
}

/** Writes its trace, and waits in the middle as long as a file of the test exists. */
async function act(tool: string, ctx: ToolContext): Promise<string> {
  const leave = (what: Trace['what']) => {
    const trace: Trace = {
      thread: ctx.threadId,
      tool,
      what,
      key: ctx.idempotencyKey,
      attempt: ctx.attempt,
      pid: process.pid,
      at: Date.now(),
    };
    appendFileSync(join(ctx.workspace, 'trace'), `${JSON.stringify(trace)}\n`);
  };
  leave('begins');
  while (existsSync(join(ctx.workspace, `hold-${ctx.threadId}-${tool}`))) {
    ctx.signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  leave('ends');
  return `${tool} done`;
}

const input = z.object({ n: z.number().optional() });
const pure = defineTool({ name: 'pure', description: 'Looks.', input, effect: 'pure', execute: (_, ctx) => act('pure', ctx) });
const keyed = defineTool({ name: 'keyed', description: 'Writes by key.', input, effect: 'keyed', execute: (_, ctx) => act('keyed', ctx) });
const once = defineTool({ name: 'once', description: 'Pays.', input, execute: (_, ctx) => act('once', ctx) });
const asked = defineTool({
  name: 'asked',
  description: 'Asks first.',
  input,
  effect: 'keyed',
  approval: 'always',
  execute: (_, ctx) => act('asked', ctx),
});

export const killable = defineAgent({ name: 'killable', model: 'test-model', instructions: 'Work.', tools: [pure, keyed, once, asked] });
