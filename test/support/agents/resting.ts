import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { askHuman, defineAgent, defineTool, suspend, type ToolContext } from 'longhaul';
import { z } from 'zod';

/** Appends a line to a file in the workspace, so that a test in another process can count its executions. */
function did(name: string, ctx: ToolContext): string {
  appendFileSync(join(ctx.workspace, 'did'), `${ctx.threadId} ${name}\n`);
  return `${name} done`;
}

const input = z.object({});

/** An agent whose runs wait in every way there is. */
export const resting = defineAgent({
  name: 'resting',
  model: 'test-model',
  instructions: 'Rest.',
  tools: [
    defineTool({ name: 'pay', description: 'Pays.', input, approval: { approvers: 2 }, execute: (_, ctx) => did('pay', ctx) }),
    defineTool({ name: 'step', description: 'Steps.', input, effect: 'keyed', execute: (_, ctx) => did('step', ctx) }),
    defineTool({
      name: 'late',
      description: 'In time.',
      input,
      approval: { deadlineMs: 5_000, onDeadline: [{ escalate: ['managers'] }, 'ask-again'] },
      execute: (_, ctx) => did('late', ctx),
    }),
    defineTool({ name: 'mail', description: 'Mails.', input, execute: () => suspend({ result: 'sent', correlationId: 'mail-1' }) }),
    askHuman,
  ],
});
