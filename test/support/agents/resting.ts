import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../../src/agents';
import { askHuman, defineTool, suspend, type ToolContext } from '../../../src/tools';

/** Leaves a line in the workspace, by which a test in another process counts. */
function did(name: string, ctx: ToolContext): string {
  appendFileSync(join(ctx.workspace, 'did'), `${ctx.threadId} ${name}\n`);
  return `${name} done`;
}

const input = z.object({});

/** An agent that rests in every way there is. */
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
