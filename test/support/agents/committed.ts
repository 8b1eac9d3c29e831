import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineTool, type ToolContext } from 'longhaul';
import { z } from 'zod';

/** One line of the file `service` in the workspace: a service that takes every request, also one with a key that it knows. */
export interface Entry {
  thread: string;
  what: 'begun' | 'paid' | 'booked' | 'undone';
  id: string;
  key: string;
  pid: number;
}

const serviceFile = ({ workspace }: ToolContext) => join(workspace, 'service');

function enter(what: Entry['what'], id: string, ctx: ToolContext): void {
  const entry: Entry = { thread: ctx.threadId, what, id, key: ctx.idempotencyKey, pid: process.pid };
  appendFileSync(serviceFile(ctx), `${JSON.stringify(entry)}\n`);
}

/** Waits as long as a file of the test exists. */
async function hold(at: string, ctx: ToolContext): Promise<void> {
  while (existsSync(join(ctx.workspace, `hold-${ctx.threadId}-${at}`))) {
    ctx.signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const input = z.object({ id: z.string() });

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input,
  effect: 'verify',
  async execute({ id }, ctx) {
    enter('begun', id, ctx);
    await hold('before', ctx);
    enter('paid', id, ctx);
    await hold('after', ctx);
    return `paid ${id}`;
  },
  probe({ idempotencyKey, args: { id } }, ctx) {
    const lines = readFileSync(serviceFile(ctx), 'utf8').split('\n').filter(Boolean);
    const paid = lines.map((line) => JSON.parse(line) as Entry).some(({ what, key }) => what === 'paid' && key === idempotencyKey);
    return paid ? { status: 'done', output: `paid ${id}` } : { status: 'not-done' };
  },
});

const book = defineTool({
  name: 'book',
  description: 'Books.',
  input,
  effect: 'saga',
  execute({ id }, ctx) {
    enter('booked', id, ctx);
    return `booked ${id}`;
  },
  async compensate({ id }, _, ctx) {
    enter('undone', id, ctx);
    await hold(`undo-${id}`, ctx);
  },
});

export const committed = defineAgent({
  name: 'committed',
  model: 'test-model',
  instructions: 'Work.',
  tools: [pay, book],
  retry: { maxAttempts: 1 },
});
