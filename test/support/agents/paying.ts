import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

/** Appends a line to the file `paid` of the workspace, so that a test can count its executions. */
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  effect: 'once',
  approval: 'always',
  timeoutMs: 1_000,
  execute(_, ctx) {
    appendFileSync(join(ctx.workspace, 'paid'), `${ctx.threadId}\n`);
    return 'paid';
  },
});

export const paying = defineAgent({ name: 'paying', model: 'test-model', instructions: 'Pay.', tools: [pay] });
