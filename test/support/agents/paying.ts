import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../../src/agents';
import { defineTool } from '../../../src/tools';

/** Leaves a line in the file `paid` of the workspace, by which a test counts how often it was carried out. */
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
